"""Sorting along a dim, the largest few, running sums."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .gather import gather_grad
from .movement import flip
from .op import op
from .slicing import slice_
from .strided import after, axis


def _line(d: Dims, who: str) -> tuple[int, int, int]:
    """Elements in all, those of a line, and how far apart these lie."""
    dim = axis(who, d.dim, len(d.b))
    return size(d.b), d.b[dim] if d.b else 1, after(d.b, dim) if d.b else 1


def _same(who: str, outputs: int) -> Any:
    def shape(d: Dims) -> list[Shape]:
        _line(d, who)
        return [d.b] * outputs

    return shape


@op("n[*b] -> n[*b], i[*b]", shape=_same("sort", 2), tol=0)
def sort(x, *, dim: int = -1, descending: bool = False):
    """x in order along dim, and where each element was; equal ones stay in order, NaN is largest.

    Source: aten::sort, stable.
    """
    if not x.ndim:
        return x, np.zeros((), np.int32)
    order = np.argsort(x, dim, kind="stable")  # NaN last
    if descending:  # stable from the other end: the order of the reversed line, reversed
        n = x.shape[dim]
        order = n - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
    return np.take_along_axis(x, order, dim), order.astype(np.int32)


@sort.kernel("move/sort")
def _(d: Dims) -> Launch:
    total, terms, apart = _line(d, "sort")
    link = (f"lib/order_{d.x.dtype.name}",)
    return Launch(grid1(total, 64), (total, terms, apart, int(d.descending)), link=link)


@sort.vjp
def _(g: Any, out: Any, x: Any, *, dim: int, descending: bool):
    return (lambda: gather_grad(g[0], out[1], dim=dim, shape=x.shape),)


def topk(
    x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Any, Any]:
    """The k largest (or smallest) along dim in order, and where they are. Source: aten::topk."""
    n = x.shape[axis("topk", dim, len(x.shape))] if x.shape else 1
    if not 0 <= k <= n:
        raise ShapeError(f"topk: k must be in 0 .. {n}, got k={k}")
    both = sort(x, dim=dim, descending=largest)
    if not x.shape:
        return both
    return tuple(slice_(y, dim=dim, start=0, end=k) for y in both)  # type: ignore[return-value]


@op("n[*b] -> n[*b]", shape=_same("cumsum", 1), tol=2e-5)
def cumsum(x, *, dim: int):
    """Sums of each element and those before it along dim; i32 wraps. Source: aten::cumsum."""
    return np.cumsum(x, dim, dtype=x.dtype) if x.ndim else x


@cumsum.kernel("reduce/cumsum")
def _(d: Dims) -> Launch:
    total, terms, apart = _line(d, "cumsum")
    lines = total // max(terms, 1)
    return Launch(grid1(lines, 64), (lines, terms, apart), const={"elem": d.x.dtype.name})


@cumsum.vjp
def _(g: Any, out: Any, x: Any, *, dim: int):
    if not x.shape:
        return (g,)
    return (lambda: flip(cumsum(flip(g, dims=(dim,)), dim=dim), dims=(dim,)),)


sort.saves(x="out")
cumsum.saves(x="")
sort.cases("4x8x16", "3x5", "2x257", "i:3x70", "1x1", "0x4", "3x0", "s:7x24", dim=-1)
sort.cases("4x8x5", "257x3", "i:65x3", "s:24x2", dim=-2, descending=True)
sort.cases("[]", "i:5", dim=0)
sort.refuses("2x3", "sort: dim must be in -2 .. 1, got dim=2", dim=2)
cumsum.cases("4x8x16", "3x5", "2x257", "i:3x70", "1x1", "0x4", "3x0", dim=-1)
cumsum.cases("4x8x5", "257x3", "2x1x3", dim=-2)
cumsum.cases("[]", "i:5", dim=0)
cumsum.refuses("2x3", "cumsum: dim must be in -2 .. 1, got dim=2", dim=2)
