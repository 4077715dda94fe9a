"""Turns a case's words ("3x5 i:3 -") into seeded numpy arrays that fit the op's schema.

Before the colon: i, f, b say the dtype; p asks for positive floats, s and si for special values,
h for huge ones, of which one over them is no normal number.
"""

from __future__ import annotations

import zlib

import numpy as np

from nibblegrad.core.dtype import DTYPES, DType
from nibblegrad.core.schema import Info
from nibblegrad.ops.op import Op

WEIGHTS = ("f32", "q4_1", "q8_0", "q4_0", "f16", "bf16")
KINDS = {"f": "f32", "i": "i32", "u": "u32", "u8": "u8", "x": "f32", "w": "f32",
         "b": "bool", "n": "f32", "e": "f32", "l": "bool", "y": "f32",
         "i8": "i8", "q8": "i8"}  # fmt: skip
NUMPY = {"f32": np.float32, "i32": np.int32, "u32": np.uint32, "u8": np.uint8, "i8": np.int8,
         "bool": np.bool_}  # fmt: skip
POSITIVE = {"v", "total"}  # second moments and squared norms are never negative
WORDS = {"i": "i32", "f": "f32", "b": "bool", "p": "f32", "s": "f32", "h": "f32", "si": "i32",
         "u": "u32", "u8": "u8", "i8": "i8"}  # fmt: skip
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0,
           6.0, 2.0**24, -7.0, 7.0, 100.0, -100.0, 3e38, -3e38, 1e-30, 0.1]  # fmt: skip
SPECIAL_WHOLE = [-(2**31), 2**31 - 1, -1, 0, 1, 2, -2, 3, -3, 7, -7, 65536, 46341, -8, 31]


def shape_of(word: str) -> tuple[int, ...]:
    """ "2x3" -> (2, 3); "[]" -> ()."""
    return () if word == "[]" else tuple(int(n) for n in word.split("x"))


def infos(op: Op, words: str, weight: str = "f32") -> list[Info | None]:
    """The argument infos of a case; `weight` is the format of its w arguments."""
    out: list[Info | None] = []
    for word, term in zip(words.split() or ["[]"] * len(op.names), op.schema.inputs, strict=True):
        if word == "-":
            out.append(None)
            continue
        kind, _, dims = word.rpartition(":")
        name = WORDS.get(kind) or (weight if term.kind == "w" else KINDS[term.kind])
        out.append(Info(shape_of(dims), DTYPES[name]))
    return out


def weights(op: Op, words: str) -> list[str]:
    """The formats a case's weight can have: all whose blocks fit its last dim."""
    if not any(t.kind == "w" for t in op.schema.inputs):
        return ["f32"]
    at = next(i for i, t in enumerate(op.schema.inputs) if t.kind == "w")
    last = shape_of(words.split()[at].rpartition(":")[2])[-1]
    return [name for name in WEIGHTS if last % DTYPES[name].block == 0]


def cases(op: Op) -> list[tuple[str, str, dict]]:
    """(id, words, attrs) of every case of an op."""
    return [
        (
            f"{op.name}[{words}{''.join(f' {k}={v}' for k, v in attrs.items())}]",
            words,
            {**op.defaults, **attrs},
        )
        for words, attrs in op.case_list
    ]


def arrays(op: Op, found: list[Info | None], seed: str) -> list[np.ndarray | None]:
    """Seeded values: normal floats, small indices (some out of range), random bytes."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    marks = [w.partition(":")[0] if ":" in w else "" for w in seed.split()]
    marks += [""] * (len(found) - len(marks))
    return [
        None if info is None else stored_or_plain(rng, name, info, mark)
        for name, info, mark in zip(op.names, found, marks, strict=False)
    ]


def learns(op: Op, words: str, attrs: dict) -> bool:
    """Whether a case has floats to differentiate: in, out, and none of them special."""
    found = infos(op, words)
    into = any(i is not None and i.dtype.kind in "fw" for i in found)
    tame = "s:" not in words and "h:" not in words
    return into and tame and op.infer(found, attrs).out[0].dtype.kind == "f"


def stored_or_plain(rng: np.random.Generator, name: str, info: Info, mark: str = "") -> np.ndarray:
    """Values of one argument: as its mark, its dtype and its name ask."""
    if mark == "s":
        return rng.permutation(np.resize(np.array(SPECIAL, np.float32), info.shape))
    if mark == "si":
        return rng.permutation(np.resize(np.array(SPECIAL_WHOLE, np.int32), info.shape))
    if mark == "h":
        sign = rng.choice(np.array([-1, 1], np.float32), info.shape)
        return sign * (rng.uniform(0.26, 0.99, info.shape) * 2.0**128).astype(np.float32)
    if info.dtype.kind == "b":
        return rng.integers(0, 2, info.shape).astype(np.bool_)
    if info.dtype.kind == "w":
        return _stored(rng, info)
    if info.dtype.name in ("i8", "u32"):
        return rng.integers(0, 2**32, info.shape).astype(NUMPY[info.dtype.name])
    if info.dtype.kind == "i":
        return rng.integers(-1, 5, info.shape).astype(np.int32)
    if info.dtype.name == "u8":
        return rng.integers(0, 256, info.shape).astype(np.uint8)
    values = rng.standard_normal(info.shape).astype(np.float32)
    if name in ("scales", "weight_scales", "input_scales"):
        return np.abs(values) * np.float32(0.1) + np.float32(0.05)
    if mark == "p":
        return np.abs(values) + np.float32(0.1)
    return np.abs(values) if name in POSITIVE else values


def _stored(rng: np.random.Generator, info: Info) -> np.ndarray:
    """Bytes of a weight whose scales and minima are sane halves."""
    dtype: DType = info.dtype
    if dtype.name == "f32":
        return rng.standard_normal(info.shape).astype(np.float32)
    if dtype.name == "f16":
        return rng.standard_normal(info.shape).astype(np.float16).view(np.uint8).reshape(-1)
    if dtype.name == "bf16":
        bits = rng.standard_normal(info.shape).astype(np.float32).view(np.uint32) >> 16
        return bits.astype(np.uint16).view(np.uint8).reshape(-1)
    raw = rng.integers(0, 256, dtype.nbytes(info.shape)).astype(np.uint8)
    blocks = raw.reshape(-1, dtype.block_bytes)
    for at in (0, 2) if dtype.name == "q4_1" else (0,):
        halves = (rng.standard_normal(len(blocks)) * 0.1).astype(np.float16)
        blocks[:, at : at + 2] = halves.view(np.uint8).reshape(-1, 2)
    return raw


def expected(op: Op, found: list[Info | None], values: list, attrs: dict) -> list[np.ndarray]:
    """What the body gives, outputs then mutated arguments; weights handed over as floats."""
    from nibblegrad.ops.formats import dequantise

    given = []
    for info, value in zip(found, values, strict=True):
        if info is not None and info.dtype.kind == "w":
            value = dequantise(value, info.dtype, info.shape)
        given.append(value.copy() if value is not None else None)
    with np.errstate(all="ignore"):
        result = op.body(*given, **attrs)
    outs = [] if result is None else list(result) if isinstance(result, tuple) else [result]
    return outs + [given[op.names.index(name)] for name in op.mutates]
