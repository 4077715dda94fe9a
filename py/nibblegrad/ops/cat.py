"""Tensors joined along a dim, and taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, size
from ..core.lazy import np
from ..core.schema import Dims, Info
from .op import op
from .slicing import slice_
from .strided import after, axis, words

WIDTH = 7  # inputs a dispatch: with the output, the eight storage buffers WebGPU promises


def given(d: Dims) -> list[Info]:
    """The tensors that are there."""
    return [info for info in d.args.values() if info is not None]


def _joined(d: Dims) -> Shape:
    first, *rest = (info.shape for info in given(d))
    dim = axis("cat", d.dim, len(first))
    if not first:
        raise ShapeError("cat: a tensor of rank 0 cannot be joined; unsqueeze it first")
    for other in rest:
        fits = len(other) == len(first)
        if not fits or other[:dim] + other[dim + 1 :] != first[:dim] + first[dim + 1 :]:
            raise ShapeError(
                f"cat: only dim {dim} may differ, got {list(other)} after {list(first)}"
            )
    total = first[dim] + sum(other[dim] for other in rest)
    return (*first[:dim], total, *first[dim + 1 :])


@op("y[*a], y[*b]?, y[*c]?, y[*d]?, y[*e]?, y[*f]?, y[*g]? -> y[*s]", name="cat", shape=_joined)
def cat_seven(a, b=None, c=None, d=None, e=None, f=None, g=None, *, dim: int = 0):
    """One to seven tensors after each other along dim. Source: aten::cat."""
    return np.concatenate([x for x in (a, b, c, d, e, f, g) if x is not None], dim)


@cat_seven.kernel("move/cat")
def _(d: Dims) -> Launch:
    out = d.out[0].shape
    dim = axis("cat", d.dim, len(out))
    ends, end = [], 0
    for info in d.args.values():
        end += info.shape[dim] if info is not None else 0
        ends.append(end)
    grid, per = words(d)
    return Launch(grid, (size(out), after(out, dim), 0, 0, *ends, 0), per)


@cat_seven.vjp
def _(grad: Any, out: Any, *inputs: Any, dim: int):
    dim = dim % len(out.shape)
    start, found = 0, []
    for x in inputs:
        n = x.shape[dim] if x is not None else 0
        found.append(_part(grad, dim, start, start + n))
        start += n
    return found


def _part(grad: Any, dim: int, start: int, end: int) -> Any:
    return lambda: slice_(grad, dim=dim, start=start, end=end)


cat_seven.saves(**dict.fromkeys("abcdefg", ""))


def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Any number of tensors after each other along dim; torch-like, shape [0] is skipped."""
    parts = [x for x in tensors if x.shape != (0,)] or list(tensors[:1])
    if not parts:
        raise ShapeError("cat: there must be at least one tensor, got none")
    while len(parts) > WIDTH:
        parts = [
            cat_seven(*parts[i : i + WIDTH], dim=dim) if i + 1 < len(parts) else parts[i]
            for i in range(0, len(parts), WIDTH)
        ]
    return cat_seven(*parts, dim=dim)


def split_with_sizes(x: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """x cut along dim into pieces of these sizes. Source: aten::split_with_sizes_copy."""
    at = axis("split_with_sizes", dim, len(x.shape))
    have = x.shape[at] if x.shape else 0
    if any(n < 0 for n in split_sizes) or sum(split_sizes) != have:
        raise ShapeError(
            f"split_with_sizes: the sizes must add up to {have}, got {list(split_sizes)}"
        )
    starts = [sum(split_sizes[:i]) for i in range(len(split_sizes))]
    return tuple(
        slice_(x, dim=at, start=start, end=start + n)
        for start, n in zip(starts, split_sizes, strict=True)
    )


def split(x: Any, split_size: int | Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """x cut along dim into pieces of split_size, the last maybe shorter. Source: aten::split."""
    if not isinstance(split_size, int):
        return split_with_sizes(x, split_size, dim)
    n = x.shape[axis("split", dim, len(x.shape))] if x.shape else 0
    if split_size < 1:
        raise ShapeError(f"split: split_size must be 1 or more, got split_size={split_size}")
    sizes = [min(split_size, n - i) for i in range(0, n, split_size)] or [0]
    return split_with_sizes(x, sizes, dim)


cat_seven.cases("2x3 2x3 2x3 - - - -", "i:1x3 i:5x3 - - - - -", "0x3 4x3 - - - - -")
cat_seven.cases("u8:1x3 u8:2x3 u8:1x3 u8:1x3 u8:3x3 u8:1x3 u8:1x3", "5 - - - - - -")
cat_seven.cases("2x1x4 2x3x4 2x2x4 - - - -", "i8:3x1x3 i8:3x2x3 - - - - -", dim=1)
cat_seven.cases("2x3x4 2x3x1 2x3x7 2x3x2 - - -", "u8:2x0 u8:2x1 u8:2x3 - - - -", dim=-1)
cat_seven.refuses("2x3 2x4 - - - - -", "cat: only dim 0 may differ, got [2, 4] after [2, 3]")
cat_seven.refuses("2x3 i:2x3 - - - - -", "cat: b must be f32, got i32")
cat_seven.refuses("2x3 - - - - - -", "cat: dim must be in -2 .. 1, got dim=2", dim=2)
