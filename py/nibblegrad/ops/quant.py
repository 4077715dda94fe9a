"""The 4-bit family of ExecuTorch: packed codes, group scales, byte-equal to upstream's layouts.

q4gsw: codes u8 [n, ceil(k/2)], even k in the low nibble, offset 8; scales f32 [g, padded n],
group-major. qcs4w: even k in the HIGH nibble; scales f32 [n], one an output row.
"""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, size
from ..core.lazy import np
from ..core.schema import Dims
from . import tiles
from .codes import dequantise_q4gsw, unpack_low
from .linear import HALVES, column_sum
from .op import op


def _q4(d: Dims) -> tuple[int, int, int, int]:
    """params.w of a q4gsw weight: k, group size, scale stride, bytes a row."""
    return (d.k, d.group_size, d.c, d.p)


Q4_ORDER = ("self", "weights", "weight_scales", "group_size", "bias")
_LAWS = (
    ("group_size > 0", "group_size must be positive"),
    ("2 * p == k + k % 2", "weights must hold ceil(k / 2) bytes a row"),
    ("n * p % 4 == 0", "weights must be a whole number of 4-byte words (n * ceil(k / 2))"),
    ("s * group_size >= k", "weight_scales must have a row for every group of k"),
    ("c >= n", "weight_scales must have a column for every output row"),
)


@op("f[*b k], u8[n p], f[s c], f[n]? -> f[*b n]", order=Q4_ORDER, tol=2e-5)
def linear_q4gsw(self, weights, weight_scales, bias=None, *, group_size: int):
    """self @ dequantise(weights).T + bias, the 4-bit codes read as they lie.

    self f32 [*b, k], weights u8 [n, ceil(k/2)], weight_scales f32 [groups, >= n], bias f32 [n].
    Source: et_vk.linear_q4gsw.
    """
    w = dequantise_q4gsw(weights, weight_scales, group_size, self.shape[-1])
    y = self @ w.T
    return y if bias is None else y + bias


@linear_q4gsw.kernel("matmul/linear_row")
def _(d: Dims) -> Launch | None:
    if d.caps.software or size(d.b) > 4 or d.k % 8 or d.group_size % 4:
        return None
    return tiles.row(d, "q4gsw", _q4(d), d.bias is not None)


@linear_q4gsw.kernel("matmul/linear_matrix", tol=HALVES)
def _(d: Dims) -> Launch | None:
    return None if d.group_size % 8 else tiles.matrix(d, "q4gsw", _q4(d), d.bias is not None)


@linear_q4gsw.kernel("matmul/linear_shared")
def _(d: Dims) -> Launch | None:
    if d.caps.software or size(d.b) < 16 or d.k % 16 or d.n < 32 or d.group_size % 4:
        return None
    return tiles.shared(d, "q4gsw", _q4(d), d.bias is not None)


@linear_q4gsw.kernel("matmul/linear_tile8")
def _(d: Dims) -> Launch | None:
    if d.group_size % 8:
        return None
    return tiles.tile8(d, d.n, "q4gsw", _q4(d), d.bias is not None)


@linear_q4gsw.kernel("matmul/linear_tile")
def _(d: Dims) -> Launch | None:
    if d.k % 8 or d.group_size % 4:
        return None
    return tiles.tile(d, "q4gsw", _q4(d), d.bias is not None)


@linear_q4gsw.kernel("matmul/linear_naive")
def _(d: Dims) -> Launch:
    return tiles.each(d, d.n, "q4gsw", _q4(d), d.bias is not None)


@linear_q4gsw.vjp
def _(g: Any, out: Any, x: Any, weights: Any, scales: Any, bias: Any, *, group_size: int):
    return (
        lambda: linear_q4gsw_backward(g, weights, scales, group_size, k=x.shape[-1]),
        None,
        None,
        lambda: column_sum(g),
    )


linear_q4gsw.saves(self="weights weight_scales", bias="")


@op(
    "f[*b n], u8[n p], f[s c] -> f[*b k]",
    order=("d_out", "weights", "weight_scales", "group_size", "k"),
    shape=lambda d: (*d.b, _k(d)),
    tol=2e-5,
)
def linear_q4gsw_backward(d_out, weights, weight_scales, *, group_size: int, k: int | None = None):
    """d_out @ dequantise(weights): the gradient of linear_q4gsw to its input, f32 [*b, k].

    `k` is needed only where it is odd; otherwise 2 * weights.shape[1]. Source:
    et_vk.linear_q4gsw_backward.
    """
    k = k or 2 * weights.shape[1]
    return d_out @ dequantise_q4gsw(weights, weight_scales, group_size, k)


def _k(d: Dims) -> int:
    return d.attrs["k"] or 2 * d.p


def _backward_w(d: Dims) -> tuple[int, int, int, int]:
    d.values["k"] = _k(d)
    return (d.values["k"], d.group_size, d.c, d.p)


@linear_q4gsw_backward.kernel("matmul/linear_grad_x_matrix", tol=HALVES)
def _(d: Dims) -> Launch | None:
    w = _backward_w(d)
    return None if d.group_size % 8 else tiles.grad_matrix(d, "q4gsw", w)


@linear_q4gsw_backward.kernel("matmul/linear_grad_x_shared")
def _(d: Dims) -> Launch | None:
    w = _backward_w(d)
    return None if d.k % 8 or d.group_size % 4 else tiles.grad_shared(d, "q4gsw", w)


@linear_q4gsw_backward.kernel("matmul/linear_grad_x_tile8")
def _(d: Dims) -> Launch | None:
    w = _backward_w(d)
    if d.n % 4 or d.group_size % 8:
        return None
    return tiles.tile8(d, d.k, "q4gsw", w, False)


@linear_q4gsw_backward.kernel("matmul/linear_grad_x_tile")
def _(d: Dims) -> Launch | None:
    w = _backward_w(d)
    if d.k % 8 or d.n % 4 or d.group_size % 4:
        return None
    return tiles.grad_tile(d, "q4gsw", w)


@linear_q4gsw_backward.kernel("matmul/linear_grad_x_naive")
def _(d: Dims) -> Launch:
    w = _backward_w(d)
    return tiles.each(d, d.k, "q4gsw", w, False)


@linear_q4gsw_backward.vjp
def _(h: Any, out: Any, g: Any, weights: Any, scales: Any, *, group_size: int, k: int | None):
    return (lambda: linear_q4gsw(h, weights, scales, group_size), None, None)


@op("f[*b k], u8[n p], f[n], f[n]? -> f[*b n]", tol=2e-5)
def linear_qcs4w(self, weight, scales, bias=None):
    """self @ (codes - 8).T * scales: one scale an output row, even k in the HIGH nibble.

    self f32 [*b, k], weight u8 [n, ceil(k/2)], scales f32 [n], bias f32 [n]. Source:
    et_vk.linear_qcs4w (its kernel; the eager twin forgets the offset of 8, and bias is ours).
    """
    swapped = (weight >> 4) | ((weight & 15) << 4)
    y = (self @ unpack_low(swapped.astype(np.uint8), self.shape[-1]).T) * scales
    return y if bias is None else y + bias


def _qcs4w(d: Dims) -> tuple[int, int, int, int]:
    return (d.k, 0, 0, d.p)


@linear_qcs4w.kernel("matmul/linear_tile8")
def _(d: Dims) -> Launch | None:
    return tiles.tile8(d, d.n, "qcs4w", _qcs4w(d), d.bias is not None)


@linear_qcs4w.kernel("matmul/linear_tile")
def _(d: Dims) -> Launch | None:
    return None if d.k % 8 else tiles.tile(d, "qcs4w", _qcs4w(d), d.bias is not None)


@linear_qcs4w.kernel("matmul/linear_naive")
def _(d: Dims) -> Launch:
    return tiles.each(d, d.n, "qcs4w", _qcs4w(d), d.bias is not None)


@linear_qcs4w.vjp
def _(g: Any, out: Any, x: Any, weight: Any, scales: Any, bias: Any):
    dx = lambda: linear_qcs4w_backward(g, weight, scales, k=x.shape[-1])  # noqa: E731
    return dx, None, None, lambda: column_sum(g)


linear_qcs4w.saves(self="weight scales", bias="")


@op("f[*b n], u8[n p], f[n] -> f[*b k]", shape=lambda d: (*d.b, _k(d)), tol=2e-5)
def linear_qcs4w_backward(d_out, weight, scales, *, k: int | None = None):
    """(d_out * scales) @ (codes - 8): the gradient of linear_qcs4w to its input, f32 [*b, k].

    `k` is needed only where it is odd. Upstream has none; this is ours.
    """
    swapped = ((weight >> 4) | ((weight & 15) << 4)).astype(np.uint8)
    return (d_out * scales) @ unpack_low(swapped, k or 2 * weight.shape[1])


@linear_qcs4w_backward.kernel("matmul/linear_grad_x_tile")
def _(d: Dims) -> Launch | None:
    d.values["k"] = _k(d)
    return None if d.k % 8 or d.n % 4 else tiles.grad_tile(d, "qcs4w", _qcs4w(d))


@linear_qcs4w_backward.kernel("matmul/linear_grad_x_naive")
def _(d: Dims) -> Launch:
    d.values["k"] = _k(d)
    return tiles.each(d, d.k, "qcs4w", _qcs4w(d), False)


linear_qcs4w_backward.without_gradient("second derivatives of the 4-bit linears are not needed")
linear_qcs4w_backward.require("n * p % 4 == 0", _LAWS[2][1].replace("weights", "weight"))
linear_qcs4w_backward.cases("3x12 12x32 12", "9x4 4x4 4", "2x4 4x1 4", "1x4 4x1 4", "0x4 4x4 4")
linear_qcs4w_backward.cases("3x4 4x4 4", k=7)
linear_qcs4w_backward.refuses("2x5 4x4 4",
    "linear_qcs4w_backward: weight has n=4 but d_out has n=5")  # fmt: skip
for law in _LAWS:
    linear_q4gsw.require(*law)
    linear_q4gsw_backward.require(
        law[0].replace("k", "(k or 2 * p)") if "k" in law[0] else law[0], law[1]
    )
linear_qcs4w.require("2 * p == k + k % 2", "weight must hold ceil(k / 2) bytes a row")
linear_qcs4w.require("n * p % 4 == 0", _LAWS[2][1].replace("weights", "weight"))
linear_q4gsw.cases("1x64 8x32 2x8 8", "3x64 12x32 2x12 -", "9x96 36x48 3x36 36", group_size=32)
linear_q4gsw.cases("0x32 4x16 1x4 -", "20x64 64x32 2x64 -", group_size=32)
linear_q4gsw.cases("3x7 4x4 1x4 -", "1x1 4x1 1x4 4", "3x36 6x18 5x8 -", group_size=8)
linear_q4gsw_backward.cases("3x12 12x32 2x12", "1x8 8x32 2x8", "9x36 36x48 3x36", group_size=32)
linear_q4gsw_backward.cases("0x4 4x16 1x4", group_size=32)
linear_q4gsw_backward.cases("3x4 4x4 1x4", group_size=8, k=7)
linear_q4gsw_backward.cases("2x5 5x20 5x8", group_size=8)
linear_qcs4w.cases(
    "9x64 12x32 12 12",
    "3x64 12x32 12 12",
    "1x8 4x4 4 -",
    "2x7 4x4 4 -",
    "1x1 4x1 4 -",
    "0x8 4x4 4 -",
)
linear_q4gsw.refuses("2x8 4x3 1x4 -",
    "linear_q4gsw: weights must hold ceil(k / 2) bytes a row, got p=3, k=8",
    group_size=32)  # fmt: skip
linear_q4gsw.refuses("2x2 3x1 1x4 -", "linear_q4gsw: weights must be a whole number of 4-byte "
    "words (n * ceil(k / 2)), got n=3, p=1", group_size=32)  # fmt: skip
linear_q4gsw.refuses("2x64 4x32 1x4 -", "linear_q4gsw: weight_scales must have a row for every "
    "group of k, got s=1, group_size=32, k=64", group_size=32)  # fmt: skip
linear_q4gsw_backward.refuses("2x5 4x4 1x4",
    "linear_q4gsw_backward: weights has n=4 but d_out has n=5", group_size=32)  # fmt: skip
linear_qcs4w.refuses("2x8 4x3 4 -",
    "linear_qcs4w: weight must hold ceil(k / 2) bytes a row, got p=3, k=8")  # fmt: skip
