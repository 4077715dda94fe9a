"""The KV cache: written in place, and attention over it."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, Sym, dyn, grid1
from ..core.schema import Dims
from .attention import attention
from .op import op


@op("f[b t h e], f[b s h e] ->", mutates=("cache",), order=("value", "cache", "pos"))
def update_cache(value, cache, *, pos: int = 0):
    """Write value's rows into cache from row pos on, in place. Source: llama update_cache."""
    cache[:, pos : pos + value.shape[1]] = value


@update_cache.kernel("attention/update_cache")
def _(d: Dims) -> Launch:
    n = d.b * d.t * d.h * d.e
    return Launch(grid1(n, 64), (n, d.t, d.s, d.h * d.e, *dyn(d.pos, "i")))


update_cache.without_gradient("a cache serves inference only")
update_cache.require("t <= s", "value has more rows than cache")
update_cache.cases("1x2x3x4 1x9x3x4", "1x1x1x1 1x1x1x1", "0x2x3x4 0x9x3x4")
update_cache.cases("2x2x3x4 2x9x3x4", pos=7)
update_cache.refuses(
    "1x3x1x4 1x2x1x4", "update_cache: value has more rows than cache, got t=3, s=2"
)


def sdpa_with_kv_cache(
    query: Any, key: Any, value: Any, key_cache: Any, value_cache: Any,
    start_pos: int | Sym, seq_len: int, scale: float | None = None,
) -> Any:  # fmt: skip
    """Write key and value into the caches from start_pos on, in place; causal attention over them.

    query f32 [1, s, hq, e], key and value [1, s, hkv, e], caches [1, length, hkv, e]; scale
    defaults to 1 / sqrt(e). seq_len is query's, as upstream takes it. Source: llama
    sdpa_with_kv_cache.
    """
    update_cache(key, key_cache, start_pos)
    update_cache(value, value_cache, start_pos)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return attention(query, key_cache, value_cache, scale, start_pos)[0]
