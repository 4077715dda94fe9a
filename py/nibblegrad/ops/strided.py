"""Copies described by strides, and dims as people give them: negative, one or several, or all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core.dtype import DType, Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, ceil_div, grid1, size
from ..core.schema import Dims
from .elementwise import pad8

WHOLE = 0xFFFFFFFF


class Axis(NamedTuple):
    """One output axis: its size, the stride of x under it, and where its coordinate lies in x."""

    size: int
    stride: int
    low: int = 0
    span: int = WHOLE
    step: int = 1

    @property
    def plain(self) -> bool:
        """Whether the coordinate is x's as it is."""
        return self[2:] == (0, WHOLE, 1)


def axis(who: str, dim: int, rank: int) -> int:
    """dim in 0 .. rank - 1; ShapeError outside -rank .. rank - 1. Rank 0 counts as one dim."""
    n = max(rank, 1)
    if not -n <= dim < n:
        raise ShapeError(f"{who}: dim must be in {-n} .. {n - 1}, got dim={dim}")
    return dim % n


def axes(who: str, dim: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """The dims meant, sorted: None and () are all of them; ShapeError for one given twice."""
    given = (dim,) if isinstance(dim, int) else tuple(dim or range(rank))
    found = tuple(sorted(axis(who, one, rank) for one in given))
    if len(set(found)) < len(found):
        raise ShapeError(f"{who}: a dim is given twice, got dim={list(given)}")
    return found if rank else ()


def merged(walk: Sequence[Axis]) -> list[Axis]:
    """The same walk over as few axes as possible."""
    out: list[Axis] = []
    for one in walk:
        if one.plain and one.size == 1:
            continue
        last = out[-1] if out else None
        if last and last.plain and one.plain and last.stride == one.stride * one.size:
            out[-1] = Axis(last.size * one.size, one.stride)
        else:
            out.append(one)
    return out


def per_word(kind: DType) -> int:
    """Elements in four bytes."""
    return 4 // kind.block_bytes


def words(d: Dims) -> tuple[tuple[int, int, int], dict[str, int | float]]:
    """The grid and the constant of a kernel that writes the first output a word at a time."""
    per = per_word(d.out[0].dtype)
    return grid1(ceil_div(size(d.out[0].shape), per), 64), {"PER": per}


def copy(
    d: Dims, walk: Sequence[Axis], offset: int = 0, fill: int = 0, wraps: bool = False
) -> Launch:
    """out[c] = x[offset + sum of c * stride]; outside an axis's span `fill`, or round again."""
    small = merged(walk)
    head = (size(d.out[0].shape), offset, fill, int(wraps), len(small), 0, 0, 0)
    columns = zip((1, 0, 0, WHOLE, 1), range(5), strict=True)
    lists = [pad8(tuple(a[i] for a in small), blank) for blank, i in columns]
    grid, per = words(d)
    return Launch(grid, (*head, *(w for one in lists for w in one)), per, link=("move/strided",))


def after(shape: Shape, dim: int) -> int:
    """Elements of one step along dim."""
    return size(shape[dim + 1 :])


def every_kind(sizes: str) -> list[str]:
    """A case in every dtype, and with floats whose bits must survive."""
    return [kind + sizes for kind in ("", "s:", "i:", "u:", "u8:", "i8:", "b:")]
