"""Other shapes for the same elements. Views move no bytes; their kernel serves who needs a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, size
from ..core.schema import Dims
from .movement import plain
from .op import op
from .strided import axes, axis, copy


def _viewed(d: Dims) -> Shape:
    known = size(tuple(n for n in d.shape if n != -1))
    shape = tuple(d.shape)
    if shape.count(-1) == 1 and known and size(d.b) % known == 0:
        shape = tuple(size(d.b) // known if n == -1 else n for n in shape)
    if min(shape, default=0) < 0 or size(shape) != size(d.b):
        raise ShapeError(
            f"view: {list(d.b)} has {size(d.b)} elements, not those of {list(d.shape)}"
        )
    return shape


@op("y[*b] -> y[*s]", shape=_viewed, views=True)
def view(x, *, shape: tuple):
    """The same elements under another shape; one size may be -1. Source: aten::view_copy."""
    return x.reshape(shape)


def _squeezed(d: Dims) -> Shape:
    gone = () if d.dim == () else axes("squeeze", d.dim, len(d.b))  # of no dims none
    return tuple(n for i, n in enumerate(d.b) if n != 1 or i not in gone)


@op("y[*b] -> y[*s]", shape=_squeezed, views=True)
def squeeze(x, *, dim: int | tuple | None = None):
    """x without those of its dims (None: of all) that are 1 long.

    Source: aten::squeeze_copy.dims.
    """
    given = (dim,) if isinstance(dim, int) else range(x.ndim) if dim is None else dim
    return x.squeeze(tuple({i % x.ndim for i in given if x.ndim and x.shape[i] == 1}))


def _unsqueezed(d: Dims) -> Shape:
    at = axis("unsqueeze", d.dim, len(d.b) + 1)
    return (*d.b[:at], 1, *d.b[at:])


@op("y[*b] -> y[*s]", shape=_unsqueezed, views=True)
def unsqueeze(x, *, dim: int):
    """x with a dim of 1 at `dim`. Source: aten::unsqueeze_copy."""
    return x.reshape((*x.shape[: dim % (x.ndim + 1)], 1, *x.shape[dim % (x.ndim + 1) :]))


for made in (view, squeeze, unsqueeze):
    made.kernel("move/copy")(lambda d: copy(d, plain(d.x.shape)))
    made.vjp(lambda g, out, x, **how: (lambda: g.reshape(x.shape),))
    made.saves(x="")


def _shuffled(d: Dims) -> Shape:
    r = d.upscale_factor
    if r < 1 or d.c % (r * r):
        raise ShapeError(f"pixel_shuffle: c must be a multiple of {r} squared, got c={d.c}")
    return (*d.b, d.c // (r * r), d.h * r, d.w * r)


@op("y[*b c h w] -> y[*s]", shape=_shuffled)
def pixel_shuffle(x, *, upscale_factor: int):
    """[*, c r^2, h, w] -> [*, c, h r, w r]: channels become pixels. Source: aten::pixel_shuffle."""
    r, (*b, c, h, w) = upscale_factor, x.shape
    grid = x.reshape(size(tuple(b)), c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return grid.reshape(*b, c // (r * r), h * r, w * r)


@op("y[*b c h w] -> y[*s]", shape=lambda d: _unshuffled(d))
def pixel_unshuffle(x, *, downscale_factor: int):
    """[*, c, h r, w r] -> [*, c r^2, h, w]: the inverse of pixel_shuffle.

    Source: aten::pixel_unshuffle.
    """
    r, (*b, c, h, w) = downscale_factor, x.shape
    grid = x.reshape(size(tuple(b)), c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return grid.reshape(*b, c * r * r, h // r, w // r)


def _unshuffled(d: Dims) -> Shape:
    r = d.downscale_factor
    if r < 1 or d.h % r or d.w % r:
        raise ShapeError(f"pixel_unshuffle: h and w must be multiples of {r}, got h={d.h}, w={d.w}")
    return (*d.b, d.c * r * r, d.h // r, d.w // r)


def _grid(d: Dims, grid: Sequence[int], order: Sequence[int]) -> Launch:
    whole = plain(tuple(grid))
    return copy(d, [whole[i] for i in order])


@pixel_shuffle.kernel("move/copy")
def _(d: Dims) -> Launch:
    r = d.upscale_factor
    return _grid(d, (size(d.b), d.c // (r * r), r, r, d.h, d.w), (0, 1, 4, 2, 5, 3))


@pixel_unshuffle.kernel("move/copy")
def _(d: Dims) -> Launch:
    r = d.downscale_factor
    return _grid(d, (size(d.b), d.c, d.h // r, r, d.w // r, r), (0, 1, 3, 5, 2, 4))


@pixel_shuffle.vjp
def _(g: Any, out: Any, x: Any, *, upscale_factor: int):
    return (lambda: pixel_unshuffle(g, downscale_factor=upscale_factor),)


@pixel_unshuffle.vjp
def _(g: Any, out: Any, x: Any, *, downscale_factor: int):
    return (lambda: pixel_shuffle(g, upscale_factor=downscale_factor),)


for made in (pixel_shuffle, pixel_unshuffle):
    made.saves(x="")
view.cases("2x3x4", "4x6", "u8:24", shape=(6, 4))
view.cases("1x3", shape=(-1,))
view.cases("1", "1x1", shape=())
view.cases("0x3", shape=(3, 0, 5))
view.cases("i8:5x3", "i:3x5", shape=(1, 5, -1))
view.refuses("2x3", "view: [2, 3] has 6 elements, not those of [4, -1]", shape=(4, -1))
squeeze.cases("1x3x1", "i:1x5", "u8:3x1x5", "[]", "1x0")
squeeze.cases("1x3x1x4", dim=(0, 2))
squeeze.cases("2x1x5", dim=-2)
squeeze.cases("1x3", dim=())
squeeze.refuses("1x3", "squeeze: dim must be in -2 .. 1, got dim=2", dim=2)
unsqueeze.cases("3x5", "i:3", "u8:3x3", "[]", "1x0", dim=-1)
unsqueeze.cases("2x3x5", dim=1)
unsqueeze.refuses("3x5", "unsqueeze: dim must be in -3 .. 2, got dim=3", dim=3)
unsqueeze.refuses(
    "1x1x1x1x1x1x1x1",
    "unsqueeze: [1, 1, 1, 1, 1, 1, 1, 1, 1] would have more than 8 dims",
    dim=0,
)
pixel_shuffle.cases(
    "1x8x2x3", "2x4x3x3", "u8:4x3x1", "i:0x4x2x2", "2x3x4x5x1", "2x4x0x3", upscale_factor=2
)
pixel_shuffle.cases("1x9x2x2", "i:9x1x3", upscale_factor=3)
pixel_unshuffle.cases("1x2x4x6", "u8:1x2x6", "i:0x1x2x2", "5x2x2", "2x0x2x4", downscale_factor=2)
pixel_shuffle.refuses("6x3x3", "pixel_shuffle: c must be a multiple of 2 squared, got c=6",
                      upscale_factor=2)  # fmt: skip
pixel_unshuffle.refuses("2x3x4", "pixel_unshuffle: h and w must be multiples of 2, got h=3, w=4",
                        downscale_factor=2)  # fmt: skip
