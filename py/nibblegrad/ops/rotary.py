"""Rotary embeddings: adjacent pairs, or halves as transformers pairs them."""

from __future__ import annotations

from typing import Any

from ..core.errors import ShapeError
from ..core.launch import Launch, Sym, dyn, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .op import Op, op
from .shape import view
from .slicing import select


@op("f[b t h e], f[s r], f[s r] -> f[b t h e]", order=("x", "cos", "sin", "pos", "inverse"))
def rotary(x, cos, sin, *, pos: int = 0, inverse: bool = False):
    """Rotate adjacent pairs (x[2i], x[2i+1]) by the angles of row pos + t.

    x f32 [b, t, h, e], cos and sin f32 [rows, <= e/2]: what of a head they do not reach stays.
    Source: et_vk.apply_rotary_emb, and GGUF's llama. `inverse` rotates back, as the gradient does.
    """
    t, wide = x.shape[1], 2 * cos.shape[1]
    c = cos[pos : pos + t, None]
    s = sin[pos : pos + t, None] * (-1 if inverse else 1)
    a, b = x[..., 0:wide:2], x[..., 1:wide:2]
    out = x.copy()
    out[..., 0:wide:2], out[..., 1:wide:2] = a * c - b * s, a * s + b * c
    return out


@op("f[b t h e], f[s r], f[s r] -> f[b t h e]", order=("x", "cos", "sin", "pos", "inverse"))
def rotary_hf(x, cos, sin, *, pos: int = 0, inverse: bool = False):
    """Rotate the pairs (x[i], x[i + e/2]) by the angles of row pos + t; each half its own columns.

    x f32 [b, t, h, e], cos and sin f32 [rows, r <= e]: pairs (x[i], x[i + r/2]), the rest stays.
    Source: et_vk.apply_rotary_emb_hf (which knows r = e only), transformers.
    """
    t, wide = x.shape[1], cos.shape[1]
    half = wide // 2
    c, s = cos[pos : pos + t, None], sin[pos : pos + t, None]
    a, b, rest = x[..., :half], x[..., half:wide], x[..., wide:]
    c1, c2, s1, s2 = c[..., :half], c[..., half:], s[..., :half], s[..., half:]
    if inverse:
        return np.concatenate([a * c1 + b * s2, b * c2 - a * s1, rest], -1)
    return np.concatenate([a * c1 - b * s1, b * c2 + a * s2, rest], -1)


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
rotary.require(
    "e % 2 == 0 and 2 * r <= e", "cos and sin hold at most half the head size, which is even"
)
rotary_hf.require("e % 2 == 0 and r % 2 == 0 and r <= e",
                  "cos and sin hold at most the head size, both even")  # fmt: skip
for made, wide in ((rotary, 4), (rotary_hf, 8)):
    made.require("pos >= 0 and pos + t <= s", "cos and sin must have a row for every position")
    rows = f"9x{wide} 9x{wide}"
    one = f"9x{wide // 4} 9x{wide // 4}"
    made.cases(f"2x5x3x8 {rows}", f"1x1x1x2 {one}", f"0x5x3x8 {rows}", f"1x3x2x14 {rows}")
    made.cases(f"2x5x3x8 {rows}", f"1x3x2x14 {rows}", pos=4)
    made.cases(f"2x5x3x8 {rows}", f"1x3x2x14 {rows}", inverse=True)
    made.refuses(f"1x5x3x8 {rows}", f"{made.name}: cos and sin must have a row for every position, "
                 "got pos=5, t=5, s=9", pos=5)  # fmt: skip
rotary.refuses("1x2x3x8 9x5 9x5",
    "rotary: cos and sin hold at most half the head size, which is even, got e=8, r=5")  # fmt: skip
rotary_hf.refuses("1x2x3x8 9x3 9x3",
    "rotary_hf: cos and sin hold at most the head size, both even, got e=8, r=3")  # fmt: skip


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


def apply_rotary_emb_interleaved(x: Any, freqs_cis: Any) -> Any:
    """Adjacent pairs by (cos, sin) pairs: x f32 [b, n, c], freqs_cis of n * c numbers, any rank.

    Source: et_vk.apply_rotary_emb_interleaved.
    """
    if len(x.shape) != 3 or x.shape[2] % 2 or size(freqs_cis.shape) != size(x.shape[1:]):
        raise ShapeError(
            "apply_rotary_emb_interleaved: x must be [b, n, c], c even, and freqs_cis hold n * c "
            f"numbers, got {list(x.shape)} and {list(freqs_cis.shape)}"
        )
    b, n, c = x.shape
    pairs = view(freqs_cis, (n, c // 2, 2))
    cos, sin = (select(pairs, dim=2, index=i) for i in (0, 1))
    return view(rotary(view(x, (b, n, 1, c)), cos, sin), x.shape)
