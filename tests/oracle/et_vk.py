"""Reads et_vk.npz: upstream ExecuTorch's own outputs for each op. Numpy only, knows no op.

Keys: OP/I/attr (JSON), OP/I/in/NAME, OP/I/out/J. An input that follows from a recipe is not
stored; its recipe stands in the attr JSON under "recipes" and `make` computes it.
"""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

FILE = Path(__file__).with_name("et_vk.npz")


class Case(NamedTuple):
    name: str  # OP/I, and what it is about
    inputs: dict  # tensors by the schema's names, in its order
    attrs: dict  # the other arguments
    outputs: list


def words(seed, n):
    """n well mixed u32: the lowbias32 hash of (hash of seed) + i."""

    def mix(x):
        x ^= x >> 16
        x *= np.uint32(0x7FEB352D)
        x ^= x >> 15
        x *= np.uint32(0x846CA68B)
        return x ^ (x >> 16)

    return mix(np.arange(n, dtype=np.uint32) + mix(np.array([seed], np.uint32)))


def make(recipe):
    """The array a recipe describes; the same bits on every machine."""
    kind, shape = recipe["kind"], recipe["shape"]
    n = int(np.prod(shape))
    if kind == "ramp":  # ((i % mod) - sub) / div
        flat = (np.arange(n) % recipe["mod"] - recipe["sub"]) / recipe["div"]
        return flat.astype(np.float32).reshape(shape)
    w = words(recipe["seed"], n)
    if kind == "bytes":
        flat = (w >> 24).astype(np.uint8).view(recipe.get("dtype", "uint8"))
    elif kind == "ids":  # 0 .. below - 1
        flat = (w % np.uint32(recipe["below"])).astype(np.int64)
    elif kind == "uniform":
        lo, hi = recipe["lo"], recipe["hi"]
        flat = (lo + (w >> 8) * 2.0**-24 * (hi - lo)).astype(np.float32)
    elif kind == "bell":  # four 16-bit uniforms summed, deviation 0.577 * scale
        w2 = words(recipe["seed"] + 1, n)
        total = sum((x >> s & 0xFFFF).astype(np.int64) for x in (w, w2) for s in (0, 16))
        flat = ((total - 131070) / 65536 * recipe["scale"]).astype(np.float32)
    else:
        raise ValueError(f"et_vk.npz: recipe kind {kind!r} is not known")
    return flat.reshape(shape)


@cache
def _archive():
    return np.load(FILE, allow_pickle=False)


@cache
def ops():
    """The names of the ops that have cases."""
    return sorted({key.split("/")[0] for key in _archive().files})


def cases(op):
    """All cases of one op, inputs made or read."""
    files, out = _archive(), []
    while (at := f"{op}/{len(out)}") + "/attr" in files:
        attr = json.loads(str(files[f"{at}/attr"]))
        recipes = attr["recipes"]
        inputs = {
            name: make(recipes[name]) if name in recipes else files[f"{at}/in/{name}"].copy()
            for name in attr["inputs"]
        }
        outputs = [files[f"{at}/out/{j}"].copy() for j in range(attr["n_outputs"])]
        out.append(Case(f"{at} {attr['about']}".strip(), inputs, attr["attrs"], outputs))
    if not out:
        raise KeyError(f"et_vk.npz: no cases of {op!r}; there are {', '.join(ops())}")
    return out
