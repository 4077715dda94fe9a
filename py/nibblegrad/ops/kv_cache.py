"""The KV cache: written in place, and attention over it."""

from __future__ import annotations

from typing import Any

from ..core.errors import ShapeError
from ..core.launch import Launch, Sym, dyn, grid1
from ..core.schema import Dims
from .attention import attention
from .compare import le, where
from .create import arange, full
from .movement import transpose
from .op import op
from .sdpa import sdpa
from .shape import view
from .slicing import slice_


@op("f[b t h e], f[b s h e] ->", mutates=("cache",), order=("value", "cache", "pos"))
def update_cache(value, cache, *, pos: int = 0):
    """Write value's rows into cache from row pos on, in place; a plan's moving pos drops rows past
    the end. Source: llama update_cache."""
    cache[:, pos : pos + value.shape[1]] = value[:, : max(0, cache.shape[1] - pos)]


@update_cache.kernel("attention/update_cache")
def _(d: Dims) -> Launch:
    n = d.b * d.t * d.h * d.e
    return Launch(grid1(n, 64), (n, d.t, d.s, d.h * d.e, *dyn(d.pos, "i")))


update_cache.without_gradient("a cache serves inference only")
update_cache.require("t <= s", "value has more rows than cache")
update_cache.require("pos >= 0 and pos + t <= s", "value's rows must lie in cache")
update_cache.cases("1x2x3x4 1x9x3x4", "1x1x1x1 1x1x1x1", "0x2x3x4 0x9x3x4")
update_cache.cases("2x2x3x4 2x9x3x4", pos=7)
update_cache.refuses(
    "1x3x1x4 1x2x1x4", "update_cache: value has more rows than cache, got t=3, s=2"
)
update_cache.refuses("1x2x1x4 1x4x1x4", "update_cache: value's rows must lie in cache, "
                     "got pos=3, t=2, s=4", pos=3)  # fmt: skip


def sdpa_with_kv_cache(
    query: Any, key: Any, value: Any, key_cache: Any, value_cache: Any, start_pos: int | Sym,
    seq_len: int, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None,
) -> Any:  # fmt: skip
    """Write key and value into the caches from start_pos on, in place; attention over them.

    query f32 [b, t, h, e], key and value [b, t, g, e], h a multiple of g, caches [b, length, g, e].
    Row t sees cache rows up to start_pos + t if causal, else all written so far; an attn_mask f32
    [t, length] instead is added to the scores over the whole cache. scale defaults to
    1 / sqrt(e). Source: llama sdpa_with_kv_cache (upstream's kernel is causal only, e % 4 == 0).
    """
    t, e = query.shape[1], query.shape[-1]
    if dropout_p or (attn_mask is not None and is_causal) or seq_len != t:
        raise ShapeError(
            "sdpa_with_kv_cache: seq_len must be query's, dropout_p 0, and attn_mask and is_causal "
            f"not both given, got seq_len={seq_len} of {t}, dropout_p={dropout_p}, "
            f"attn_mask={attn_mask is not None}, is_causal={is_causal}"
        )
    by = float(e**-0.5 if scale is None else scale)
    update_cache(key, key_cache, start_pos)
    update_cache(value, value_cache, start_pos)
    if attn_mask is not None:
        wanted = (t, key_cache.shape[1])
        if attn_mask.shape != wanted:
            raise ShapeError(f"sdpa_with_kv_cache: attn_mask must be {list(wanted)}, got "
                             f"{list(attn_mask.shape)}")  # fmt: skip
        return _masked(query, key_cache, value_cache, attn_mask, by)
    if e % 4 and not isinstance(start_pos, Sym):
        return _any_head(query, key_cache, value_cache, start_pos, is_causal, by)
    return attention(query, key_cache, value_cache, by, start_pos, is_causal)[0]


def _masked(q: Any, k: Any, v: Any, mask: Any, scale: float) -> Any:
    """sdpa of [b, t, h, e], heads moved out and back."""
    q, k, v = (transpose(x, 1, 2) for x in (q, k, v))
    return transpose(sdpa(q, k, v, mask, scale), 1, 2)


def _any_head(q: Any, k: Any, v: Any, pos: int, causal: bool, scale: float) -> Any:
    """A head size that attention's vec4 do not take: the rows written so far, masked if causal."""
    t, seen = q.shape[1], pos + q.shape[1]
    k, v = (slice_(x, dim=1, start=0, end=seen) for x in (k, v))
    if not causal:
        return _masked(q, k, v, None, scale)
    last = view(arange(pos, seen, 1, "i32"), (t, 1))
    hidden = full((), float("-inf"))
    return _masked(
        q, k, v, where(le(arange(0, seen, 1, "i32"), last), full((), 0.0), hidden), scale
    )
