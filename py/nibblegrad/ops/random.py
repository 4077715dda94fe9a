"""Random numbers by counter: element i of stream s is a hash of (seed, s, i), the same anywhere.

The hash is PCG-RXS-M-XS-32 (Jarzynski and Olano, "Hash Functions for GPU Rendering", JCGT 2020),
chained over the three words; 24 bits of it make a float in [0, 1).
"""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, dyn, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .op import op


def pcg(x: Any) -> Any:
    """The hash of u32 words."""
    with np.errstate(over="ignore"):
        state = x * np.uint32(747796405) + np.uint32(2891336453)
        word = ((state >> ((state >> np.uint32(28)) + np.uint32(4))) ^ state) * np.uint32(277803737)
        return (word >> np.uint32(22)) ^ word


def uniform01(n: int, seed: int, stream: int) -> Any:
    """n floats in [0, 1): multiples of 2**-24, exact in f32."""
    base = pcg(np.uint32(stream & 0xFFFFFFFF) + pcg(np.uint32(seed & 0xFFFFFFFF)))
    with np.errstate(over="ignore"):
        bits = pcg(np.arange(n, dtype=np.uint32) + base)
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)


@op("f[*b] ->", mutates=("x",), order=("x", "low", "high", "seed", "stream"))
def uniform(x, *, low: float, high: float, seed: int, stream: int = 0):
    """Fill x with uniform numbers in [low, high), in place. Source: aten::uniform_ (other bits)."""
    low32, width = np.float32(low), np.float32(high - low)
    x[...] = (low32 + width * uniform01(x.size, seed, stream)).reshape(x.shape)


@uniform.kernel("optim/uniform")
def _(d: Dims) -> Launch:
    n = size(d.b)
    return Launch(grid1(n, 64), (n, d.seed, d.stream, float(d.low), float(d.high - d.low)))


@op("f[*b] -> f[*b]", order=("x", "p", "seed", "stream"))
def dropout(x, *, p: float, seed: int, stream: int = 0):
    """Zero each element with probability p, scale the rest by 1 / (1 - p).

    The mask is the counter's, so the same seed and stream give the same mask, forward and back.
    Source: arXiv 1207.0580, aten::dropout.
    """
    keep = uniform01(x.size, seed, stream).reshape(x.shape) >= np.float32(p)
    return np.where(keep, x * np.asarray(1 / (1 - p), x.dtype), np.asarray(0, x.dtype))


@dropout.kernel("map/dropout")
def _(d: Dims) -> Launch:
    n = size(d.b)
    return Launch(grid1(n, 64), (n, *dyn(d.seed, "i"), d.stream, float(d.p), float(1 / (1 - d.p))))


dropout.vjp(lambda g, out, x, **how: (lambda: dropout(g, **how),))
dropout.saves(x="")
uniform.without_gradient("it fills in place, outside the tape")
dropout.require("0 <= p < 1", "p must be in [0, 1)")
uniform.cases("3x5", "1", "1000", "0", low=-0.5, high=0.25, seed=7, stream=3)
dropout.cases("3x5", "1", "1000", "0x4", p=0.3, seed=11, stream=2)
uniform.refuses("i:3", "uniform: x must be f32, got i32", low=0.0, high=1.0, seed=1)
dropout.refuses("3", "dropout: p must be in [0, 1), got p=1.0", p=1.0, seed=1)
