"""Planes resized, to the nearest or between two places an axis, and the gradients of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .op import Op, op

Scales = Sequence[float] | None
Sizes = Sequence[int] | None


def _target(who: str, x: Shape, output_size: Sizes, scale_factors: Scales) -> Shape:
    """What x's last two dims become, or ShapeError."""
    if len(x) != 4 or min(x[1:]) < 1 or x[0] < 0:
        raise ShapeError(f"{who}: x must be [n, c, h, w], only n may be 0, got {list(x)}")
    given = output_size if scale_factors is None else scale_factors
    if given is None or (output_size is not None and scale_factors is not None):
        raise ShapeError(f"{who}: give either output_size or scale_factors")
    if len(given) != 2:
        raise ShapeError(f"{who}: two numbers are needed, for h and w, got {list(given)}")
    scales = scale_factors or (1, 1)
    out = tuple(int(n * s) for n, s in zip(output_size or x[2:], scales, strict=True))
    if min(out) < 1:
        raise ShapeError(f"{who}: h and w must become at least 1, got {list(out)}")
    return out


def _steps(planes: Shape, out: Shape, scales: Scales, near: bool, aligned: bool) -> list[float]:
    """How far apart in x neighbours of out lie along each axis. The nearest of as many, or of twice
    as many, are at 1 and 0.5 whatever the scale given: torch's rule."""
    found = []
    for n, m, scale in zip(planes, out, scales or (0, 0), strict=True):
        if aligned:
            found.append((n - 1) / (m - 1) if m > 1 else 0.0)
        elif near and m in (n, 2 * n):
            found.append(n / m)
        else:
            found.append(1 / scale if scale > 0 else n / m)
    return found


def _near(n: int, out: int, step: Any) -> Any:
    """Where the outputs lie along an axis of n: first, second, weight of the second."""
    exact = np.arange(out, dtype=np.float32) * np.float32(step)  # as the kernel and torch round it
    at = np.minimum(np.floor(exact), n - 1).astype(int)
    return at, at, np.zeros(out, step.dtype)


def _between(n: int, out: int, step: Any, aligned: bool) -> Any:
    o = np.arange(out).astype(step.dtype)
    half = step.dtype.type(0.5)
    at = o * step if aligned else np.maximum((o + half) * step - half, 0)
    at = o if n == out else at
    first = np.minimum(at.astype(int), n - 1)
    second = first if n == out else np.minimum(first + 1, n - 1)
    return first, second, np.clip(at - first.astype(at.dtype), 0, 1)


def _spread(g: Any, taps: Any, n: int, near: bool) -> Any:
    """g's last axis added up where its taps lie along an axis of n."""
    first, second, weight = taps
    out = np.zeros((n, *g.shape[:-1]), g.dtype)
    g = np.moveaxis(g, -1, 0)
    weight = weight.reshape(-1, *(1,) * (g.ndim - 1))
    np.add.at(out, first, g if near else g * (1 - weight))
    if not near:
        np.add.at(out, second, g * weight)
    return np.moveaxis(out, 0, -1)


def _blend(x: Any, taps: Any, near: bool) -> Any:
    """x's last axis read at its taps."""
    first, second, weight = taps
    return x[..., first] if near else x[..., first] * (1 - weight) + x[..., second] * weight


def _launch(d: Dims, planes: Shape, out: Shape, unit: str) -> Launch:
    aligned = d.attrs.get("align_corners", False)
    steps = _steps(planes, out, d.scale_factors, unit == "resize/nearest", aligned)
    n = size(d.out[0].shape)
    return Launch(grid1(n, 64), (n, int(aligned), 0, 0, *planes, *out, *steps), link=(unit,))


def _resized(who: str) -> Any:
    def shape(d: Dims) -> Shape:
        return (*d.b[:2], *_target(who, d.b, d.output_size, d.scale_factors))

    return shape


def _unsized(who: str) -> Any:
    def shape(d: Dims) -> Shape:
        out = _target(who, tuple(d.shape), d.output_size, d.scale_factors)
        if d.b != (*d.shape[:2], *out):
            raise ShapeError(f"{who}: g must be {[*d.shape[:2], *out]}, got {list(d.b)}")
        return tuple(d.shape)

    return shape


def _run(x: Any, shape: Shape, near: bool, backward: bool, *how: Any) -> Any:
    """Along w, then along h; `shape` is what is resized, x that or its output's gradient."""
    output_size, scale_factors, aligned = how
    out = _target("resize", shape, output_size, scale_factors)
    steps = _steps(shape[2:], out, scale_factors, near, aligned)
    for n, m, step in reversed(list(zip(shape[2:], out, steps, strict=True))):
        step = x.dtype.type(step)  # rounded as torch does
        taps = _near(n, m, step) if near else _between(n, m, step, aligned)
        x = _spread(x, taps, n, near) if backward else _blend(x, taps, near)
        x = x.swapaxes(-1, -2)
    return x


@op("f[*b] -> f[*s]", shape=_resized("upsample_nearest2d"))
def upsample_nearest2d(x, *, output_size: Sizes = None, scale_factors: Scales = None):
    """x [n, c, h, w] to output_size, or by scale_factors; output o is x at floor(o * h / out).

    Source: aten::upsample_nearest2d.vec.
    """
    return _run(x, x.shape, True, False, output_size, scale_factors, False)


@op("f[*b] -> f[*s]", shape=_unsized("upsample_nearest2d_grad"), tol=2e-5)
def upsample_nearest2d_grad(
    g, *, shape: tuple, output_size: Sizes = None, scale_factors: Scales = None
):
    """The gradient of upsample_nearest2d to its x, of that shape.

    Source: aten::upsample_nearest2d_backward.
    """
    return _run(g, tuple(shape), True, True, output_size, scale_factors, False)


@op("f[*b] -> f[*s]", shape=_resized("upsample_bilinear2d"), tol=3e-5)
def upsample_bilinear2d(
    x, *, output_size: Sizes = None, align_corners: bool = False, scale_factors: Scales = None
):
    """x [n, c, h, w] to output_size, or by scale_factors, straight between neighbours.

    align_corners lays the corners' middles on each other, else their edges. Source:
    aten::upsample_bilinear2d.vec.
    """
    return _run(x, x.shape, False, False, output_size, scale_factors, align_corners)


@op("f[*b] -> f[*s]", shape=_unsized("upsample_bilinear2d_grad"), tol=3e-5)
def upsample_bilinear2d_grad(
    g, *, shape: tuple, output_size: Sizes = None, align_corners: bool = False,
    scale_factors: Scales = None,
):  # fmt: skip
    """The gradient of upsample_bilinear2d to its x, of that shape.

    Source: aten::upsample_bilinear2d_backward.
    """
    return _run(g, tuple(shape), False, True, output_size, scale_factors, align_corners)


def _attach(forward: Op, backward: Op, unit: str) -> None:
    """Both kernels, and each as the other's gradient."""

    @forward.kernel("resize/resize")
    def _(d: Dims) -> Launch:
        return _launch(d, d.args["x"].shape[2:], d.out[0].shape[2:], unit)

    @backward.kernel("resize/resize_grad")
    def _(d: Dims) -> Launch:
        return _launch(d, d.out[0].shape[2:], d.args["g"].shape[2:], unit)

    @forward.vjp
    def _(g: Any, out: Any, x: Any, **how: Any):
        return (lambda: backward(g, shape=x.shape, **how),)

    @backward.vjp
    def _(h: Any, out: Any, g: Any, *, shape: tuple, **how: Any):
        return (lambda: forward(h, **how),)

    forward.saves(x="")
    backward.saves(g="")


_attach(upsample_nearest2d, upsample_nearest2d_grad, "resize/nearest")
_attach(upsample_bilinear2d, upsample_bilinear2d_grad, "resize/bilinear")
for made, back in ((upsample_nearest2d, upsample_nearest2d_grad),
                   (upsample_bilinear2d, upsample_bilinear2d_grad)):  # fmt: skip
    made.cases("1x2x3x3", "2x3x5x7", "0x1x4x4", "1x1x1x1", "3x1x9x4", output_size=(6, 7))
    made.cases("2x3x5x7", "1x1x9x3", scale_factors=(1.6, 2.0))
    made.cases("1x2x11x7", scale_factors=(0.4, 1 / 3))
    made.cases("1x1x5x7", scale_factors=(1.1, 2.1))
    made.cases("2x1x5x7", output_size=(1, 1))
    back.cases("2x3x6x7", shape=(2, 3, 3, 3), output_size=(6, 7))
    back.cases("0x1x1x1", shape=(0, 1, 3, 3), output_size=(1, 1))
    back.cases("1x2x4x2", shape=(1, 2, 11, 7), scale_factors=(0.4, 1 / 3))
    back.cases("1x1x8x14", shape=(1, 1, 5, 7), scale_factors=(1.6, 2.0))
    who = made.name
    made.refuses("2x3x4", f"{who}: x must be [n, c, h, w], only n may be 0, got [2, 3, 4]",
                 output_size=(2, 2))  # fmt: skip
    made.refuses("1x1x3x3", f"{who}: give either output_size or scale_factors")
    made.refuses("1x1x3x3", f"{who}: give either output_size or scale_factors",
                 output_size=(2, 2), scale_factors=(1.0, 1.0))  # fmt: skip
    made.refuses("1x1x3x3", f"{who}: two numbers are needed, for h and w, got [2.0]",
                 scale_factors=(2.0,))  # fmt: skip
    made.refuses("1x1x3x3", f"{who}: h and w must become at least 1, got [6, 0]",
                 scale_factors=(2.0, 0.1))  # fmt: skip
    back.refuses("1x1x3x3", f"{back.name}: g must be [1, 1, 6, 7], got [1, 1, 3, 3]",
                 shape=(1, 1, 3, 3), output_size=(6, 7))  # fmt: skip
upsample_nearest2d.cases("s:2x1x4x6", output_size=(7, 13))
for aligned in ("2x1x7x7", "1x2x5x3", "1x1x1x1"):
    upsample_bilinear2d.cases(aligned, output_size=(9, 4), align_corners=True)
upsample_bilinear2d.cases("1x2x5x5", scale_factors=(1.6, 1.6), align_corners=True)
upsample_bilinear2d_grad.cases("1x2x9x4", "1x2x9x4", shape=(1, 2, 5, 3), output_size=(9, 4),
                               align_corners=True)  # fmt: skip
upsample_bilinear2d_grad.cases("1x1x1x5", shape=(1, 1, 4, 3), output_size=(1, 5),
                               align_corners=True)  # fmt: skip
