# ruff: noqa: RUF001 - letters that look alike are what this file is about
"""Tokenizers from GGUF metadata and from Hugging Face's files, run in node, against goldens."""

import json
import random
import shutil
import subprocess
from array import array
from pathlib import Path

import pytest

from nibblegrad.core.errors import FormatError
from nibblegrad.io import gguf, pretokenizer, tokenizer

ROOT = Path(__file__).parents[2]
SMOLLM2 = ROOT / ".cache/models/SmolLM2-135M-Instruct.Q4_1.gguf"
GOLDEN = json.loads((ROOT / "tests/data/tokenizer-strings.json").read_text())
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None or not (ROOT / "node_modules/@huggingface/tokenizers").exists(),
    reason="needs node and npm ci",
)
needs_model = pytest.mark.skipif(
    not SMOLLM2.exists(), reason="model not fetched: python3 build.py finetune"
)


def node(spec, calls):
    """The answers of web/text/tokenizer.js to a list of [method, arguments...]."""
    done = subprocess.run(
        [NODE, str(Path(__file__).with_name("text.mjs"))],
        input=json.dumps({"spec": spec, "calls": calls}),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


def results(spec, calls):
    return [a["ok"] for a in node(spec, calls)]


@pytest.fixture(scope="module")
def metadata():
    with SMOLLM2.open("rb") as f:
        return gguf.parse(f.read(2 << 20), SMOLLM2.stat().st_size).metadata


def tiny_metadata(**changes):
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789.,!?ĠĊ")
    meta = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *letters, "he", "hel", "Ġhe"],
        "token_type": array("i", [3, 3, 3] + [1] * (len(letters) + 3)),
        "merges": ["h e", "he l", "Ġ he"],
        "bos_token_id": 1,
        "eos_token_id": 2,
        "padding_token_id": 2,
    } | changes
    meta = {"tokenizer.ggml." + k: v for k, v in meta.items() if v is not ...}
    template = meta.pop("tokenizer.ggml.template", None)
    return meta | ({} if template is None else {"tokenizer.chat_template": template})


def golden_id(row):
    return ascii(row["text"])[:40]


@needs_node
@needs_model
def test_javascript_equals_the_golden_ids(metadata):
    spec = tokenizer.from_gguf(metadata)
    encoded = results(spec, [["encode", row["text"], False] for row in GOLDEN])
    wrong = [golden_id(r) for r, ids in zip(GOLDEN, encoded, strict=True) if ids != r["ids"]]
    assert not wrong
    decoded = results(spec, [["decode", row["ids"], False] for row in GOLDEN])
    wrong = [golden_id(r) for r, t in zip(GOLDEN, decoded, strict=True) if t != r["decoded"]]
    assert not wrong


def test_the_golden_file_is_what_it_says():
    assert len(GOLDEN) == len({row["text"] for row in GOLDEN}) == 200
    # SmolLM2 has no token for some bytes; only strings with those lose anything
    lossy = [row["text"] for row in GOLDEN if row["decoded"] != row["text"]]
    assert all(set(t) & set("\x04\x06\x13\x14\x16\x1d\U000323b0\U0010ffff\ufffd") for t in lossy)


@needs_model
def test_all_of_smollm2s_special_ids(metadata):
    spec = tokenizer.from_gguf(metadata)
    assert (spec["bos_id"], spec["pad_id"], spec["add_bos"]) == (1, 2, False)
    assert spec["eos_ids"] == [2, 0]
    assert spec["template"].startswith("{% for message in messages %}")
    assert len(spec["tokenizer"]["added_tokens"]) == 17


def rust_twin(spec, pre):
    """Rust `tokenizers` with the pre-tokenizer as Hugging Face's tokenizer.json writes it."""
    rust = pytest.importorskip("tokenizers")
    p = rust.pre_tokenizers
    model = spec["tokenizer"]["model"]
    merges = [tuple(m.split(" ")) for m in model["merges"]]
    out = rust.Tokenizer(rust.models.BPE(model["vocab"], merges))
    llama = (
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
        "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    )
    qwen = llama.replace("{1,3}", "")
    own = {
        "smollm": [p.Digits(True), p.ByteLevel(False)],
        "gpt-2": [p.ByteLevel(False)],
        "llama-bpe": [p.Split(rust.Regex(llama), "isolated"), p.ByteLevel(False, use_regex=False)],
        "qwen2": [p.Split(rust.Regex(qwen), "isolated"), p.ByteLevel(False, use_regex=False)],
    }
    if pre == "qwen2":
        out.normalizer = rust.normalizers.NFC()
    if pre == "llama-bpe":
        state = json.loads(out.to_str())
        state["model"]["ignore_merges"] = True
        out = rust.Tokenizer.from_str(json.dumps(state))
    out.pre_tokenizer = p.Sequence(own[pre])
    out.decoder = rust.decoders.ByteLevel()
    out.add_special_tokens([t["content"] for t in spec["tokenizer"]["added_tokens"]])
    return out


def odd_texts(n, seed):
    """Code points from everywhere, in runs, so that each boundary rule meets each kind."""
    rng = random.Random(seed)
    pools = (
        "aZſK'sStT",
        "0٣½²Ⅷ𝟏",
        " \t\n\r\x85\ufeff\u3000\u200b",
        ".,!<|>'’",
        "éß\u0301\u20dd",
        "Жשع中한😀",
    )
    for _ in range(n):
        runs = [rng.choice(pools) for _ in range(rng.randint(1, 9))]
        yield "".join(rng.choice(pool) for pool in runs for _ in range(rng.randint(1, 4)))


@needs_node
@needs_model
@pytest.mark.parametrize("pre", list(pretokenizer.PRE))
def test_each_pre_tokenizer_equals_rust(metadata, pre):
    spec = tokenizer.from_gguf(metadata | {"tokenizer.ggml.pre": pre})
    twin = rust_twin(spec, pre)
    texts = [row["text"] for row in GOLDEN] + list(odd_texts(2000, 7))
    encoded = results(spec, [["encode", text, False] for text in texts])
    wrong = [ascii(t) for t, ids in zip(texts, encoded, strict=True) if ids != twin.encode(t).ids]
    assert not wrong


@needs_node
def test_rust_reads_our_tokenizer_json_too():
    rust = pytest.importorskip("tokenizers")
    for changes in ({}, {"pre": "qwen2"}, {"pre": "llama-bpe"}, {"add_bos_token": True}):
        spec = tokenizer.from_gguf(tiny_metadata(**changes))
        state = json.loads(json.dumps(spec["tokenizer"]))
        assert state["pre_tokenizer"]["pretokenizers"].pop()["type"] == "Replace"  # JavaScript's
        twin = rust.Tokenizer.from_str(json.dumps(state))
        texts = ["hello he12 ", "<|im_start|>a\n<|im_end|>", "x" + " he" * 9]
        for special in (False, True):
            ours = results(spec, [["encode", t, special] for t in texts])
            assert ours == [twin.encode(t, add_special_tokens=special).ids for t in texts]


@needs_node
def test_from_hf_equals_from_gguf():
    """tokenizer.json as Hugging Face writes SmolLM2's: Digits and ByteLevel by name."""
    pytest.importorskip("tokenizers")
    spec = tokenizer.from_gguf(tiny_metadata(template="{{ messages[0].content }}"))
    config = {
        "bos_token": "<|im_start|>",
        "eos_token": {"content": "<|im_end|>", "__type": "AddedToken"},
        "pad_token": "<|im_end|>",
        "chat_template": [{"name": "default", "template": "{{ messages[0].content }}"}],
    }
    twin = tokenizer.from_hf(rust_twin(spec, "smollm").to_str(), json.dumps(config).encode())
    assert twin["tokenizer"]["pre_tokenizer"] == spec["tokenizer"]["pre_tokenizer"]
    for key in ("template", "eos_ids", "bos_id", "pad_id", "add_bos"):
        assert twin[key] == spec[key], key
    calls = [["encode", t, False] for t in odd_texts(50, 3)]
    assert results(twin, calls) == results(spec, calls)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": "llama"}, "model is 'llama', which is not supported; supported: gpt2"),
        ({"model": ...}, "model is None"),
        ({"pre": "deepseek-llm"}, "pre-tokenizer is 'deepseek-llm', which is not supported"),
        ({"pre": ["smollm"]}, "pre-tokenizer is ['smollm']"),
        ({"tokens": ...}, "tokenizer.ggml.tokens is no list of strings"),
        ({"tokens": ["a", "b", "a"], "token_type": [1] * 3}, "token 'a' is there twice"),
        ({"merges": ["h e", "he"]}, "merge 'he' is not two tokens with a space between"),
        ({"merges": 5}, "tokenizer.ggml.merges is no list of strings"),
        ({"token_type": array("i", [3])}, "token_type is not as long as"),
        ({"eos_token_id": 999}, "eos_token_id is 999, but there are 48 tokens"),
        ({"bos_token_id": "1"}, "bos_token_id is '1'"),
        ({"template": 7}, "chat_template is 7, not text"),
    ],
)
def test_gguf_refusals(changes, says):
    with pytest.raises(FormatError) as e:
        tokenizer.from_gguf(tiny_metadata(**changes))
    assert says in str(e.value)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"{", "tokenizer.json: Expecting property"),
        (b"[]", "tokenizer.json: a JSON list"),
        (b"{}", "model type is None, which is not supported; supported: 'BPE'"),
        (b'{"model":{"type":"Unigram","vocab":[]}}', "model type is 'Unigram'"),
        (b'{"model":{"type":"BPE","vocab":[]}}', "model has no vocab or no merges"),
        (b'{"model":{"type":"BPE"},"added_tokens":[{"id":"1"}],"decoder":3}', "3 faults"),
    ],
)
def test_hf_refusals(raw, says):
    with pytest.raises(FormatError) as e:
        tokenizer.from_hf(raw)
    assert says in str(e.value)


def test_hostile_pieces_of_a_tokenizer_json_pass_without_surprise():
    model = {"type": "BPE", "vocab": {}, "merges": []}
    for junk in ({"type": "Sequence", "pretokenizers": [3, None, {"type": "Sequence"}]}, {"x": []}):
        post = {"processors": [1, {"single": [4]}, {"single": {"a": 1}}]}
        raw = json.dumps({"model": model, "pre_tokenizer": junk, "post_processor": post})
        assert tokenizer.from_hf(raw, b'{"bos_token": "x"}')["add_bos"] is False


@needs_node
def test_edges_of_the_javascript_side():
    spec = tokenizer.from_gguf(tiny_metadata())
    calls = [
        ["decode", [], False],
        ["decode", [2], True],
        ["decode", [2, 48], False],
        ["decode", [-1], False],
        ["token", 1],
        ["token", 48],
        ["render", '[{"role":"user","content":"a"}]', True],
    ]
    answers = [a.get("ok", a.get("error")) for a in node(spec, calls)]
    assert answers[:6] == [
        "",
        "",
        "tokenizer: no token has the id 48",
        "tokenizer: no token has the id -1",
        "<|im_start|>",
        None,
    ]
    assert answers[6].startswith("chat template: this model has none")


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi <b>&amp;</b> {{ x }}"},
    {"role": "assistant", "content": "Hello\n"},
]


@needs_node
@needs_model
def test_template_equals_jinja2(metadata):
    sandbox = pytest.importorskip("jinja2.sandbox")
    spec = tokenizer.from_gguf(metadata)
    env = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    theirs = env.from_string(spec["template"])
    cases = [(MESSAGES[i:j], add) for i, j in ((0, 3), (1, 2), (1, 3)) for add in (False, True)]
    ours = results(spec, [["render", json.dumps(m), add] for m, add in cases])
    for text, (messages, add) in zip(ours, cases, strict=True):
        assert text == theirs.render(messages=messages, add_generation_prompt=add)


@needs_node
@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{% for m in messages %}", "is broken or uses what is not supported"),
        ("{{ messages | no_such_filter }}", "no_such_filter"),
        ("{% no_such_tag %}", "no_such_tag"),
        ("{{ nothing.at.all() }}", "is broken or uses what is not supported"),
        ("{{ raise_exception('roles must alternate') }}", "refuses these messages: roles must"),
        ("{% for i in range(1000000000) %}x{% endfor %}", "runs too long"),
        ("{% for i in range(0, 9, 0) %}x{% endfor %}", "runs too long"),
        (
            "{% for i in range(9999) %}{% for j in range(9999) %}x{% endfor %}{% endfor %}",
            "too long",
        ),
        (
            "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}"
            "{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}",
            "makes more than 1000000 characters",
        ),
        ("{% for i in range(9000) %}x" + "y" * 200 + "{% endfor %}", "1000000 char"),
        ("{% macro f(g) %}{{ g(g) }}{% endmacro %}{{ f(f) }}", "nested too deeply"),
        ("(" * 50 + "{{" + "(" * 100_000 + "}}", "nested too deeply"),
        ("{{ 'x' | indent(2000000000) }}", "nested too deeply, or asks for a text too long"),
        ("x" * 300_000, "is 300000 characters long"),
    ],
)
def test_bad_templates_are_told_by_cause(template, says):
    spec = tokenizer.from_gguf(tiny_metadata(template=template))
    (answer,) = node(spec, [["render", json.dumps(MESSAGES), True]])
    assert answer.get("error", answer)[:15] == "chat template: "
    assert says in answer["error"]
