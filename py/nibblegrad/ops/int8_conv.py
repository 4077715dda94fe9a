"""Convolutions of i8 images with per-channel i8 weights: plain, pointwise, depthwise, transposed;
any batch, any groups. Sums are whole numbers, so results are exact."""

from __future__ import annotations

from typing import Any

from ..core.errors import ShapeError
from ..core.launch import Launch, ceil_div, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .int8 import bytes_grid, lowest, requantise, scales_in_range, to_words
from .int8_linear import scaled
from .op import Op, op

Pair = tuple[int, int]


def _taps(image: Any, w: Any, i: int, j: int, groups: int) -> Any:
    """Tap (i, j) of w [o, c / groups, kh, kw] times pixels [n, c, h, w] -> [n, o, h, w]."""
    n, c, *size_ = image.shape
    split = image.reshape(n, groups, c // groups, *size_)
    tap = w[:, :, i, j].reshape(groups, len(w) // groups, c // groups)
    return np.einsum("ngchw,goc->ngohw", split, tap).reshape(n, len(w), *size_)


def conv_sums(x: Any, w: Any, out: Pair, d: dict[str, Any]) -> Any:
    """Exact sums [n, o, *out] of f64 images and weights [o, c / groups, kh, kw]."""
    (sh, sw), (ph, pw), (dh, dw) = d["stride"], d["padding"], d["dilation"]
    image = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    acc = np.zeros((x.shape[0], len(w), *out))
    for i, j in np.ndindex(w.shape[2:]):
        rows = slice(i * dh, i * dh + sh * (out[0] - 1) + 1, sh)
        cols = slice(j * dw, j * dw + sw * (out[1] - 1) + 1, sw)
        acc += _taps(image[:, :, rows, cols], w, i, j, d["groups"])
    return acc


def spread_sums(x: Any, w: Any, out: Pair, d: dict[str, Any]) -> Any:
    """conv_sums transposed: every pixel of x spreads over a window of the output."""
    (sh, sw), (ph, pw), (dh, dw) = d["stride"], d["padding"], d["dilation"]
    h, wide = x.shape[2:]
    reach = [(n - 1) * s + (k - 1) * e + 1 for n, s, k, e in
             zip(x.shape[2:], d["stride"], w.shape[2:], d["dilation"], strict=True)]  # fmt: skip
    full = [max(r, o + 2 * p) for r, o, p in zip(reach, out, d["padding"], strict=True)]
    acc = np.zeros((x.shape[0], len(w), *full))
    for i, j in np.ndindex(w.shape[2:]):
        rows = slice(i * dh, i * dh + sh * (h - 1) + 1, sh)
        cols = slice(j * dw, j * dw + sw * (wide - 1) + 1, sw)
        acc[:, :, rows, cols] += _taps(x, w, i, j, d["groups"])
    return acc[:, :, ph : ph + out[0], pw : pw + out[1]]


def _fail(who: str, why: str) -> ShapeError:
    return ShapeError(f"{who}: {why}")


def _checked(who: str, d: Dims, o: int, per_group: int) -> None:
    for name, least in (("kernel_size", 1), ("stride", 1), ("padding", 0), ("dilation", 1)):
        pair = getattr(d, name)
        if len(pair) != 2 or min(pair) < least:
            raise _fail(who, f"{name} must be two numbers from {least} up, got {list(pair)}")
    if d.groups < 1 or d.c % d.groups or o % d.groups:
        raise _fail(who, f"groups must divide the channels, got {d.groups}, {d.c} in, {o} out")
    if per_group < d.c // d.groups * size(d.kernel_size):
        raise _fail(who, f"a row of weights must hold kernel_size {list(d.kernel_size)} times "
                    f"{d.c // d.groups} channels, got {per_group}")  # fmt: skip


def _plain(h: int, k: int, s: int, p: int, e: int, extra: int) -> int:
    return (h + 2 * p - e * (k - 1) - 1) // s + 1


def _transposed(h: int, k: int, s: int, p: int, e: int, extra: int) -> int:
    return (h - 1) * s - 2 * p + e * (k - 1) + extra + 1


def _sides(h: int, w: int, attrs: dict[str, Any]) -> Pair:
    """The output's height and width."""
    formula = _transposed if "output_padding" in attrs else _plain
    extra = attrs.get("output_padding", (0, 0))
    given = (attrs[n] for n in ("kernel_size", "stride", "padding", "dilation"))
    tall, wide = (formula(*axis) for axis in zip((h, w), *given, extra, strict=True))
    return tall, wide


def _out(who: str, d: Dims, o: int) -> tuple[int, ...]:
    sides = _sides(d.h, d.w, d.attrs)
    if min(sides) < 1 or min(d.h, d.w) < 1:
        raise _fail(who, f"an image of {d.h} x {d.w} leaves no output under kernel_size "
                    f"{list(d.kernel_size)}")  # fmt: skip
    return (d.b, o, *sides)


def _words(d: Dims, o: int, row: int, tap_step: int) -> tuple[int | float, ...]:
    low = lowest(d.output_zero_point, d.activation)
    to = to_words(d.output_scale, d.output_zero_point, low)
    n, (ho, wo) = size(d.out[0].shape), d.out[0].shape[2:]
    transposed = int("output_padding" in d.attrs)
    head = (n, 0, d.input_zero_point, float(d.input_scale), int(d.bias is not None), transposed)
    sizes = (d.c, d.h, d.w, d.c // d.groups, o, ho, wo, o // d.groups)
    window = (*d.kernel_size, *d.stride, *d.padding, *d.dilation)
    return (*to, *head, row, tap_step, *sizes, *window)


_SCHEMA = "i8[b c h w], i8[o r], i[u]?, f[s], f[z]? -> i8[?]"
_SCHEMA_DW = "i8[b c h w], i8[p q o], i[u]?, f[s], f[z]? -> i8[?]"
_ORDER = (
    "x", "input_scale", "input_zero_point", "weights", "weight_sums", "weight_scales",
    "output_scale", "output_zero_point", "bias", "kernel_size", "stride", "padding", "dilation",
    "groups", "activation",
)  # fmt: skip
_LONGER = (*_ORDER[:12], "output_padding", *_ORDER[12:])


def _rows(weights: Any, channels: int, kernel: Pair) -> Any:
    """f64 [o, c / groups, kh, kw] of rows (kh, kw, channel) that may end in padding."""
    rows = weights[:, : size(kernel) * channels].astype(np.float64)
    return rows.reshape(len(weights), *kernel, channels).transpose(0, 3, 1, 2)


def _codes(acc: Any, scales: Any, bias: Any, d: dict[str, Any]) -> Any:
    v = scaled(acc.transpose(0, 2, 3, 1), d["input_scale"], scales, bias).transpose(0, 3, 1, 2)
    low = lowest(d["output_zero_point"], d["activation"])
    return requantise(v, 1 / d["output_scale"], d["output_zero_point"], low)


def _conv(x: Any, w: Any, scales: Any, bias: Any, attrs: dict[str, Any]) -> Any:
    sums = spread_sums if "output_padding" in attrs else conv_sums
    zero_free = x.astype(np.float64) - attrs["input_zero_point"]
    out = _sides(x.shape[2], x.shape[3], attrs)
    return _codes(sums(zero_free, w, out, attrs), scales, bias, attrs)


def _shape(who: str) -> Any:
    def shape(d: Dims) -> tuple[int, ...]:
        _checked(who, d, d.o, d.r)
        return _out(who, d, d.o)

    return shape


def _shape_dw(d: Dims) -> tuple[int, ...]:
    who = "q8ta_conv2d_dw"
    if (d.p, d.q) != d.kernel_size or d.groups != d.c:
        raise _fail(who, f"weights must be [*kernel_size, o] and groups c, got weights "
                    f"{[d.p, d.q, d.o]}, kernel_size {list(d.kernel_size)}, groups {d.groups}, "
                    f"c={d.c}")  # fmt: skip
    _checked(who, d, d.o, d.p * d.q)
    return _out(who, d, d.o)


@op(_SCHEMA, order=_ORDER, shape=_shape("q8ta_conv2d"))
def q8ta_conv2d(
    x, weights, weight_sums, weight_scales, bias=None, *, input_scale: float,
    input_zero_point: int, output_scale: float, output_zero_point: int, kernel_size: tuple,
    stride: tuple, padding: tuple, dilation: tuple, groups: int = 1, activation: str = "none",
):  # fmt: skip
    """Convolution of i8 [b, c, h, w] with per-channel i8 weights, a relu if asked, requantised.

    weights i8 [o, >= kh kw c/groups], a row in the order (kh, kw, c); weight_scales and bias f32
    [>= o]; padding is the real 0; weight_sums is not read. Source: et_vk.q8ta_conv2d,
    et_vk.q8ta_conv2d_pw (their eager twin reads a row as (c, kh, kw)).
    """
    attrs = locals()
    w = _rows(weights, x.shape[1] // groups, kernel_size)
    return _conv(x, w, weight_scales, bias, attrs)


q8ta_conv2d_pw = Op(_SCHEMA, q8ta_conv2d.body, order=_ORDER, name="q8ta_conv2d_pw",
                    shape=_shape("q8ta_conv2d_pw"))  # fmt: skip


@op(_SCHEMA_DW, order=_ORDER, shape=_shape_dw)
def q8ta_conv2d_dw(
    x, weights, weight_sums, weight_scales, bias=None, *, input_scale: float,
    input_zero_point: int, output_scale: float, output_zero_point: int, kernel_size: tuple,
    stride: tuple, padding: tuple, dilation: tuple, groups: int, activation: str = "none",
):  # fmt: skip
    """q8ta_conv2d with one channel a group: weights i8 [kh, kw, o], o a multiple of c = groups.

    Source: et_vk.q8ta_conv2d_dw.
    """
    attrs = locals()
    w = weights.astype(np.float64).transpose(2, 0, 1)[:, None]
    return _conv(x, w, weight_scales, bias, attrs)


@op(_SCHEMA, order=_LONGER, shape=_shape("q8ta_conv2d_transposed"))
def q8ta_conv2d_transposed(
    x, weights, weight_sums, weight_scales, bias=None, *, input_scale: float,
    input_zero_point: int, output_scale: float, output_zero_point: int, kernel_size: tuple,
    stride: tuple, padding: tuple, output_padding: tuple, dilation: tuple, groups: int = 1,
    activation: str = "none",
):  # fmt: skip
    """Transposed convolution of i8 [b, c, h, w]: each pixel spreads over its window.

    weights as q8ta_conv2d's, i8 [o, >= kh kw c/groups]. Source: et_vk.q8ta_conv2d_transposed (its
    eager twin reads a row as (c, kh, kw), and takes the first group's scales for every group).
    """
    attrs = locals()
    w = _rows(weights, x.shape[1] // groups, kernel_size)
    return _conv(x, w, weight_scales, bias, attrs)


def _pointwise(d: Dims) -> Launch | None:
    """The register tile of a 1 x 1 kernel that neither strides nor pads."""
    square = d.kernel_size == d.stride == d.dilation == (1, 1) and d.padding == (0, 0)
    if not square or d.groups > 1 or d.c % 4 or d.r % 4 or d.h * d.w % 4:
        return None
    tiles = d.b * ceil_div(d.o, 4) * (d.h * d.w // 4)
    return Launch(grid1(tiles, 64), _words(d, d.o, d.r, 0))


for made in (q8ta_conv2d, q8ta_conv2d_pw):
    made.kernel("quant/q8_pointwise_tile")(_pointwise)
for made in (q8ta_conv2d, q8ta_conv2d_pw, q8ta_conv2d_transposed):

    @made.kernel("quant/q8_conv")
    def _(d: Dims) -> Launch:
        params = _words(d, d.o, d.r, d.c // d.groups)
        return Launch(bytes_grid(params[4]), params, const={"res": "i32"})  # type: ignore


@q8ta_conv2d_dw.kernel("quant/q8_conv")
def _(d: Dims) -> Launch:
    params = _words(d, d.o, 1, d.o)
    return Launch(bytes_grid(params[4]), params, const={"res": "i32"})  # type: ignore


_SCALES = {"input_scale": 0.05, "input_zero_point": -3, "output_scale": 0.9,
           "output_zero_point": 5}  # fmt: skip
_ONE = {"kernel_size": (1, 1), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
_THREE = {"kernel_size": (3, 3), "stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)}


def _cases(made: Op, *shapes: str, **attrs: Any) -> None:
    made.cases(*shapes, **{**_SCALES, **_THREE, **attrs})


for made in (q8ta_conv2d, q8ta_conv2d_pw, q8ta_conv2d_dw, q8ta_conv2d_transposed):
    made.without_gradient("codes are whole numbers: nothing to differentiate by")
    made.require("s >= o", "weight_scales must have one for every output channel")
    made.require("bias is None or z >= o", "bias must have one for every output channel")
    made.require("activation in ('none', 'relu')", "activation is none or relu")
    scales_in_range(made, "input_scale", "output_scale")
q8ta_conv2d_transposed.require(
    "len(output_padding) == 2 and min(output_padding) >= 0",
    "output_padding must be two numbers from 0 up",
)
q8ta_conv2d_transposed.require(
    "all((output_padding[0] < max(stride[0], dilation[0]), "
    "output_padding[1] < max(stride[1], dilation[1])))",
    "output_padding must be less than stride or dilation",
)
_cases(q8ta_conv2d, "1x8x8x8 8x72 8 8 8", "2x4x5x7 8x36 8 8 -", "1x3x4x5 6x28 - 8 8")
_cases(q8ta_conv2d, "1x1x1x1 1x9 1 1 1", "0x3x4x4 2x27 2 2 2")
_cases(q8ta_conv2d, "2x4x9x8 6x20 6 6 6", stride=(2, 2), groups=2, activation="relu")
_cases(q8ta_conv2d, "1x3x7x9 5x48 5 5 5", kernel_size=(3, 5), padding=(2, 1), dilation=(2, 1))
for made in (q8ta_conv2d, q8ta_conv2d_pw):
    made.cases("1x4x6x8 8x4 8 8 8", "2x8x4x4 6x8 - 8 8", "1x12x2x2 3x16 3 3 -", "3x3x3x5 5x4 5 5 5",
               "1x1x1x1 1x1 1 1 1", "0x4x2x2 4x4 4 4 4", **_SCALES, **_ONE)  # fmt: skip
    made.cases("2x8x3x3 6x4 6 6 6", groups=2, activation="relu", **_SCALES, **_ONE)
    made.refuses("1x4x2x2 4x3 4 4 4", f"{made.name}: a row of weights must hold kernel_size [1, 1] "
                 "times 4 channels, got 3", **_SCALES, **_ONE)  # fmt: skip
_cases(q8ta_conv2d_dw, "1x8x8x8 3x3x8 8 8 8", groups=8)
_cases(q8ta_conv2d_dw, "2x5x3x4 3x3x5 5 5 -", groups=5)
_cases(q8ta_conv2d_dw, "1x1x1x1 3x3x1 1 1 1", "0x1x4x4 3x3x1 1 1 1", groups=1)
_cases(q8ta_conv2d_dw, "2x3x9x7 2x3x6 6 6 6", groups=3, kernel_size=(2, 3), stride=(2, 1),
       padding=(2, 0), dilation=(3, 2), activation="relu")  # fmt: skip
_cases(q8ta_conv2d_transposed, "1x8x8x8 8x32 8 8 8", kernel_size=(2, 2), stride=(2, 2),
       padding=(0, 0), output_padding=(0, 0))  # fmt: skip
_cases(q8ta_conv2d_transposed, "2x3x4x5 6x28 - 8 -", "1x1x1x1 1x9 1 1 1", "0x3x2x2 2x27 2 2 2",
       stride=(2, 2), output_padding=(1, 1))  # fmt: skip
_cases(q8ta_conv2d_transposed, "2x4x3x5 6x20 6 6 6", groups=2, stride=(3, 1), padding=(0, 2),
       output_padding=(2, 0), dilation=(1, 2), activation="relu")  # fmt: skip
_WRONG = {**_SCALES, **_THREE, "groups": 3}
q8ta_conv2d.refuses("1x4x3x3 4x36 4 4 -", "q8ta_conv2d: groups must divide the channels, got 3, "
    "4 in, 4 out", **_WRONG)  # fmt: skip
q8ta_conv2d_transposed.refuses("1x4x3x3 4x36 4 4 -", "q8ta_conv2d_transposed: groups must divide "
    "the channels, got 3, 4 in, 4 out", **_WRONG, output_padding=(0, 0))  # fmt: skip
q8ta_conv2d_transposed.refuses("1x4x3x3 4x36 4 4 -", "q8ta_conv2d_transposed: output_padding must "
    "be less than stride or dilation, got output_padding=(1, 0), stride=(1, 1), dilation=(1, 1)",
    **_SCALES, **_THREE, output_padding=(1, 0))  # fmt: skip
q8ta_conv2d_dw.refuses("1x3x0x3 3x3x3 3 3 -", "q8ta_conv2d_dw: an image of 0 x 3 leaves no output "
    "under kernel_size [3, 3]", **_WRONG)  # fmt: skip
q8ta_conv2d_dw.refuses("1x4x3x3 3x2x4 4 4 -", "q8ta_conv2d_dw: weights must be [*kernel_size, o] "
    "and groups c, got weights [3, 2, 4], kernel_size [3, 3], groups 4, c=4",
    **_SCALES, **_THREE, groups=4)  # fmt: skip
