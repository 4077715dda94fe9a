"""Pooling over the last two dims: averages and maxima of windows, and their gradients."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch
from ..core.lazy import np
from ..core.schema import Dims
from .conv_walk import Numbers, numbers
from .op import op
from .windows import Windows, given_size, launch, planes, windows

Stride = Numbers | None


def _averaged(who: str, x: Shape, a: dict[str, Any]) -> Windows:
    if a["divisor_override"] == 0:
        raise ShapeError(f"{who}: divisor_override must not be 0")
    return windows(who, x, a)


def _divisors(w: Windows, count_include_pad: bool, divisor_override: int | None) -> Any:
    rows, columns = w.sides(count_include_pad)
    return divisor_override or rows * columns


@op("f[*b] -> f[*s]", tol=2e-5,
    shape=lambda d: (*d.b[:-2], *_averaged("avg_pool2d", d.b, d.attrs).out))  # fmt: skip
def avg_pool2d(
    x, *, kernel_size: Numbers, stride: Stride = None, padding: Numbers = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
):  # fmt: skip
    """The mean of each window of x [(n,) c, h, w]: divided by its places, the padding's too or
    not, or by divisor_override. Source: aten::avg_pool2d."""
    a = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "ceil_mode": ceil_mode}
    w = windows("avg_pool2d", x.shape, a)
    whole, own = w.whole(x.shape[:-2], 0, x.dtype)
    own[...] = x
    total = sum(whole[cut] for _, _, cut in w.taps())
    return total / np.asarray(_divisors(w, count_include_pad, divisor_override), x.dtype)


@avg_pool2d.kernel("pool/average")
def _(d: Dims) -> Launch:
    w = windows("avg_pool2d", d.args["x"].shape, d.attrs)
    return launch(d, w, "pool/fixed", d.divisor_override or 0, d.count_include_pad)


@avg_pool2d.vjp
def _(g: Any, out: Any, x: Any, **how: Any):
    return (lambda: avg_pool2d_grad(g, shape=x.shape, **how),)


def _average_grad(d: Dims) -> Shape:
    w = _averaged("avg_pool2d_grad", tuple(d.shape), d.attrs)
    return given_size("avg_pool2d_grad", d.b, d.shape, w.out)


@op("f[*b] -> f[*s]", tol=2e-5, shape=_average_grad)
def avg_pool2d_grad(
    g, *, shape: tuple, kernel_size: Numbers, stride: Stride = None, padding: Numbers = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
):  # fmt: skip
    """The gradient of avg_pool2d to its x, of that shape. Source: aten::avg_pool2d_backward."""
    a = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "ceil_mode": ceil_mode}
    w = windows("avg_pool2d_grad", tuple(shape), a)
    whole, own = w.whole(g.shape[:-2], 0, g.dtype)
    part = g / np.asarray(_divisors(w, count_include_pad, divisor_override), g.dtype)
    for _, _, cut in w.taps():
        whole[cut] += part
    return own


@avg_pool2d_grad.kernel("pool/average_grad")
def _(d: Dims) -> Launch:
    w = windows("avg_pool2d_grad", tuple(d.shape), d.attrs)
    return launch(d, w, "pool/fixed", d.divisor_override or 0, d.count_include_pad)


@avg_pool2d_grad.vjp
def _(h: Any, out: Any, g: Any, *, shape: tuple, **how: Any):
    return (lambda: avg_pool2d(h, **how),)


def _shared(who: str, x: Shape, output_size: Numbers) -> Windows:
    planes(who, x)
    return Windows(x[-2:], numbers(who, "output_size", output_size, 2, 0))


def _adapted(d: Dims) -> Shape:
    return (*d.b[:-2], *_shared("_adaptive_avg_pool2d", d.b, d.output_size).out)


def _spans(n: int, out: int) -> tuple[Any, Any]:
    """From where to where each of `out` outputs sees an axis of n."""
    at = np.arange(out)
    return at * n // max(out, 1), -(-(at + 1) * n // max(out, 1))


def _span_sums(x: Any, out: int) -> Any:
    """The sums of x's last axis over those spans."""
    if not x.shape[-1] * out:
        return np.zeros((*x.shape[:-1], out), x.dtype)
    ends = np.stack(_spans(x.shape[-1], out), 1).reshape(-1)
    padded = np.concatenate((x, np.zeros_like(x[..., :1])), -1)  # an end may be the axis's
    return np.add.reduceat(padded, ends, -1)[..., ::2]


@op("f[*b] -> f[*s]", name="_adaptive_avg_pool2d", tol=2e-5, shape=_adapted)
def adaptive_avg_pool2d(x, *, output_size: Numbers):
    """The means of output_size windows that share x [(n,) c, h, w] as evenly as they can.

    Source: aten::_adaptive_avg_pool2d.
    """
    for n in reversed(_shared("", x.shape, output_size).out):  # columns, then rows
        low, high = _spans(x.shape[-1], n)
        x = (_span_sums(x, n) / (high - low).astype(x.dtype)).swapaxes(-1, -2)
    return x


@adaptive_avg_pool2d.kernel("pool/average")
def _(d: Dims) -> Launch:
    return launch(d, _shared("", d.args["x"].shape, d.output_size), "pool/adaptive")


@adaptive_avg_pool2d.vjp
def _(g: Any, out: Any, x: Any, *, output_size: Numbers):
    return (lambda: adaptive_avg_pool2d_grad(g, shape=x.shape),)


def _adaptive_grad(d: Dims) -> Shape:
    planes("adaptive_avg_pool2d_grad", tuple(d.shape))
    if 0 in d.b[-2:]:
        raise ShapeError(f"adaptive_avg_pool2d_grad: g must have h and w from 1, got {list(d.b)}")
    return given_size("adaptive_avg_pool2d_grad", d.b, d.shape, d.b[-2:])


@op("f[*b] -> f[*s]", tol=2e-5, shape=_adaptive_grad)
def adaptive_avg_pool2d_grad(g, *, shape: tuple):
    """The gradient of _adaptive_avg_pool2d to its x, of that shape.

    Source: aten::_adaptive_avg_pool2d_backward.
    """
    for n in reversed(shape[-2:]):
        low, high = _spans(n, g.shape[-1])
        g = _span_sums(g / (high - low).astype(g.dtype), n).swapaxes(-1, -2)
    return g


@adaptive_avg_pool2d_grad.kernel("pool/average_grad")
def _(d: Dims) -> Launch:
    return launch(d, Windows(tuple(d.shape[-2:]), d.args["g"].shape[-2:]), "pool/adaptive")


@adaptive_avg_pool2d_grad.vjp
def _(h: Any, out: Any, g: Any, *, shape: tuple):
    return (lambda: adaptive_avg_pool2d(h, output_size=g.shape[-2:]),)


def _largest(d: Dims) -> list[Shape]:
    return [(*d.b[:-2], *windows("max_pool2d_with_indices", d.b, d.attrs).out)] * 2


@op("f[*b] -> f[*s], i[*s]", shape=_largest, tol=0)
def max_pool2d_with_indices(
    x, *, kernel_size: Numbers, stride: Stride = None, padding: Numbers = 0,
    dilation: Numbers = 1, ceil_mode: bool = False,
):  # fmt: skip
    """The largest of each window of x [(n,) c, h, w], and its i32 index in the plane: the first of
    equals; NaN is largest. Source: aten::max_pool2d_with_indices."""
    a = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation,
         "ceil_mode": ceil_mode}  # fmt: skip
    w = windows("", x.shape, a)
    whole, own = w.whole(x.shape[:-2], -np.inf, x.dtype)
    own[...] = x
    best = np.full((*x.shape[:-2], *w.out), -np.inf, x.dtype)
    steps = zip(w.out, w.stride, w.padding, w.dilation, strict=True)
    rows, columns = (_from_zero(np.arange(o) * s - p, d) for o, s, p, d in steps)
    at = np.broadcast_to(rows[:, None] * w.size[1] + columns, best.shape).astype(np.int32)
    for rows, columns, cut in w.taps():
        inside = (rows >= 0) & (rows < w.size[0]) & (columns >= 0) & (columns < w.size[1])
        new = inside & ((whole[cut] > best) | np.isnan(whole[cut]))
        best = np.where(new, whole[cut], best)
        at = np.where(new, rows * w.size[1] + columns, at).astype(np.int32)
    return best, at


def _from_zero(start: Any, step: int) -> Any:
    """Starts moved on by whole steps until they are not negative."""
    return np.where(start < 0, start % step, start)


@max_pool2d_with_indices.kernel("pool/maximum")
def _(d: Dims) -> Launch:
    return launch(d, windows("", d.args["x"].shape, d.attrs), "")


@max_pool2d_with_indices.vjp
def _(g: Any, out: Any, x: Any, **how: Any):
    return (lambda: max_pool2d_grad(g[0], out[1], shape=x.shape, **how),)


def max_pool2d(
    x: Any, kernel_size: Numbers, stride: Stride = None, padding: Numbers = 0,
    dilation: Numbers = 1, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """max_pool2d_with_indices without them. Source: aten::max_pool2d."""
    return max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)[0]


def _largest_grad(d: Dims) -> Shape:
    w = windows("max_pool2d_grad", tuple(d.shape), d.attrs)
    return given_size("max_pool2d_grad", d.b, d.shape, w.out)


@op("f[*b], i[*b] -> f[*s]", shape=_largest_grad, tol=2e-5)
def max_pool2d_grad(
    g, indices, *, shape: tuple, kernel_size: Numbers, stride: Stride = None,
    padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False,
):  # fmt: skip
    """g added at the indices that lie in their windows, zero elsewhere: the gradient of max pooling
    to its x, of that shape. Source: aten::max_pool2d_with_indices_backward."""
    a = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation,
         "ceil_mode": ceil_mode}  # fmt: skip
    w = windows("", tuple(shape), a)
    whole, own = w.whole(g.shape[:-2], 0, g.dtype)
    for rows, columns, cut in w.taps():
        inside = (rows >= 0) & (rows < w.size[0]) & (columns >= 0) & (columns < w.size[1])
        whole[cut] += np.where(inside & (indices == rows * w.size[1] + columns), g, 0)
    return own


@max_pool2d_grad.kernel("pool/maximum_grad")
def _(d: Dims) -> Launch:
    return launch(d, windows("", tuple(d.shape), d.attrs), "pool/fixed")


def _kinds() -> list[dict[str, Any]]:
    """Odd ways of pooling planes of 5 x 7."""
    return [{"kernel_size": 2}, {"kernel_size": (3, 2), "stride": (1, 2), "padding": (1, 0)},
            {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}]  # fmt: skip


max_pool2d_grad.without_gradient("an index moves by jumps; max pooling is linear between them")
for made in (avg_pool2d, adaptive_avg_pool2d, max_pool2d_with_indices, avg_pool2d_grad,
             adaptive_avg_pool2d_grad):  # fmt: skip
    made.saves(**{made.names[0]: "out" if made is max_pool2d_with_indices else ""})
for how in _kinds():
    for made in (avg_pool2d, max_pool2d_with_indices):
        made.cases("2x3x5x7", "3x4x4", "0x2x5x5", **how)
    w = windows("", (5, 5, 7), {"stride": None, "padding": 0, "ceil_mode": False, **how})
    g = f"2x3x{w.out[0]}x{w.out[1]}"
    avg_pool2d_grad.cases(g, shape=(2, 3, 5, 7), **how)
    max_pool2d_grad.cases(f"{g} i:{g}", shape=(2, 3, 5, 7), **how)
avg_pool2d.cases("1x2x5x5", kernel_size=3, stride=(), padding=1, count_include_pad=False)
avg_pool2d.cases("1x1x1x1", "2x5x5", kernel_size=1, divisor_override=3)
avg_pool2d.cases("1x2x5x5", kernel_size=2, stride=3, ceil_mode=True, divisor_override=-2)
avg_pool2d_grad.cases("1x2x2x2", shape=(1, 2, 5, 5), kernel_size=3, stride=3, padding=1,
                      count_include_pad=False)  # fmt: skip
avg_pool2d_grad.cases("0x2x1x1", shape=(0, 2, 3, 3), kernel_size=3, divisor_override=2)
max_pool2d_with_indices.cases("s:2x3x6x5", "s:1x7x5", kernel_size=2, stride=1, dilation=2)
max_pool2d_with_indices.cases(
    "s:1x1x1x3", "s:1x5x9", kernel_size=2, stride=1, padding=1, dilation=2
)
max_pool2d_grad.cases("1x1x1 i:1x1x1", shape=(1, 2, 2), kernel_size=2)
max_pool2d_grad.cases("0x1x1x1 i:0x1x1x1", shape=(0, 1, 2, 2), kernel_size=2)
adaptive_avg_pool2d.cases("2x3x5x7", "1x1x1x1", "0x2x3x3", "2x8x8", output_size=(3, 2))
adaptive_avg_pool2d.cases("2x3x5x7", output_size=1)
adaptive_avg_pool2d.cases("2x3x3x2", output_size=(5, 7))
adaptive_avg_pool2d.cases("1x1x70001", output_size=(1, 66000))  # products past 32 bits
adaptive_avg_pool2d.cases("s:1x3x3", output_size=(0, 2))
adaptive_avg_pool2d_grad.cases("2x3x3x2", "2x3x1x1", "2x3x7x9", shape=(2, 3, 5, 7))
adaptive_avg_pool2d_grad.cases("1x1x66000", shape=(1, 1, 70001))
adaptive_avg_pool2d_grad.cases("0x2x1x1", shape=(0, 2, 3, 3))
for made in (avg_pool2d, max_pool2d_with_indices):
    who = made.name
    made.refuses("5x7", f"{who}: x must be [(n,) c, h, w], only n may be 0, got [5, 7]",
                 kernel_size=2)  # fmt: skip
    made.refuses("1x5x7", f"{who}: kernel_size must be 2 numbers from 1, got [2, 0]",
                 kernel_size=(2, 0))  # fmt: skip
    made.refuses("1x5x7", f"{who}: padding must be at most half of kernel_size [2, 2], got [2, 2]",
                 kernel_size=2, padding=2)  # fmt: skip
    made.refuses("1x3x7", f"{who}: no window of [4, 4] fits [3, 7] with padding [0, 0]",
                 kernel_size=4)  # fmt: skip
avg_pool2d.refuses("1x3x3", "avg_pool2d: divisor_override must not be 0", kernel_size=2,
                   divisor_override=0)  # fmt: skip
avg_pool2d_grad.refuses("1x2x3", "avg_pool2d_grad: g must be [1, 2, 2], got [1, 2, 3]",
                        shape=(1, 4, 4), kernel_size=2)  # fmt: skip
max_pool2d_grad.refuses("1x2x3 1x2x3", "max_pool2d_grad: g must be [1, 2, 2], got [1, 2, 3]",
                        shape=(1, 4, 4), kernel_size=2)  # fmt: skip
adaptive_avg_pool2d.refuses("1x3x3", "_adaptive_avg_pool2d: output_size must be 2 numbers from 0, "
                            "got [1, 2, 3]", output_size=(1, 2, 3))  # fmt: skip
adaptive_avg_pool2d_grad.refuses("1x2x3", "adaptive_avg_pool2d_grad: g must be [2, 2, 3], got "
                                 "[1, 2, 3]", shape=(2, 4, 4))  # fmt: skip
