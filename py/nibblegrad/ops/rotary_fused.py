"""Rotary embeddings of queries and keys together, and straight into a cache."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, dyn, grid1
from ..core.schema import Dims
from .op import op
from .rotary import rotary, rotary_hf

TABLES = "halves == 0 and 2 * r <= e or halves and r % 2 == 0 and r <= e"


def _turn(x: Any, cos: Any, sin: Any, pos: int, inverse: bool, halves: bool) -> Any:
    return (rotary_hf if halves else rotary).body(x, cos, sin, pos=pos, inverse=inverse)


def _params(d: Dims, inverse: bool) -> tuple[int | float, ...]:
    half = d.e // 2
    sizes = (d.b * d.t * d.h * half, d.b * d.t * d.g * half, d.t, d.h, d.g, d.e, d.r)
    return (*sizes, int(d.halves), int(inverse), *dyn(d.pos, "i"))


@op("f[b t h e], f[b t g e], f[z r], f[z r] -> f[b t h e], f[b t g e]")
def rotary_pair(q, k, cos, sin, *, pos: int = 0, inverse: bool = False, halves: bool = False):
    """q and k through `rotary` (halves: `rotary_hf`), in one dispatch.

    q f32 [b, t, h, e], k f32 [b, t, g, e], cos and sin f32 [rows, width]. Source:
    et_vk.apply_rotary_emb, et_vk.apply_rotary_emb_hf.
    """
    return tuple(_turn(x, cos, sin, pos, inverse, halves) for x in (q, k))


@rotary_pair.kernel("attention/rotary_pair")
def _(d: Dims) -> Launch:
    pairs = d.b * d.t * (d.h + d.g) * d.e // 2
    return Launch(grid1(pairs, 64), (*_params(d, d.inverse), 0))


@rotary_pair.vjp
def _(g: Any, out: Any, q: Any, k: Any, cos: Any, sin: Any, *, pos: int, inverse: bool,
      halves: bool):  # fmt: skip
    if g[0] is not None and g[1] is not None:
        back = rotary_pair(*g, cos, sin, pos=pos, inverse=not inverse, halves=halves)
    else:
        one = rotary_hf if halves else rotary
        back = [h if h is None else one(h, cos, sin, pos, not inverse) for h in g]
    return (*back, None, None)


rotary_pair.saves(q="cos sin", k="cos sin")


@op("f[b t h e], f[b t g e], f[b t g e], f[b s g e], f[b s g e], f[z r], f[z r] ->",
    mutates=("q", "keys", "values"))  # fmt: skip
def rotary_cache(q, k, v, keys, values, cos, sin, *, pos: int = 0, halves: bool = False):
    """Turn q in place as `rotary_pair` does; k, turned, and v go to rows pos + t of the caches.

    q f32 [b, t, h, e], k and v [b, t, g, e], keys and values [b, s, g, e], cos and sin
    [rows, width]. A plan's moving pos drops rows past the caches' end. Source: llama update_cache.
    """
    t, s = k.shape[1], keys.shape[1]
    k = _turn(k, cos, sin, pos, False, halves)
    q[...] = _turn(q, cos, sin, pos, False, halves)
    keys[:, pos : pos + t], values[:, pos : pos + t] = (x[:, : max(0, s - pos)] for x in (k, v))


@rotary_cache.kernel("attention/rotary_cache")
def _(d: Dims) -> Launch:
    pairs = d.b * d.t * (d.h + 2 * d.g) * d.e // 2
    return Launch(grid1(pairs, 64), (*_params(d, False), d.s))


rotary_cache.without_gradient("a cache serves inference only")
for made in (rotary_pair, rotary_cache):
    made.require("e % 2 == 0", "the head size must be even")
    made.require(TABLES, "cos and sin hold at most half the head size, or all of it as halves")
    made.require("pos >= 0 and pos + t <= z", "cos and sin must have a row for every position")
rotary_cache.require("pos + t <= s", "value's rows must lie in cache")
for halves, wide in ((False, 4), (True, 8)):
    tables, one = f"9x{wide} 9x{wide}", f"9x{wide // 4} 9x{wide // 4}"
    rotary_pair.cases(f"2x5x3x8 2x5x1x8 {tables}", f"1x1x1x2 1x1x1x2 {one}", halves=halves)
    rotary_pair.cases(f"1x3x4x14 1x3x2x14 {tables}", f"0x5x2x8 0x5x1x8 {tables}", pos=4,
                      halves=halves, inverse=True)  # fmt: skip
    caches = "2x9x2x8 2x9x2x8"
    rotary_cache.cases(f"2x3x6x8 2x3x2x8 2x3x2x8 {caches} {tables}",
                       f"2x1x2x8 2x1x2x8 2x1x2x8 {caches} {tables}", pos=5,
                       halves=halves)  # fmt: skip
    rotary_cache.cases(f"1x3x2x14 1x3x1x14 1x3x1x14 1x7x1x14 1x7x1x14 {tables}", halves=halves)
rotary_cache.cases("0x1x1x4 0x1x1x4 0x1x1x4 0x1x1x4 0x1x1x4 9x2 9x2")
rotary_pair.refuses("1x5x3x8 1x5x3x8 9x4 9x4", "rotary_pair: cos and sin must have a row for every "
                    "position, got pos=5, t=5, z=9", pos=5)  # fmt: skip
rotary_pair.refuses("1x2x3x8 1x2x3x8 9x5 9x5", "rotary_pair: cos and sin hold at most half the "
                    "head size, or all of it as halves, got halves=False, r=5, e=8")  # fmt: skip
rotary_cache.refuses("1x2x1x4 1x2x1x4 1x2x1x4 1x4x1x4 1x4x1x4 9x2 9x2",
    "rotary_cache: value's rows must lie in cache, got pos=3, t=2, s=4", pos=3)  # fmt: skip
