"""softmax(scale * q @ k.T + mask) @ v, made of other ops: any head size and mask; it learns."""

from __future__ import annotations

from typing import Any

from ..core.errors import ShapeError
from ..core.launch import size
from .map import add
from .map import scale as times
from .matmul import bmm
from .movement import transpose
from .reduce import expand
from .shape import view
from .softmax import softmax


def shared_heads(x: Any, heads: int) -> Any:
    """[.., g, t, e] -> [.., heads, t, e]: each key head for heads / g query heads in a row."""
    *b, g, t, e = x.shape
    if g == heads:
        return x
    wide = expand(view(x, (*b, g, 1, t, e)), shape=(*b, g, heads // g, t, e))
    return view(wide, (*b, heads, t, e))


def _check(q: Any, k: Any, v: Any) -> None:
    shapes = [list(x.shape) for x in (q, k, v)]
    same = q.shape[:-3] == k.shape[:-3] and k.shape[:-1] == v.shape[:-1]
    whole = same and len(q.shape) > 2 and q.shape[-1] == k.shape[-1]
    if whole and len(q.shape) > 3:
        whole = k.shape[-3] > 0 and q.shape[-3] % k.shape[-3] == 0
    if not whole or (len(q.shape) == 3 and q.shape[0] != k.shape[0]):
        raise ShapeError(
            f"sdpa: q, k, v must be [.., h, s, e], [.., g, t, e], [.., g, t, f], h a multiple of "
            f"g, got {shapes[0]}, {shapes[1]}, {shapes[2]}"
        )


def sdpa(q: Any, k: Any, v: Any, attn_mask: Any = None, scale: float | None = None) -> Any:
    """softmax(scale * q @ k.T + attn_mask) @ v; nothing is causal but what the mask hides.

    q f32 [.., h, s, e], k [.., g, t, e], v [.., g, t, f], h a multiple of g; attn_mask f32, which
    broadcasts to [.., h, s, t]; scale defaults to 1 / sqrt(e). A row that is -inf throughout is
    NaN, as torch's softmax has it. Source: et_vk.sdpa (one head size, g = h, a whole mask).
    """
    _check(q, k, v)
    *b, s, e = q.shape
    if len(q.shape) > 3:
        k, v = shared_heads(k, b[-1]), shared_heads(v, b[-1])
    n, t, f = size(tuple(b)), k.shape[-2], v.shape[-1]
    scores = bmm(view(q, (n, s, e)), transpose(view(k, (n, t, e)), 1, 2))
    scores = times(scores, s=e**-0.5 if scale is None else scale)
    if attn_mask is not None:
        masked = add(view(scores, (*b, s, t)), attn_mask)
        if masked.shape != (*b, s, t):
            raise ShapeError(f"sdpa: attn_mask must broadcast to {[*b, s, t]}, got "
                             f"{list(attn_mask.shape)}")  # fmt: skip
        scores = view(masked, (n, s, t))
    return view(bmm(softmax(scores, dim=-1), view(v, (n, t, f))), (*b, s, f))
