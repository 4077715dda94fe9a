"""Linears over int8 activations: per-channel int8 weights, or 4-bit ones under activations that are
quantised on the way. Sums are whole numbers, so int8 results are exact."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, ceil_div, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .int8 import bytes_grid, lowest, requantise, scales_in_range, to_words
from .op import Op, op

_X = ("x", "input_scale", "input_zero_point", "weights", "weight_sums", "weight_scales")


def scaled(acc: Any, input_scale: float, scales: Any, bias: Any) -> Any:
    """Whole sums [.., n] as f32: times both scales, plus the bias, in this order."""
    n = acc.shape[-1]
    y = acc.astype(np.float32) * np.float32(input_scale) * scales[:n]
    return y if bias is None else y + bias[:n]


def _sums(x: Any, zero: int, weights: Any) -> Any:
    """sum_k (x - zero) * w, exactly: f64 holds every whole number below 2^53."""
    return (x.astype(np.float64) - zero) @ weights.astype(np.float64).T


@op("i8[*b k], i8[n k], i[q]?, f[s], f[z]? -> f[*b n]", order=(*_X, "bias"), tol=0)
def linear_q8ta_q8csw(
    x, weights, weight_sums, weight_scales, bias=None, *, input_scale: float, input_zero_point: int
):
    """(x - input_zero_point) * input_scale @ (weights * weight_scales).T + bias, as f32.

    x i8 [*b, k], weights i8 [n, k], weight_scales and bias f32 [>= n]. weight_sums is not read.
    Source: et_vk.linear_q8ta_q8csw (its eager twin forgets to dequantise x).
    """
    return scaled(_sums(x, input_zero_point, weights), input_scale, weight_scales, bias)


_ORDER = (*_X, "output_scale", "output_zero_point", "bias", "activation")
_SCHEMA = "i8[*b k], i8[n k], i[q]?, f[s], f[z]? -> i8[*b n]"


@op(_SCHEMA, order=_ORDER)
def q8ta_linear(
    x, weights, weight_sums, weight_scales, bias=None, *, input_scale: float,
    input_zero_point: int, output_scale: float, output_zero_point: int, activation: str = "none",
):  # fmt: skip
    """linear_q8ta_q8csw, then a relu if activation says so, requantised to i8.

    Source: et_vk.q8ta_linear, et_vk.q8ta_linear_gemv (which differ in nothing).
    """
    v = scaled(_sums(x, input_zero_point, weights), input_scale, weight_scales, bias)
    low = lowest(output_zero_point, activation)
    return requantise(v, 1 / output_scale, output_zero_point, low)


q8ta_linear_gemv = Op(_SCHEMA, q8ta_linear.body, order=_ORDER, name="q8ta_linear_gemv")


def _params(d: Dims) -> tuple[float | int, ...]:
    m, to = size(d.b), (0, 0, 0, 0)
    if "output_scale" in d.attrs:
        low = lowest(d.output_zero_point, d.activation)
        to = to_words(d.output_scale, d.output_zero_point, low)
    sizes = (m * d.n, m, d.n, d.k, float(d.input_scale), d.input_zero_point)
    return (*to, *sizes, int(d.bias is not None), 0)


def _stored(d: Dims) -> tuple[bool, str]:
    codes = "output_scale" in d.attrs
    return codes, "quant/as_i8" if codes else "quant/as_f32"


def _routes(made: Op) -> None:
    @made.kernel("quant/q8_linear_tile")
    def _(d: Dims) -> Launch | None:
        m = size(d.b)
        if d.k % 4 or d.n % 4:
            return None
        rows = 1 if m == 1 else 4
        dot = "quant/dot_packed" if d.caps.packed_dot else "quant/dot_bytes"
        grid = grid1(ceil_div(m, rows) * (d.n // 4), 64)
        # as_f32 has no requantisation: lib/requant still names the params' first part
        link = ("lib/requant", _stored(d)[1], dot)
        return Launch(grid, _params(d), const={"ROWS": rows}, link=link)

    @made.kernel("quant/q8_linear_naive")
    def _(d: Dims) -> Launch:
        n, (codes, finish) = size(d.b) * d.n, _stored(d)
        link = ("lib/requant", finish, "lib/out_int8" if codes else "lib/out_words")
        grid = bytes_grid(n) if codes else grid1(n, 64)
        return Launch(grid, _params(d), const={"res": "i32" if codes else "f32"}, link=link)


for made in (linear_q8ta_q8csw, q8ta_linear, q8ta_linear_gemv):
    _routes(made)
    made.require("s >= n", "weight_scales must have one for every output")
    made.require("bias is None or z >= n", "bias must have one for every output")
    scales_in_range(made, "input_scale")
    made.without_gradient("codes are whole numbers: nothing to differentiate by")
    q8csw = made is linear_q8ta_q8csw
    attrs = {"input_scale": 0.05, "input_zero_point": -3}
    if not q8csw:
        attrs |= {"output_scale": 0.7, "output_zero_point": 5}
        made.require("activation in ('none', 'relu')", "activation is none or relu")
        scales_in_range(made, "output_scale")
    made.cases("4x32 16x32 16 16 16", "1x16 8x16 8 8 -", "2x3x8 12x8 - 12 12", **attrs)
    made.cases("3x7 5x7 5 8 8", "1x1 1x1 1 1 1", "0x8 4x8 4 4 -", "5x0 4x0 4 4 4", **attrs)
    made.cases("33x64 20x64 20 20 20", "8 4x8 4 4 4", "9x12 7x12 - 7 7", **attrs)
    made.refuses("4x8 4x7 4 4 -", f"{made.name}: weights has k=7 but x has k=8", **attrs)
    made.refuses("4x8 4x8 4 3 -", f"{made.name}: weight_scales must have one for every output, "
                 "got s=3, n=4", **attrs)  # fmt: skip
    if not q8csw:
        made.cases("5x16 8x16 8 8 8", "5x6 3x6 3 3 3", **{**attrs, "activation": "relu"})
