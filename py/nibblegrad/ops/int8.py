"""int8 tensors: to and from f32, and what works on them code by code. Codes q stand for
(q - zero_point) * scale; int8 results are torch's byte for byte."""

from __future__ import annotations

from typing import Any

from ..core.dtype import DTYPES
from ..core.errors import ShapeError
from ..core.launch import Launch, ceil_div, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .formula import broadcast_strides, pad8
from .op import Op, op

LOW, HIGH = -128, 127


def requantise(v: Any, inv: float, zero: int, low: int = LOW, high: int = HIGH) -> Any:
    """f32 -> codes: times the scale's reciprocal, ties to even, NaN 0; as torch does."""
    q = np.rint(v * np.float32(inv)) + np.float32(zero)
    q = np.minimum(np.maximum(q, np.float32(low)), np.float32(high))
    return np.nan_to_num(q, nan=0).astype(np.uint8 if high > HIGH else np.int8)


def real(q: Any, scale: float, zero: int) -> Any:
    """Codes -> f32."""
    return (q.astype(np.float32) - np.float32(zero)) * np.float32(scale)


def lowest(zero: int, activation: str = "none") -> int:
    """The least code: a relu before rounding is a bound at real 0 after it."""
    return max(LOW, zero) if activation == "relu" else LOW


def to_words(scale: float, zero: int, low: int = LOW, high: int = HIGH) -> tuple[float | int, ...]:
    """lib/requant's struct To."""
    return (1 / scale, zero, low, high)


def bytes_grid(n: int) -> tuple[int, int, int]:
    """Workgroups of lib/out_int8: a word of four codes an invocation."""
    return grid1(ceil_div(n, 4), 64)


def scales_in_range(made: Op, *names: str) -> None:
    """The laws that every scale keeps."""
    for name in names:
        made.require(f"1e-37 < {name} < 1e37", f"{name} must be positive, and 1 / {name} an f32")


_ORDER = ("input", "scale", "zero_point", "quant_min", "quant_max", "dtype")


@op("f[*b] -> q8[*b]", order=_ORDER, dtype=lambda d: DTYPES[d.attrs["dtype"]])
def quantize_per_tensor(
    input, *, scale: float, zero_point: int, quant_min: int = LOW, quant_max: int = HIGH,
    dtype: str = "i8",
):  # fmt: skip
    """clamp(rint(input / scale) + zero_point, quant_min, quant_max), ties to even, NaN 0.

    dtype is i8 or u8 (upstream's kernel knows i8 at its full range only). Source:
    quantized_decomposed::quantize_per_tensor.
    """
    q = requantise(input, 1 / scale, zero_point, quant_min, quant_max)
    return q.astype(np.int8 if dtype == "i8" else np.uint8)


@quantize_per_tensor.kernel("quant/quantize")
def _(d: Dims) -> Launch:
    n = size(d.b)
    to = to_words(d.scale, d.zero_point, d.quant_min, d.quant_max)
    return Launch(bytes_grid(n), (*to, n, 0, 0, 0))


@op("q8[*b] -> f[*b]", order=_ORDER)
def dequantize_per_tensor(
    input, *, scale: float, zero_point: int, quant_min: int = LOW, quant_max: int = HIGH,
    dtype: str = "i8",
):  # fmt: skip
    """(input - zero_point) * scale as f32, of i8 or u8; quant_min, quant_max say nothing here.

    Source: quantized_decomposed::dequantize_per_tensor.
    """
    return real(input, scale, zero_point)


@dequantize_per_tensor.kernel("quant/dequantize")
def _(d: Dims) -> Launch:
    n = size(d.b)
    flip = 128 if d.input.dtype.kind == "i" else 0
    return Launch(grid1(n, 64), (float(d.scale), d.zero_point, flip, n), const={"res": "f32"})


@op("i8[#b], i8[#b] -> i8[*b]", order=(
    "input_a", "input_b", "input_a_scale", "input_a_zero_point", "input_b_scale",
    "input_b_zero_point", "output_scale", "output_zero_point", "alpha", "activation",
))  # fmt: skip
def q8ta_add(
    input_a, input_b, *, input_a_scale: float, input_a_zero_point: int, input_b_scale: float,
    input_b_zero_point: int, output_scale: float, output_zero_point: int, alpha: float = 1.0,
    activation: str = "none",
):  # fmt: skip
    """a + alpha * b of dequantised i8, requantised; shapes broadcast.

    activation "relu" comes before the requantisation: upstream's exporter drops it, which is right
    only where output_zero_point is -128. Source: et_vk.q8ta_add.
    """
    a = real(input_a, input_a_scale, input_a_zero_point)
    b = real(input_b, input_b_scale, input_b_zero_point)
    low = lowest(output_zero_point, activation)
    return requantise(a + np.float32(alpha) * b, 1 / output_scale, output_zero_point, low)


@q8ta_add.kernel("quant/q8ta_add")
def _(d: Dims) -> Launch:
    a, b, n = d.input_a.shape, d.input_b.shape, size(d.b)
    to = to_words(d.output_scale, d.output_zero_point, lowest(d.output_zero_point, d.activation))
    params = (*to, n, 0, d.input_a_zero_point, d.input_b_zero_point, float(d.input_a_scale),
              float(d.input_b_scale), float(d.alpha), int(a == b))  # fmt: skip
    walk = (*pad8(d.b, 1), *broadcast_strides(a, d.b), *broadcast_strides(b, d.b))
    return Launch(bytes_grid(n), (*params, *walk))


@op("i8[*b] -> i8[*b]", order=(
    "input", "input_scale", "input_zero_point", "output_scale", "output_zero_point"))  # fmt: skip
def q8ta_relu(
    input, *, input_scale: float, input_zero_point: int, output_scale: float, output_zero_point: int
):
    """relu of dequantised i8, requantised. Source: et_vk.q8ta_relu."""
    v = real(input, input_scale, input_zero_point)
    return requantise(v, 1 / output_scale, output_zero_point, lowest(output_zero_point, "relu"))


@q8ta_relu.kernel("quant/q8ta_shuffle")
def _(d: Dims) -> Launch:
    n, zero = size(d.b), d.output_zero_point
    to = to_words(d.output_scale, zero, lowest(zero, "relu"))
    return Launch(
        bytes_grid(n), (*to, n, float(d.input_scale), d.input_zero_point, 1, 1, 1, n or 1, 0)
    )


def _shuffled(d: Dims) -> tuple[int, ...]:
    r = d.upscale_factor
    if r < 1 or d.c % (r * r):
        raise ShapeError(f"q8ta_pixel_shuffle: {r} * {r} must divide the channels, got c={d.c}")
    return (*d.b, d.c // r // r, d.h * r, d.w * r)


@op("i8[*b c h w] -> i8[?]", shape=_shuffled, order=(
    "input", "input_scale", "input_zero_point", "output_inv_scale", "output_zero_point",
    "upscale_factor",
))  # fmt: skip
def q8ta_pixel_shuffle(
    input, *, input_scale: float, input_zero_point: int, output_inv_scale: float,
    output_zero_point: int, upscale_factor: int,
):  # fmt: skip
    """Depth to space of i8, requantised: [*b, c r r, h, w] -> [*b, c, h r, w r].

    output_inv_scale is 1 / the output's scale. Source: et_vk.q8ta_pixel_shuffle.
    """
    r, (*b, c, h, w) = upscale_factor, input.shape
    c //= r * r
    parts = input.reshape(-1, c, r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    v = real(parts, input_scale, input_zero_point).reshape(*b, c, h * r, w * r)
    return requantise(v, output_inv_scale, output_zero_point)


@q8ta_pixel_shuffle.kernel("quant/q8ta_shuffle")
def _(d: Dims) -> Launch:
    *_, c, h, w = shape = d.out[0].shape
    to = (float(d.output_inv_scale), d.output_zero_point, LOW, HIGH)
    params = (size(shape), float(d.input_scale), d.input_zero_point, d.upscale_factor, c, h, w, 0)
    return Launch(bytes_grid(size(shape)), (*to, *params))


for made in (quantize_per_tensor, q8ta_add, q8ta_relu, q8ta_pixel_shuffle):
    made.without_gradient("rounding is constant between its steps")
dequantize_per_tensor.without_gradient("codes are whole numbers: nothing to differentiate by")
for made in (quantize_per_tensor, dequantize_per_tensor):
    scales_in_range(made, "scale")
    made.require("dtype in ('i8', 'u8')", "dtype is i8 or u8")
scales_in_range(q8ta_add, "input_a_scale", "input_b_scale", "output_scale")
scales_in_range(q8ta_relu, "input_scale", "output_scale")
scales_in_range(q8ta_pixel_shuffle, "input_scale", "output_inv_scale")
q8ta_add.require("activation in ('none', 'relu')", "activation is none or relu")
quantize_per_tensor.require(
    "(quant_min >= -128 and quant_max <= 127 if dtype == 'i8' else quant_min >= 0 and "
    "quant_max <= 255) and quant_min <= quant_max",
    "quant_min .. quant_max must lie in dtype",
)
quantize_per_tensor.cases("4x8", "s:257", "1", "[]", "0x4", scale=0.05, zero_point=3)
quantize_per_tensor.cases("3x5", "s:24", scale=0.02, zero_point=-13, quant_min=-127, quant_max=100)
quantize_per_tensor.cases("7", scale=0.02, zero_point=99, quant_min=0, quant_max=255, dtype="u8")
quantize_per_tensor.refuses("4", "quantize_per_tensor: quant_min .. quant_max must lie in dtype, "
    "got dtype=i8, quant_min=0, quant_max=255", scale=1.0, zero_point=0, quant_min=0,
    quant_max=255)  # fmt: skip
quantize_per_tensor.refuses("4", "quantize_per_tensor: scale must be positive, and 1 / scale an "
    "f32, got scale=0.0", scale=0.0, zero_point=0)  # fmt: skip
dequantize_per_tensor.cases("4x8", "257", "1", "[]", "0x4", "u8:3x7", scale=0.1, zero_point=7)
dequantize_per_tensor.refuses("i:4", "dequantize_per_tensor: input must be i8 or u8, got i32",
                              scale=1.0, zero_point=0)  # fmt: skip
_ADD = {"input_a_scale": 0.05, "input_b_scale": 0.1, "output_scale": 0.08}
_ADD |= {"input_a_zero_point": 0, "input_b_zero_point": 3, "output_zero_point": -2}
q8ta_add.cases("4x8 4x8", "1 1", "3x5x7 3x5x7", "0x4 4", "4x1x3 1x5x1", **_ADD)
q8ta_add.cases("257 257", "3x5 5", alpha=-2, **_ADD)
q8ta_add.cases("257 257", activation="relu", **_ADD)
q8ta_add.refuses("2x3 2x4", "q8ta_add: [2, 3] and [2, 4] do not broadcast", **_ADD)
q8ta_add.refuses("2 2", "q8ta_add: activation is none or relu, got activation=tanh",
                 activation="tanh", **_ADD)  # fmt: skip
_SCALES = {"input_scale": 0.05, "input_zero_point": -3}
q8ta_relu.cases("4x8", "257", "1", "[]", "0x4", output_scale=0.08, output_zero_point=5, **_SCALES)
q8ta_relu.cases("65", output_scale=0.02, output_zero_point=-20, **_SCALES)
q8ta_relu.refuses("f:4", "q8ta_relu: input must be i8, got f32", output_scale=1.0,
                  output_zero_point=0, **_SCALES)  # fmt: skip
for factor, shapes in ((2, ("1x4x2x2", "2x3x8x3x5", "4x1x1", "0x4x2x2")), (3, ("1x9x2x5",)),
                       (1, ("1x3x3x3",))):  # fmt: skip
    q8ta_pixel_shuffle.cases(*shapes, output_inv_scale=12.5, output_zero_point=5,
                             upscale_factor=factor, **_SCALES)  # fmt: skip
q8ta_pixel_shuffle.refuses("6x2x2", "q8ta_pixel_shuffle: 2 * 2 must divide the channels, got c=6",
    output_inv_scale=1.0, output_zero_point=0, upscale_factor=2, **_SCALES)  # fmt: skip
