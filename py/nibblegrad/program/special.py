"""Operators of a program that are no single call of the catalogue. Each takes what is declared
of its first result, then its arguments; `needs` in bindings.py says what of the catalogue it uses.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from .. import ops
from ..core.errors import FormatError
from ..core.schema import Info
from ..tensor import Tensor
from .arguments import cast, within


def rsub(out: Info, a: Tensor, b: Tensor, alpha: float) -> Any:
    return ops.sub(b, a, alpha)


def pow_scalar(out: Info, x: Tensor, exponent: float) -> Any:
    return ops.pow_scalar(cast(x, out.dtype), exponent)


def sum(out: Info, x: Tensor, dim: Any, keepdim: bool) -> Any:
    return ops.sum(cast(x, out.dtype), dim, keepdim)


def mean(out: Info, x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    return ops.mean(cast(x, out.dtype), dim, keepdim)


def cumsum(out: Info, x: Tensor, dim: int) -> Any:
    return ops.cumsum(cast(x, out.dtype), dim)


def max_dim(out: Info, x: Tensor, dim: int, keepdim: bool) -> Any:
    return ops.amax(x, dim, keepdim), ops.argmax(x, dim, keepdim)


def min_dim(out: Info, x: Tensor, dim: int, keepdim: bool) -> Any:
    return ops.amin(x, dim, keepdim), ops.argmin(x, dim, keepdim)


def index(out: Info, x: Tensor, indices: list[Tensor | None]) -> Any:
    """One index tensor, of whole numbers, along whichever dim it stands for."""
    given = [i for i, one in enumerate(indices) if one is not None]
    if len(given) != 1 or indices[given[0]].dtype.kind != "i":  # type: ignore[union-attr]
        raise FormatError(f"one tensor of whole numbers may index, got {len(given)}")
    return ops.index(x, indices[given[0]], dim=given[0])


def cat(out: Info, tensors: list[Tensor], dim: int) -> Any:
    """Empty vectors join anything, as in torch."""
    some = [t for t in tensors if t.shape != (0,)] or tensors[:1]
    return ops.cat([cast(t, out.dtype) for t in some], dim)


def unbind(out: Info, x: Tensor, dim: int) -> Any:
    n = x.shape[dim % max(len(x.shape), 1)]
    return tuple(ops.select(x, dim=dim, index=i) for i in range(n))


def same(out: Info, x: Tensor) -> Any:
    """Clones, casts and changes of layout: what differs is the dtype that is declared."""
    return x


def copy(out: Info, x: Tensor, source: Tensor) -> Any:
    return ops.expand(cast(source, x.dtype), shape=x.shape)


def copy_in(out: Info, x: Tensor, source: Tensor) -> Any:
    return ops.assign(x, copy(out, x, source))


def copy_index(out: Info, to: Tensor, row: Tensor, index: int) -> Any:
    """Row `index` of `to` becomes `row`, and its last one."""
    whole = Tensor(replace(to._view, info=out))  # what is there of it may be fewer rows
    ops.assign(whole, row, start=index * prod(row.shape))
    return Tensor(replace(to._view, info=Info((index + 1, *row.shape), out.dtype)))


def full(out: Info, size: list[int], value: float) -> Any:
    return ops.full(tuple(size), value, out.dtype.name)


def full_like(out: Info, x: Tensor, value: float) -> Any:
    return ops.full(x.shape, value, out.dtype.name)


def zeros(out: Info, size: list[int]) -> Any:
    return full(out, size, 0)


def ones(out: Info, size: list[int]) -> Any:
    return full(out, size, 1)


def zeros_like(out: Info, x: Tensor) -> Any:
    return full_like(out, x, 0)


def ones_like(out: Info, x: Tensor) -> Any:
    return full_like(out, x, 1)


def scalar_tensor(out: Info, value: float) -> Any:
    return full(out, [], value)


def arange(out: Info, start: float, end: float, step: float) -> Any:
    return ops.arange(start, end, step, out.dtype.name)


def arange_to(out: Info, end: float) -> Any:
    return arange(out, 0, end, 1)


def update_cache(out: Info, value: Tensor, cache: Tensor, pos: Any) -> Any:
    return ops.update_cache(value, cache, within(pos, value.shape[1], cache.shape[1]))


def rotary_hf(out: Info, xq: Tensor, xk: Tensor, cos: Tensor, sin: Tensor, pos: Any) -> Any:
    pos = within(pos, xq.shape[1], cos.shape[0])
    return ops.apply_rotary_emb_hf(xq, xk, cos, sin, pos)


def sdpa_with_kv_cache(
    out: Info, q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, pos: Any,
    mask: Any, dropout: float | None, causal: bool | None, scale: float | None,
) -> Any:  # fmt: skip
    """A delegate that leaves `causal` out means causal."""
    n = q.shape[1]
    pos = within(pos, n, keys.shape[1])
    return ops.sdpa_with_kv_cache(q, k, v, keys, values, pos, n, mask, dropout or 0.0,
                                  causal is not False, scale)  # fmt: skip


def custom_sdpa(
    out: Info, q: Tensor, keys: Tensor, values: Tensor, pos: Any, mask: Any,
    dropout: float | None, causal: bool | None, scale: float | None,
) -> Any:  # fmt: skip
    """Attention over caches that update_cache has written."""
    if mask is not None or dropout:
        raise FormatError(f"only without mask and dropout, got mask {mask}, dropout {dropout}")
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    pos = within(pos, q.shape[1], keys.shape[1])
    return ops.attention(q, keys, values, scale, pos, causal is not False)[0]


def choose_qparams(
    out: Info, x: Tensor, mapping: str, block: list[int], low: int, high: int, eps: float | None,
    keepdim: bool,
) -> Any:  # fmt: skip
    return ops.choose_qparams_affine(
        x, mapping, block, quant_min=low, quant_max=high, eps=eps, keepdim=keepdim
    )


def adamw_step(out: Info, param: Tensor, m: Tensor, v: Tensor, grad: Tensor, *rates: float) -> Any:
    ops.adamw_step(param, m, v, grad, *rates)
    return param, m, v
