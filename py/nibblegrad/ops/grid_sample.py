"""Images read where a grid points, the gradients of that, and the grid of a detector's anchors."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .op import Op, op

BILINEAR, NEAREST = 0, 1  # torch's numbers
ZEROS, BORDER, REFLECTION = 0, 1, 2


def _checked(who: str, input: Shape, grid: Shape, d: Dims) -> Shape:
    """The samples' shape, or ShapeError."""
    if len(input) != 4 or min(input[2:]) < 1 or min(input) < 0:
        raise ShapeError(f"{who}: input must be [n, c, h, w], h and w from 1, got {list(input)}")
    if len(grid) != 4 or grid[3] != 2 or grid[0] != input[0]:
        raise ShapeError(f"{who}: grid must be [{input[0]}, h, w, 2], got {list(grid)}")
    if d.interpolation_mode not in (BILINEAR, NEAREST):
        known = "0 (bilinear) or 1 (nearest); 2 (bicubic) is not there"
        raise ShapeError(f"{who}: interpolation_mode must be {known}, got {d.interpolation_mode}")
    if d.padding_mode not in (ZEROS, BORDER, REFLECTION):
        known = "0 (zeros), 1 (border) or 2 (reflection)"
        raise ShapeError(f"{who}: padding_mode must be {known}, got {d.padding_mode}")
    return (*input[:2], *grid[1:3])


def _held(at: Any, slope: Any, last: int) -> tuple[Any, Any]:
    """Positions held within 0 .. last, NaN at 0; no slope at an end."""
    inside = (at > 0) & (at < last)
    return np.where(at > 0, np.minimum(at, at.dtype.type(last)), 0), np.where(inside, slope, 0)


def _mirrored(at: Any, slope: Any, n: int, aligned: bool) -> tuple[Any, Any]:
    """Positions mirrored at the plane's edges, at its outer middles if aligned."""
    low, span = at.dtype.type(0 if aligned else -0.5), at.dtype.type(n - 1 if aligned else n)
    if span == 0:
        return np.zeros_like(at), np.zeros_like(at)
    away = np.abs(at - low)
    flips = np.floor(away / span)
    rest, sign = away - flips * span, np.where(at < low, -slope, slope)
    odd = flips % 2 == 1
    return np.where(odd, span - rest, rest) + low, np.where(odd, -sign, sign)


def _source(c: Any, n: int, padding: int, aligned: bool) -> tuple[Any, Any]:
    """Positions along an axis of n, and how fast they move with the grid's coordinate."""
    at = (c + 1) / 2 * (n - 1) if aligned else ((c + 1) * n - 1) / 2
    slope = np.full_like(c, (n - 1) / 2 if aligned else n / 2)
    if padding == REFLECTION:
        at, slope = _mirrored(at, slope, n, aligned)
    return (at, slope) if padding == ZEROS else _held(at, slope, n - 1)


def _corners(y: Any, x: Any, mode: int) -> list[tuple[Any, Any, Any, Any, Any]]:
    """Row, column, weight, and the weight's slopes along x and y, of the places blended."""
    if mode == NEAREST:
        zero = np.zeros_like(x)
        return [(np.rint(y), np.rint(x), np.ones_like(x), zero, zero)]
    y0, x0 = np.floor(y), np.floor(x)
    fy, fx = y - y0, x - x0
    ends_y = ((y0, 1 - fy, -1), (y0 + 1, fy, 1))
    ends_x = ((x0, 1 - fx, -1), (x0 + 1, fx, 1))
    return [(r, c, wy * wx, dx * wy, dy * wx) for r, wy, dy in ends_y for c, wx, dx in ends_x]


def _places(shape: Shape, r: Any, c: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """Which lie inside, and the index of each image's: [n, h, w], first the image."""
    inside = (r >= 0) & (r < shape[2]) & (c >= 0) & (c < shape[3])
    r, c = (np.where(inside, v, 0).astype(int) for v in (r, c))
    image = np.arange(shape[0])[:, None, None]
    return inside[:, None], inside, (image, slice(None), r, c)


def _walk(shape: Shape, grid: Any, how: tuple[int, int, bool]) -> tuple[Any, Any, Any]:
    """The corners of every point; the slopes of x and y."""
    mode, padding, aligned = how
    x, slope_x = _source(grid[..., 0], shape[3], padding, aligned)
    y, slope_y = _source(grid[..., 1], shape[2], padding, aligned)
    return _corners(y, x, mode), slope_x, slope_y


def _texels(input: Any, r: Any, c: Any) -> Any:
    """[n, c, h, w] of input there, zero outside."""
    inside, _, at = _places(input.shape, r, c)
    return np.where(inside, np.moveaxis(input[at], -1, 1), 0)


@op("f[*b], f[*g] -> f[*s]", tol=5e-5, shape=lambda d: _checked("grid_sampler_2d", d.b, d.g, d))
def grid_sampler_2d(
    input, grid, *, interpolation_mode: int = 0, padding_mode: int = 0, align_corners: bool = False
):
    """input [n, c, h, w] at grid [n, oh, ow, 2], whose (x, y) run from -1 to 1: between the outer
    middles if aligned, else between the edges. Modes as torch numbers them: 0 bilinear, 1 nearest;
    0 zeros, 1 border, 2 reflection. Source: aten::grid_sampler_2d."""
    how = (interpolation_mode, padding_mode, align_corners)
    corners, _, _ = _walk(input.shape, grid, how)
    out = sum(_texels(input, r, c) * w[:, None] for r, c, w, _, _ in corners)
    return np.asarray(out, input.dtype)


def _words(d: Dims, planes: Shape, out: Shape) -> tuple[int, ...]:
    modes = (d.interpolation_mode, d.padding_mode, int(d.align_corners))
    return (size(d.out[0].shape), *modes, planes[1], 0, *planes[2:], *out, 0, 0)


@grid_sampler_2d.kernel("resize/grid_sample")
def _(d: Dims) -> Launch:
    words = _words(d, d.b, d.g[1:3])
    return Launch(grid1(words[0], 64), words)


@grid_sampler_2d.vjp
def _(g: Any, out: Any, input: Any, grid: Any, **how: Any):
    return (
        lambda: grid_sampler_2d_grad_input(g, grid, shape=input.shape, **how),
        lambda: grid_sampler_2d_grad_grid(g, input, grid, **how),
    )


grid_sampler_2d.saves(input="grid", grid="input grid")


def _fits(who: str, g: Shape, wanted: Shape, shape: Shape) -> Shape:
    if g != wanted:
        raise ShapeError(f"{who}: g must be {list(wanted)}, got {list(g)}")
    return shape


def _input_shape(d: Dims) -> Shape:
    who, shape = "grid_sampler_2d_grad_input", tuple(d.shape)
    return _fits(who, d.b, _checked(who, shape, d.g, d), shape)


@op("f[*b], f[*g] -> f[*s]", tol=5e-5, shape=_input_shape)
def grid_sampler_2d_grad_input(
    g, grid, *, shape: tuple, interpolation_mode: int = 0, padding_mode: int = 0,
    align_corners: bool = False,
):  # fmt: skip
    """The gradient of grid_sampler_2d to its input, of that shape."""
    corners, _, _ = _walk(tuple(shape), grid, (interpolation_mode, padding_mode, align_corners))
    out = np.zeros(shape, g.dtype)
    for r, c, w, _, _ in corners:
        inside, _, at = _places(tuple(shape), r, c)
        part = np.where(inside & np.isfinite(w)[:, None], g * w[:, None], 0)
        np.add.at(out, at, np.moveaxis(part, 1, -1))
    return out


@grid_sampler_2d_grad_input.kernel("resize/grid_sample_grad_input")
def _(d: Dims) -> Launch:
    words = _words(d, tuple(d.shape), d.g[1:3])
    return Launch(grid1(words[0], 64), words)


def _grid_shape(d: Dims) -> Shape:
    who = "grid_sampler_2d_grad_grid"
    return _fits(who, d.o, _checked(who, d.b, d.g, d), d.g)


@op("f[*o], f[*b], f[*g] -> f[*g]", tol=5e-5, shape=_grid_shape)
def grid_sampler_2d_grad_grid(
    g, input, grid, *, interpolation_mode: int = 0, padding_mode: int = 0,
    align_corners: bool = False,
):  # fmt: skip
    """The gradient of grid_sampler_2d to its grid."""
    how = (interpolation_mode, padding_mode, align_corners)
    corners, slope_x, slope_y = _walk(input.shape, grid, how)
    out = np.zeros_like(grid)
    for r, c, _, dx, dy in corners:
        seen = (_texels(input, r, c) * g).sum(1)
        out += np.stack((seen * dx * slope_x, seen * dy * slope_y), -1)
    return out


@grid_sampler_2d_grad_grid.kernel("resize/grid_sample_grad_grid")
def _(d: Dims) -> Launch:
    words = (size(d.out[0].shape) // 2, *_words(d, d.b, d.args["grid"].shape[1:3])[1:])
    return Launch(grid1(words[0], 64), words)


def _prior_shape(d: Dims) -> Shape:
    if len(d.b) < 2:
        raise ShapeError(f"grid_priors: x must have h and w, got {list(d.b)}")
    return (d.b[-2] * d.b[-1], 2)


@op("y[*b] -> f[*s]", shape=_prior_shape)
def grid_priors(x, *, stride: int, offset: float):
    """(column + offset, row + offset) * stride of each place of x's last two dims, in row order.

    Source: et_vk.grid_priors.
    """
    rows, columns = np.divmod(np.arange(x.shape[-2] * x.shape[-1]), max(x.shape[-1], 1))
    return (np.stack((columns, rows), 1).astype(np.float32) + np.float32(offset)) * np.float32(
        stride
    )


@grid_priors.kernel("resize/grid_priors")
def _(d: Dims) -> Launch:
    n = d.out[0].shape[0]
    return Launch(grid1(n, 64), (n, d.args["x"].shape[-1], float(d.stride), float(d.offset)))


def _modes(made: Op, *shapes: str, **more: Any) -> None:
    for mode in (BILINEAR, NEAREST):
        for padding in (ZEROS, BORDER, REFLECTION):
            made.cases(*shapes, interpolation_mode=mode, padding_mode=padding,
                       align_corners=bool((mode + padding) % 2), **more)  # fmt: skip


grid_priors.without_gradient("x's values are not read")
for made in (grid_sampler_2d_grad_input, grid_sampler_2d_grad_grid):
    made.without_gradient("torch has no second derivative of grid_sampler_2d either")
_modes(grid_sampler_2d, "2x3x4x5 2x3x2x2", "1x1x1x1 1x3x3x2")
grid_sampler_2d.cases("1x2x4x4 1x3x3x2", "0x2x4x4 0x3x3x2", "s:1x1x3x5 1x4x4x2", "2x3x4x4 2x2x6x2",
                      "1x2x3x5 s:1x4x6x2", padding_mode=1, align_corners=True)  # fmt: skip
grid_sampler_2d.cases("1x2x3x5 1x4x6x2", interpolation_mode=1, align_corners=True)
_modes(grid_sampler_2d_grad_input, "2x3x3x2 2x3x2x2", shape=(2, 3, 4, 5))
_modes(grid_sampler_2d_grad_grid, "2x3x3x2 2x3x4x5 2x3x2x2", "1x1x1x1 1x1x1x3 1x1x1x2")
grid_sampler_2d_grad_input.cases("0x1x2x3 0x2x3x2", shape=(0, 1, 3, 3))
grid_sampler_2d_grad_grid.cases("0x1x2x3 0x1x3x3 0x2x3x2")
grid_priors.cases("1x3x8x10", "3x5", "i:1x1", "2x0x3", stride=8, offset=0.5)
grid_priors.cases("1x3x5x7", stride=4, offset=0)
grid_priors.refuses("5", "grid_priors: x must have h and w, got [5]", stride=4, offset=0)
grid_sampler_2d.refuses("2x3x0x4 2x3x3x2", "grid_sampler_2d: input must be [n, c, h, w], h and w "
                        "from 1, got [2, 3, 0, 4]")  # fmt: skip
grid_sampler_2d.refuses("2x3x4x4 1x3x3x2", "grid_sampler_2d: grid must be [2, h, w, 2], got "
                        "[1, 3, 3, 2]")  # fmt: skip
grid_sampler_2d.refuses("2x3x4x4 2x3x3x2", "grid_sampler_2d: interpolation_mode must be 0 "
                        "(bilinear) or 1 (nearest); 2 (bicubic) is not there, got 2",
                        interpolation_mode=2)  # fmt: skip
grid_sampler_2d.refuses("2x3x4x4 2x3x3x2", "grid_sampler_2d: padding_mode must be 0 (zeros), "
                        "1 (border) or 2 (reflection), got 3", padding_mode=3)  # fmt: skip
grid_sampler_2d_grad_input.refuses(
    "1x2x3x3 1x2x3x2", "grid_sampler_2d_grad_input: g must be [1, 2, 2, 3], got [1, 2, 3, 3]",
    shape=(1, 2, 4, 4))  # fmt: skip
grid_sampler_2d_grad_grid.refuses("1x2x3x3 1x2x4x4 1x2x3x2", "grid_sampler_2d_grad_grid: g must be "
                                  "[1, 2, 2, 3], got [1, 2, 3, 3]")  # fmt: skip
