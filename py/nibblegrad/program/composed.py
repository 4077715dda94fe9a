"""Kernels of ExecuTorch's that the catalogue composes of a few operators; as special.py's."""

from __future__ import annotations

from math import prod
from typing import Any

from .. import ops
from ..core.dtype import DTYPES
from ..core.schema import Info
from ..tensor import Tensor
from .arguments import cast, filled, promote

BOOL, WHOLE, REAL = (DTYPES[name] for name in ("bool", "i32", "f32"))


def _truths(x: Tensor) -> Tensor:
    return cast(cast(x, BOOL), WHOLE)


def any(out: Info, x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    return ops.amax(_truths(x), dim, keepdim)


def all(out: Info, x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    return ops.amin(_truths(x), dim, keepdim)


def masked_fill(out: Info, x: Tensor, mask: Tensor, value: Any) -> Any:
    value = cast(value, x.dtype) if isinstance(value, Tensor) else filled(value, x.dtype)
    return ops.where(mask, value, x)


def clamp_tensor(out: Info, x: Tensor, low: Tensor | None, high: Tensor | None) -> Any:
    if low is not None:
        x = ops.maximum(*promote([x, low]))
    return x if high is None else ops.minimum(*promote([x, high]))


def stack(out: Info, tensors: list[Tensor], dim: int) -> Any:
    return ops.cat([ops.unsqueeze(cast(t, out.dtype), dim=dim) for t in tensors], dim)


def var(out: Info, x: Tensor, dim: Any, correction: float | None, keepdim: bool) -> Any:
    """Of rows with their mean taken away; torch's correction is 1 where none is given."""
    apart = ops.sub(x, ops.mean(x, dim, True))
    total = ops.sum(ops.mul(apart, apart), dim, keepdim)
    rows = prod(x.shape) // max(prod(total.shape), 1)
    less = rows - (1 if correction is None else correction)
    return ops.div(total, filled(float(max(less, 0)), REAL))


def weight_int8pack_mm(out: Info, x: Tensor, weight: Tensor, scales: Tensor) -> Any:
    """x @ weight.T, whole numbers in 8 bits, each column times its scale."""
    return ops.mul(ops.linear(x, ops.dequantize_per_tensor(weight, 1.0, 0), None), scales)


def dequantize_per_channel(
    out: Info, x: Tensor, scales: Tensor, zero_points: Tensor | None, axis: int
) -> Any:
    """(x - zero point) * scale, each along an axis of its own."""
    wide = tuple(-1 if i == axis % len(x.shape) else 1 for i in range(len(x.shape)))
    found = ops.dequantize_per_tensor(x, 1.0, 0)
    if zero_points is not None:
        found = ops.sub(found, ops.view(cast(zero_points, REAL), wide))
    return ops.mul(found, ops.view(scales, wide))
