"""The safetensors header parser and writer against the Rust library."""

import json
import random

import pytest

from nibblegrad.core.errors import FormatError
from nibblegrad.io import safetensors
from nibblegrad.io.json_text import depth, loads

ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def build(header, data=bytes(8)):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def changed(**fields):
    return build({"a": ENTRY | fields})


def parse(raw, given=None):
    return safetensors.parse(raw[:given], len(raw))


TWO = {
    "a": ("F32", (2, 3), bytes(range(24))),
    "b": ("F16", (4,), bytes(8)),
    "c": ("BF16", (1, 0, 2), b""),
    "ü": ("F32", (), b"1234"),
}


def test_dump_and_parse_agree():
    raw = safetensors.dump(TWO, {"format": "pt"})
    header = parse(raw)
    assert header.metadata == {"format": "pt"}
    for name, (dtype, shape, data) in TWO.items():
        t = header.tensors[name]
        assert (t.type, t.shape, raw[t.offset : t.offset + t.nbytes]) == (dtype, shape, data)
    assert header.data_start % 8 == 0


def test_dump_is_the_rust_writers_file():
    torch = pytest.importorskip("torch")
    rust = pytest.importorskip("safetensors.torch")
    tensors = {
        "x.lora_B.weight": torch.randn(3, 2),
        "x.lora_A.weight": torch.randn(2, 5),
        "half": torch.randn(7).half(),
        "brain": torch.randn(4, 2).bfloat16(),
        "none": torch.zeros(0, 3),
    }
    names = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
    ours = {
        n: (names[t.dtype], tuple(t.shape), bytes(t.flatten().view(torch.uint8).tolist()))
        for n, t in tensors.items()
    }
    assert safetensors.dump(ours, {"format": "pt"}) == rust.save(tensors, {"format": "pt"})


def test_asks_for_more_at_every_cut():
    raw = safetensors.dump(TWO)
    start = parse(raw).data_start
    for n in range(start):
        with pytest.raises(safetensors.NeedMore) as e:
            parse(raw, n)
        assert n < e.value.bytes_wanted <= len(raw)
    assert parse(raw, start) == parse(raw)


def test_a_file_cut_anywhere_is_refused():
    raw = safetensors.dump(TWO)
    for n in range(len(raw)):
        with pytest.raises(FormatError):
            parse(raw[:n])


HOLE = {"a": ENTRY, "b": ENTRY | {"data_offsets": [12, 20]}}
OVER = {"a": ENTRY, "b": ENTRY | {"data_offsets": [4, 12]}}
TWICE = b'{"a":%s,"a":%s}' % ((json.dumps(ENTRY).encode(),) * 2)
BAD = {
    "file has 3 bytes": b"abc",
    "header length is 9223372036854775807": b"\xff" * 7 + b"\x7f" + b"{}",
    "header length is 99, but the file has 10": (99).to_bytes(8, "little") + b"{}",
    "not JSON": build(b"{"),
    "not JSON in UTF-8": build(b'{"\xff":1}'),
    "Expecting value": build(b""),
    "JSON list, not an object": build(b"[]", b""),
    "'a' is there twice": build(TWICE),
    "surrogates not allowed": build(b'{"\\ud800":1}'),
    "NaN is no JSON number": build(b'{"a":NaN}'),
    "nested deeper than 128 levels": build(b"[" * 100_000),
    "__metadata__ must be": build({"__metadata__": {"x": 1}}, b""),
    "'a' has list where": build({"a": ["F32", [2], [0, 8]]}),
    "'a' has ['data_offsets', 'dtype', 'extra', 'shape']": changed(extra=1),
    "'a' has dtype I64, which is not supported; supported: F32 F16 BF16": changed(dtype="I64"),
    "'a' has dtype ['F32']": changed(dtype=["F32"]),
    "no list of sizes: [2.0]": changed(shape=[2.0]),
    "no list of sizes: [-2": changed(shape=[-2]),
    "no list of sizes: [True]": changed(shape=[True]),
    "no list of sizes: [1.844": changed(shape=[1 << 64]),
    "[0, 8, 9]; they must be": changed(data_offsets=[0, 8, 9]),
    "[8, 0]; they must be": changed(data_offsets=[8, 0]),
    "whose product overflows": changed(shape=[1 << 63, 4, 0]),
    "is F32 [3], 12 bytes, but its offsets hold 8": changed(shape=[3]),
    "'b' leaves a hole: begins at 12, expected 8": build(HOLE, bytes(20)),
    "'b' overlaps the one before": build(OVER, bytes(12)),
    "bytes that belong to no tensor": build({"a": ENTRY}, bytes(9)),
    "the file is cut off": build({"a": ENTRY}, bytes(7)),
}


@pytest.mark.parametrize("says", BAD)
def test_names_the_bad_field(says):
    with pytest.raises(FormatError) as e:
        parse(BAD[says])
    assert says in str(e.value)
    assert str(e.value).startswith("safetensors: ")


def test_tells_all_bad_tensors_at_once():
    raw = build({"a": ENTRY | {"dtype": "I8"}, "b": ENTRY | {"shape": [1]}, "c": ENTRY})
    with pytest.raises(FormatError, match=r"2 faults\n  tensor 'a' has dtype I8(.|\n)*'b' is F32"):
        parse(raw)


def test_dump_refuses_what_does_not_fit():
    with pytest.raises(FormatError, match="is F32 \\[2\\], 8 bytes, but its offsets hold 4"):
        safetensors.dump({"a": ("F32", (2,), bytes(4))})


def mutated(rng, raw):
    """Text-minded lies, so that many files stay JSON: digits, brackets, pieces moved about."""
    out = bytearray(raw)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(out))
        kind = rng.randrange(6)
        if kind == 0:
            out[at] = rng.choice(b'0123456789[]{},:"-.e \\FBu')
        elif kind == 1:
            out[at : at + 1] = b""
        elif kind == 2:
            out[at:at] = out[at : at + rng.randrange(1, 60)]
        elif kind == 3:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            old, new = rng.choice(((b"F16", b"F32"), (b"[0,", b"[1,"), (b"4", b"8"), (b"2", b"3")))
            out = out.replace(old, new, 1)
        else:
            out += b"\0" * rng.randrange(3)
        if rng.random() < 0.8 and len(out) > 8:  # let the length be right most of the time
            end = out.rfind(b"}") + 1
            out[:8] = max(end - 8, 0).to_bytes(8, "little")
    return bytes(out)


def rearranged(rng, header, size):
    """Lies that stay JSON: another number, type or name, a tensor less, other blanks."""
    header = json.loads(json.dumps(header))
    name = rng.choice([n for n in header if n != "__metadata__"])
    kind = rng.randrange(8)
    if kind == 0:
        header[name]["dtype"] = rng.choice(("F16", "F32", "BF16"))
    elif kind == 1:
        header[name]["shape"] = [rng.randrange(5) for _ in range(rng.randrange(4))]
    elif kind == 2:
        header[name]["data_offsets"] = sorted(rng.sample((0, 8, 12, 16), 2))
    elif kind == 3:
        del header[name]
    elif kind == 4:
        header["renamed " + rng.choice("\u00fc\U0001f600\n\0")] = header.pop(name)
    elif kind == 5:
        header["__metadata__"] = rng.choice((None, {}, {"a": None}, {"x": "y"}, 3, []))
    elif kind == 6:
        header = dict(reversed(header.items()))
    text = json.dumps(header, indent=rng.choice((None, 1)), ensure_ascii=rng.random() < 0.5)
    data = bytes(size + rng.choice((0, 0, 0, 1, -1)))
    return build(text.encode() + b" " * rng.randrange(9), data)


STRICTER = ("is there twice", "where ['data_offsets'", "is not supported")


def test_accepts_and_refuses_as_rust_does():
    rust = pytest.importorskip("safetensors")
    small = {"a": ("F32", (1, 2), bytes(8)), "b": ("F16", (4,), bytes(8)), "c": ("F32", (0,), b"")}
    rng, raw, both = random.Random(20261), safetensors.dump(small, {"k": "v"}), 0
    header = json.loads(raw[8 : parse(raw).data_start])
    for i in range(6000):
        bad = mutated(rng, raw) if i % 2 else rearranged(rng, header, 16)
        try:
            theirs = {n: (t["dtype"], t["shape"]) for n, t in rust.deserialize(bad)}
        except Exception:  # SafetensorError, and UTF-8 errors of its binding
            theirs = None
        try:
            ours = {n: (t.type, list(t.shape)) for n, t in parse(bad).tensors.items()}
        except FormatError as e:
            ours = None
            if any(words in str(e) for words in STRICTER):
                continue
        assert ours == theirs, bad
        both += ours is not None
    assert both > 500


def test_depth_is_counted_outside_strings_only():
    assert depth('{"a[[[": [[], {"b": "\\\\"}, "\\"[["]}') == 3
    assert loads("[" * 128 + "]" * 128) and loads('"' + "[" * 200 + '"') == "[" * 200
    assert depth('"' + "\\" * 99_999) == 0
    for deep in ("[" * 129 + "]" * 129, '{"a":' * 10**6):
        with pytest.raises(ValueError, match="nested deeper than 128"):
            loads(deep)
