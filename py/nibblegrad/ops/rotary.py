"""Rotary embeddings: adjacent pairs, or halves as transformers pairs them."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, Sym, dyn, grid1
from ..core.lazy import np
from ..core.schema import Dims
from .op import Op, op


@op("f[b t h e], f[s r], f[s r] -> f[b t h e]", order=("x", "cos", "sin", "pos", "inverse"))
def rotary(x, cos, sin, *, pos: int = 0, inverse: bool = False):
    """Rotate adjacent pairs (x[2i], x[2i+1]) by the angles of row pos + t.

    x f32 [b, t, h, e], cos and sin f32 [rows, e/2]. Source: et_vk.apply_rotary_emb, and GGUF's
    llama. `inverse` rotates back, which is the gradient.
    """
    t, half = x.shape[1], x.shape[3] // 2
    c = cos[pos : pos + t, None, :half]
    s = sin[pos : pos + t, None, :half] * (-1 if inverse else 1)
    a, b = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2], out[..., 1::2] = a * c - b * s, a * s + b * c
    return out


@op("f[b t h e], f[s r], f[s r] -> f[b t h e]", order=("x", "cos", "sin", "pos", "inverse"))
def rotary_hf(x, cos, sin, *, pos: int = 0, inverse: bool = False):
    """Rotate the pairs (x[i], x[i + e/2]) by the angles of row pos + t; each half its own columns.

    x f32 [b, t, h, e], cos and sin f32 [rows, e]. Source: et_vk.apply_rotary_emb_hf, transformers.
    """
    t, half = x.shape[1], x.shape[3] // 2
    c, s = cos[pos : pos + t, None], sin[pos : pos + t, None]
    a, b = x[..., :half], x[..., half:]
    c1, c2, s1, s2 = c[..., :half], c[..., half:], s[..., :half], s[..., half:]
    if inverse:
        return np.concatenate([a * c1 + b * s2, b * c2 - a * s1], -1)
    return np.concatenate([a * c1 - b * s1, b * c2 + a * s2], -1)


def _rotate(made: Op, kernel: str) -> None:
    @made.kernel(kernel)
    def _(d: Dims) -> Launch:
        pairs = d.b * d.t * d.h * d.e // 2
        params = (pairs, d.t, d.h, d.e, *dyn(d.pos, "i"), int(d.inverse), d.r)
        return Launch(grid1(pairs, 64), params)

    @made.vjp
    def _(g: Any, out: Any, x: Any, cos: Any, sin: Any, *, pos: int, inverse: bool):
        return (lambda: made(g, cos, sin, pos=pos, inverse=not inverse), None, None)

    made.saves(x="cos sin")
    made.require("e % 2 == 0", "the head size must be even")


_rotate(rotary, "attention/rotary")
_rotate(rotary_hf, "attention/rotary_hf")
rotary.require("2 * r == e", "cos and sin must hold half the head size")
rotary_hf.require("r == e", "cos and sin must hold the whole head size")
for made, wide in ((rotary, 4), (rotary_hf, 8)):
    rows = f"9x{wide} 9x{wide}"
    one = f"9x{wide // 4} 9x{wide // 4}"
    made.cases(f"2x5x3x8 {rows}", f"1x1x1x2 {one}", f"0x5x3x8 {rows}")
    made.cases(f"2x5x3x8 {rows}", pos=4)
    made.cases(f"2x5x3x8 {rows}", inverse=True)
rotary.refuses("1x2x3x8 9x3 9x3",
    "rotary: cos and sin must hold half the head size, got r=3, e=8")  # fmt: skip
rotary_hf.refuses("1x2x3x8 9x4 9x4",
    "rotary_hf: cos and sin must hold the whole head size, got r=4, e=8")  # fmt: skip


def apply_rotary_emb(xq: Any, xk: Any, freqs_cos: Any, freqs_sin: Any) -> tuple[Any, Any]:
    """Both query and key through `rotary`. Source: et_vk.apply_rotary_emb."""
    return rotary(xq, freqs_cos, freqs_sin), rotary(xk, freqs_cos, freqs_sin)


def apply_rotary_emb_hf(
    xq: Any, xk: Any, freqs_cos: Any, freqs_sin: Any, start_pos: int | Sym = 0
) -> tuple[Any, Any]:
    """Both query and key through `rotary_hf`. Source: et_vk.apply_rotary_emb_hf."""
    return (
        rotary_hf(xq, freqs_cos, freqs_sin, start_pos),
        rotary_hf(xk, freqs_cos, freqs_sin, start_pos),
    )
