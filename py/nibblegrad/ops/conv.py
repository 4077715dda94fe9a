"""Convolutions over one or two spatial dims, grouped, dilated or transposed, and their gradients.

The gradient to the input is a convolution the other way; only the weight's needs an op of its own.
"""

from __future__ import annotations

from math import inf
from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, ceil_div, grid1
from ..core.lazy import np
from ..core.schema import Dims
from .conv_numpy import HOW, correlate, weight_sums
from .conv_walk import Numbers, Walk, bound, lifted, numbers, params, routes, walk_of
from .op import Op, op
from .reduce_dims import sum_
from .slicing import slice_

ORDER = ("input", "weight", "bias", *HOW)


def _walk(d: Dims, who: str) -> Walk:
    bias = d.args["bias"]
    shapes = d.args["input"].shape, d.args["weight"].shape, bias and bias.shape
    return walk_of(who, *shapes, d.attrs)


def _shape(who: str) -> Any:
    def shape(d: Dims) -> Shape:
        walk = _walk(d, who)
        return (walk.batch, walk.outputs, *walk.out[4 - len(d.args["input"].shape) :])

    return shape


@op("f[*b], f[*w], f[*c]? -> f[*s]", order=ORDER, shape=_shape("convolution"), tol=2e-5)
def convolution(input, weight, bias=None, *, stride: Numbers = 1, padding: Numbers = 0,
                dilation: Numbers = 1, transposed: bool = False, output_padding: Numbers = 0,
                groups: int = 1):  # fmt: skip
    """Input [n, c, (h,) w] correlated with weight [o, c / groups, (kh,) kw], plus bias [o].

    Transposed: the adjoint of that, weight [c, o / groups, (kh,) kw]. Source: aten::convolution.
    """
    how = (stride, padding, dilation, transposed, output_padding, groups)
    return correlate(input, weight, bias, how)


@op("f[*b], f[*w], f[*c]? -> f[*s]", order=(*ORDER, "output_min", "output_max"),
    shape=_shape("conv_with_clamp"), tol=2e-5)  # fmt: skip
def conv_with_clamp(input, weight, bias=None, *, stride: Numbers = 1, padding: Numbers = 0,
                    dilation: Numbers = 1, transposed: bool = False, output_padding: Numbers = 0,
                    groups: int = 1, output_min: float | None = None,
                    output_max: float | None = None):  # fmt: skip
    """convolution, then no less than output_min and no more than output_max (None: no bound).

    Where the bound is met there is no gradient, as relu has it. Source: et_vk.conv_with_clamp.
    """
    how = (stride, padding, dilation, transposed, output_padding, groups)
    y = correlate(input, weight, bias, how)
    low, high = bound(output_min, -inf), bound(output_max, inf)
    return np.minimum(np.maximum(y, y.dtype.type(low)), y.dtype.type(high))


def _given(made: Op, unit: str) -> Any:
    def given(d: Dims) -> tuple[tuple[int | float, ...], tuple[str, ...]]:
        ends = (d.attrs.get("output_min"), d.attrs.get("output_max"))
        words = params(_walk(d, made.name), False, d.args["bias"] is not None, *ends)
        return words, (unit, "conv/clamp" if "output_min" in d.attrs else "conv/plain")

    return given


def _depthwise(made: Op) -> None:
    @made.kernel("conv/depthwise")
    def _(d: Dims) -> Launch | None:
        walk = _walk(d, made.name)
        if d.transposed or walk.inputs != 1 or walk.rows > 3:  # else a tile shares what it reads
            return None
        words, link = _given(made, "conv/forward")(d)
        items = walk.batch * walk.outputs * walk.out[0] * ceil_div(walk.out[1], 4)
        return Launch(grid1(items, 64), words, link=link)


def _backward(made: Op, masked: bool) -> None:
    def backward(g: Any, out: Any, input: Any, weight: Any, bias: Any, **a: Any) -> Any:
        if masked:
            g = _within(g, out, a["output_min"], a["output_max"])
        how = {k: a[k] for k in ("stride", "padding", "dilation", "groups")}
        small, large = (input, g) if a["transposed"] else (g, input)

        def to_input() -> Any:
            back = _dense if a["transposed"] else _spread
            return back(g, weight, input.shape, how)

        return (
            to_input,
            lambda: convolution_grad_weight(small, large, kernel=weight.shape[2:], **how),
            lambda: sum_(g, dim=(0, *range(2, len(g.shape)))),
        )

    made.vjp(backward)


def _within(g: Any, out: Any, low: float | None, high: float | None) -> Any:
    """g where out lies strictly inside its bounds."""
    from .activation import hardtanh

    ends = {"min_val": bound(low, -inf), "max_val": bound(high, inf)}
    return hardtanh.gradient(g, None, out, **ends)[0]() if hardtanh.gradient else g


def _dense(g: Any, weight: Any, shape: Shape, how: dict[str, Any]) -> Any:
    """The convolution that undoes a transposed one; an output_padding from stride on gives more."""
    back = convolution(g, weight, **how)
    for dim in range(2, len(shape)):
        if back.shape[dim] > shape[dim]:
            back = slice_(back, dim=dim, end=shape[dim])
    return back


def _spread(g: Any, weight: Any, shape: Shape, how: dict[str, Any]) -> Any:
    """The transposed convolution that gives `shape`: what a stride left over is output_padding."""
    named = (("stride", 1), ("padding", 0), ("dilation", 1))
    s, p, d = (numbers("", name, how[name], len(shape) - 2, least) for name, least in named)
    spare = _spare(shape, g.shape, weight.shape[2:], s, p, d)
    return convolution(g, weight, transposed=True, output_padding=spare, **how)


def _weight_walk(g: Shape, x: Shape, how: tuple[Any, ...]) -> Walk:
    """The walk of the convolution of x whose output's gradient is g."""
    who, rank, groups = "convolution_grad_weight", len(x) - 2, how[-1]
    if rank not in (1, 2) or len(g) != len(x) or g[0] != x[0]:
        raise ShapeError(f"{who}: g and x must be [n, c, (h,) w] of one n, got {[*g]}, {[*x]}")
    if groups < 1 or g[1] % groups or x[1] % groups:
        raise ShapeError(f"{who}: groups must divide {g[1]} and {x[1]} channels, got {groups}")
    named = zip(("kernel", "stride", "padding", "dilation"), how, (1, 1, 0, 1), strict=False)
    k, s, p, d = (numbers(who, name, given, rank, least) for name, given, least in named)
    spare = _spare(x, g, k, s, p, d)
    if any(not 0 <= n < max(pair) for n, *pair in zip(spare, s, d, strict=True)):
        raise ShapeError(f"{who}: a kernel of {[*k]} does not make {[*g[2:]]} of {[*x[2:]]}")
    return Walk(x[0], x[1], g[1], groups, lifted(x[2:], 1), lifted(g[2:], 1), lifted(k, 1),
                lifted(s, 1), lifted(p, 0), lifted(d, 1))  # fmt: skip


def _spare(x: Shape, g: Shape, *how: tuple[int, ...]) -> tuple[int, ...]:
    """How much larger x is than the taps of g reach."""
    sizes = zip(x[2:], g[2:], *how, strict=True)
    return tuple(n + 2 * p - (o - 1) * s - d * (k - 1) - 1 for n, o, k, s, p, d in sizes)


def _weight_params(d: Dims) -> tuple[int | float, ...]:
    how = (d.kernel, d.stride, d.padding, d.dilation, d.groups)
    return params(_weight_walk(d.args["g"].shape, d.args["x"].shape, how), True)


def _weight_shape(d: Dims) -> Shape:
    g, x = d.args["g"].shape, d.args["x"].shape
    walk = _weight_walk(g, x, (d.kernel, d.stride, d.padding, d.dilation, d.groups))
    return (walk.outputs, walk.inputs, *walk.kernel[4 - len(x) :])


@op("f[*o], f[*b] -> f[*w]", shape=_weight_shape, tol=2e-5)
def convolution_grad_weight(g, x, *, kernel: Numbers, stride: Numbers = 1, padding: Numbers = 0,
                            dilation: Numbers = 1, groups: int = 1):  # fmt: skip
    """The gradient of a convolution of x to its weight, g its output's.

    Of a transposed one: x and g in each other's place. Source: aten::convolution_backward.
    """
    walk = _weight_walk(g.shape, x.shape, (kernel, stride, padding, dilation, groups))
    return weight_sums(g, x, walk)


@convolution_grad_weight.vjp
def _(h: Any, out: Any, g: Any, x: Any, *, kernel: Numbers, **how: Any):
    return (lambda: _dense(x, h, g.shape, how), lambda: _spread(g, h, x.shape, how))


for made in (convolution, conv_with_clamp):
    _depthwise(made)
    forward, back = _given(made, "conv/forward"), _given(made, "conv/transposed")
    routes(made, lambda d, f=forward, b=back: (b if d.transposed else f)(d))
    _backward(made, made is conv_with_clamp)
routes(convolution_grad_weight, lambda d: (_weight_params(d), ("conv/weight",)))
convolution.saves(input="weight", weight="input", bias="")
conv_with_clamp.saves(input="weight out", weight="input out", bias="out")
convolution_grad_weight.saves(g="x", x="g")


def _named(rank: int, transposed: bool, doc: str) -> Any:
    def call(input: Any, weight: Any, bias: Any = None, stride: Numbers = 1, padding: Numbers = 0,
             *rest: Any, **named: Any) -> Any:  # fmt: skip
        order = ("output_padding", "groups", "dilation") if transposed else ("dilation", "groups")
        if len(weight.shape) != rank + 2:
            raise ShapeError(f"conv: weight must have {rank + 2} dims, got {list(weight.shape)}")
        given = dict(zip(order, rest, strict=False)) | named
        return convolution(
            input, weight, bias, stride=stride, padding=padding, transposed=transposed, **given
        )

    call.__doc__ = doc
    return call


conv1d = _named(1, False, "convolution of [n, c, l]. Source: aten::conv1d.")
conv2d = _named(2, False, "convolution of [n, c, h, w]. Source: aten::conv2d.")
conv_transpose1d = _named(1, True, "convolution transposed. Source: aten::conv_transpose1d.")
conv_transpose2d = _named(2, True, "convolution transposed. Source: aten::conv_transpose2d.input.")

for made in (convolution, conv_with_clamp):
    made.cases("1x3x5x7 4x3x3x3 4", "3x2x5x4 5x2x1x1 -", "1x1x1x1 1x1x1x1 1", "0x2x3x3 4x2x2x2 4")
    made.cases("2x3x9 5x3x3 5", "1x4x7 6x4x1 6", "0x3x5 2x3x2 -", "1x1x1 1x1x1 -")
    made.refuses("2x3 4x3 -", f"{made.name}: input must be [n, c, l] or [n, c, h, w], got [2, 3]")
    made.refuses("2x3x5x5 4x3x3x3 3", f"{made.name}: bias must be [4], got [3]")
convolution.cases("2x16x9x9 36x16x3x3 36", padding=(1,))
convolution.cases("1x3x16x16 8x3x3x3 -", "2x2x7x6 4x2x3x2 4", stride=(2, 1), padding=(1, 2))
convolution.cases("2x3x9x9 5x3x3x3 5", dilation=2, padding=2)
convolution.cases("1x8x8x8 8x1x3x3 8", "3x8x5x9 8x1x2x3 -", "2x8x6x7 16x1x3x3 16", padding=1,
                  groups=8)  # fmt: skip
convolution.cases("1x4x5x13 4x1x3x3 4", stride=2, padding=(2, 1), dilation=(1, 2), groups=4)
convolution.cases("1x5x7 5x1x5 -", "2x5x11 10x1x3 10", padding=2, groups=5)
convolution.cases("2x4x6x5 6x2x3x2 6", "2x4x9 6x2x3 6", groups=2, stride=2)
convolution.cases("3x32x9x9 32x4x1x1 -", groups=8)
for more in ({}, {"stride": 2, "padding": 1, "output_padding": 1}, {"stride": 3, "dilation": 2}):
    convolution.cases("1x4x4x4 4x4x2x2 4", "2x3x5x3 3x5x3x2 -", "0x1x3x3 1x2x2x2 2",
                      "2x3x5 3x4x3 4", transposed=True, **more)  # fmt: skip
convolution.cases("2x4x5x3 4x3x3x3 6", stride=2, groups=2, transposed=True)
convolution.cases("2x3x4x3 3x2x2x2 2", dilation=3, output_padding=2, transposed=True)
convolution.cases("2x36x5x4 36x34x2x2 34", stride=2, transposed=True)
conv_with_clamp.cases("1x4x8x8 8x4x3x3 8", padding=1, output_min=0.0, output_max=6.0)
conv_with_clamp.cases("1x3x10x10 6x3x3x3 6", stride=2, output_min=0, output_max=1.797e308)
conv_with_clamp.cases("1x3x7x9 4x3x2x3 -", stride=(1, 2), padding=(1, 0), dilation=(2, 1),
                      output_max=0.5)  # fmt: skip
conv_with_clamp.cases("2x6x5x5 6x1x3x3 6", groups=6, padding=1, output_min=-0.5)
conv_with_clamp.cases("s:1x2x5x5 3x2x2x2 3", output_min=-1.0, output_max=1.0)
conv_with_clamp.cases("2x3x4x3 3x4x2x2 4", transposed=True, stride=2, output_min=0.0)
convolution.refuses("2x3x5x5 4x3x3 -", "convolution: weight must have 4 dims as input has, got "
                    "[4, 3, 3]")  # fmt: skip
convolution.refuses("2x3x5x5 4x2x3x3 -", "convolution: weight [4, 2, 3, 3] in 1 groups takes 2 "
                    "channels, but input has 3")  # fmt: skip
convolution.refuses("2x3x2x5 4x3x3x3 -", "convolution: the output would be [0, 3]; give a larger "
                    "input or padding")  # fmt: skip
convolution.refuses("2x3x0x5 4x3x1x1 -", "convolution: only n may be 0, got [2, 3, 0, 5] and "
                    "[4, 3, 1, 1]", padding=1)  # fmt: skip
convolution.refuses("2x4x5x5 6x1x3x3 -", "convolution: groups must divide weight's 6 rows, got 4",
                    groups=4)  # fmt: skip
convolution.refuses("2x4x5x5 6x4x3x3 -", "convolution: stride must be 2 numbers from 1, got [1, 0]",
                    stride=(1, 0))  # fmt: skip
convolution.refuses("2x4x5 4x4x3 -", "convolution: output_padding must be smaller than stride or "
                    "dilation, got [2]", transposed=True, stride=2, output_padding=2)  # fmt: skip
grad = convolution_grad_weight
grad.cases("2x4x3x5 2x3x5x7", "1x1x1x1 1x1x3x3", "0x4x3x3 0x2x5x5", kernel=3)
grad.cases("2x4x5 2x3x7", "300x3x1 300x1x3", kernel=3)
grad.cases("2x6x3x3 2x4x6x7", kernel=(2, 3), stride=2, padding=(0, 1), dilation=(1, 2), groups=2)
grad.cases("1x40x6x5 1x36x6x5", kernel=1)
grad.refuses("2x4x3x5 3x3x5x7", "convolution_grad_weight: g and x must be [n, c, (h,) w] of one n, "
             "got [2, 4, 3, 5], [3, 3, 5, 7]", kernel=3)  # fmt: skip
grad.refuses("2x4x9 2x3x9", "convolution_grad_weight: a kernel of [2] does not make [9] of "
             "[9]", kernel=2)  # fmt: skip
grad.refuses("2x4x9 2x3x9", "convolution_grad_weight: groups must divide 4 and 3 channels, got 2",
             kernel=1, groups=2)  # fmt: skip
