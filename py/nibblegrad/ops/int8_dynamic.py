"""Activations quantised as they come: their scales and zero points a row, and the 4-bit linear that
works under them."""

from __future__ import annotations

from ..core.errors import ShapeError
from ..core.launch import Launch, ceil_div, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .codes import dequantise_q4gsw
from .op import op

MAPPINGS = ("ASYMMETRIC", "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR")
TINY = 2.0**-126  # the least normal f32


def _rows(d: Dims) -> list[tuple[int, ...]]:
    k = d.b[-1] if d.b else 0
    if k == 0 or tuple(d.block_size) != (*[1] * (len(d.b) - 1), k):
        raise ShapeError(
            f"choose_qparams_affine: block_size must be [1, .., 1, k] of an input [.., k] with "
            f"k > 0, got block_size={list(d.block_size)}, input={list(d.b)}"
        )
    rows = (*d.b[:-1], 1) if d.keepdim else d.b[:-1]
    return [rows, rows]


@op("f[*b] -> f[*r], i8[*r]", shape=_rows, order=(
    "input", "mapping_type", "block_size", "target_dtype", "quant_min", "quant_max", "eps",
    "scale_dtype", "zero_point_dtype", "keepdim",
))  # fmt: skip
def choose_qparams_affine(
    input, *, mapping_type: str = "ASYMMETRIC", block_size: tuple, target_dtype: str = "i8",
    quant_min: int = -128, quant_max: int = 127, eps: float | None = None,
    scale_dtype: str = "f32", zero_point_dtype: str = "i8", keepdim: bool = False,
):  # fmt: skip
    """Each row's scale (f32) and zero point (i8), from its least and largest number and 0.

    input f32 [*b, k], block_size [1, .., 1, k]; mapping_type ASYMMETRIC, SYMMETRIC or
    SYMMETRIC_NO_CLIPPING_ERR; no scale below eps, else the least normal f32. A row with a NaN gives
    NaN and 0. Source: torchao::choose_qparams_affine (upstream's kernel has another floor; of k = 1
    torchao takes the whole tensor for one row, we do not).
    """
    f = np.float32
    low, high = (np.asarray(v, f) for v in (quant_min, quant_max))
    least, most = np.minimum(input.min(-1), f(0)), np.maximum(input.max(-1), f(0))
    with np.errstate(all="ignore"):
        if mapping_type == "ASYMMETRIC":
            scale = (most - least) / (high - low)
        elif mapping_type == "SYMMETRIC":
            scale = np.maximum(-least, most) / f((high - low) / 2)
        else:
            scale = np.maximum(least / low, most / high)
        scale = np.maximum(scale, f(eps or TINY))
        zero = np.clip(low - np.rint(least / scale), low, high)
    if mapping_type != "ASYMMETRIC":
        zero = np.full_like(scale, _middle(quant_min, quant_max))
    zero = np.where(np.isnan(zero + scale), 0, zero).astype(np.int8)
    shape = (*input.shape[:-1], 1) if keepdim else input.shape[:-1]
    return scale.reshape(shape), zero.reshape(shape)


def _middle(low: int, high: int) -> int:
    return int((low + high + 1) / 2)


def _choose(d: Dims, rows: int, lanes: int) -> Launch:
    m = size(d.b[:-1])
    ends = (float(d.quant_min), float(d.quant_max), float(d.eps or TINY))
    middle = _middle(d.quant_min, d.quant_max)
    return Launch(
        grid1(m, rows), (m, d.b[-1], *ends, middle, 0, 0),
        {"ROWS": rows, "LANES": lanes}, {"MODE": MAPPINGS.index(d.mapping_type)},
    )  # fmt: skip


@choose_qparams_affine.kernel("quant/choose_qparams")
def _(d: Dims) -> Launch | None:
    return None if d.caps.software else _choose(d, 4, 32)


@choose_qparams_affine.kernel("quant/choose_qparams")
def _(d: Dims) -> Launch:
    return _choose(d, 16, 1)


def _out(d: Dims) -> tuple[int, ...]:
    m = size(d.b)
    if size(d.r) != m or size(d.z) != m:
        raise ShapeError(
            f"linear_dq8ca_q4gsw: input_scales and input_zp must have one for each of the {m} rows "
            f"of input, got {list(d.r)} and {list(d.z)}"
        )
    return (*d.b, d.n)


@op(
    "f[*b k], f[*r], i8[*z], u8[n p], i[*q]?, f[s c], f[e]? -> f[*b n]",
    shape=_out,
    tol=2e-5,
    order=("input", "input_scales", "input_zp", "weights", "weight_sums", "weight_scales",
           "group_size", "bias"),
)  # fmt: skip
def linear_dq8ca_q4gsw(
    input, input_scales, input_zp, weights, weight_sums, weight_scales, bias=None, *,
    group_size: int,
):  # fmt: skip
    """linear_q4gsw of input rounded to its rows' int8 codes: scale * (code - zero point).

    input f32 [*b, k], input_scales f32 and input_zp i8 one a row, weights and weight_scales as of
    linear_q4gsw, bias f32 [>= n]; weight_sums is not read. Codes round as torchao's do, by the
    scale's reciprocal. Source: et_vk.linear_dq8ca_q4gsw (its eager twin quantises nothing).
    """
    s, z = input_scales.reshape(*input.shape[:-1], 1), input_zp.reshape(*input.shape[:-1], 1)
    with np.errstate(all="ignore"):
        codes = np.rint(input * (np.float32(1) / s)) + z
    codes = np.minimum(np.maximum(codes, -128), 127) - z
    w = dequantise_q4gsw(weights, weight_scales, group_size, input.shape[-1])
    y = (codes.astype(np.float32) @ w.T) * s
    return y if bias is None else y + bias[: len(weights)]


def _dynamic(d: Dims, grid: tuple[int, int, int], **const: int) -> Launch:
    sizes = (d.k, d.group_size, d.c, d.p, size(d.b), d.n, d.k, int(d.bias is not None))
    kept = ("weights", "weight_scales")
    return Launch(
        grid, sizes, const={**const}, link=("format/q4gsw", "quant/dq8_rows"), weights=kept
    )


@linear_dq8ca_q4gsw.kernel("quant/dq8_tile")
def _(d: Dims) -> Launch | None:
    if d.k % 4 or d.group_size % 4:
        return None
    m = size(d.b)
    rows = 1 if m == 1 else 4
    return _dynamic(d, grid1(ceil_div(m, rows) * ceil_div(d.n, 4), 64), ROWS=rows)


@linear_dq8ca_q4gsw.kernel("quant/dq8_naive")
def _(d: Dims) -> Launch:
    return _dynamic(d, grid1(size(d.b) * d.n, 64))


choose_qparams_affine.without_gradient("torchao keeps scales and zero points out of autograd")
linear_dq8ca_q4gsw.without_gradient("rounding is constant between its steps; train linear_q4gsw")
choose_qparams_affine.require(f"mapping_type in {MAPPINGS}", f"mapping_type is {MAPPINGS}")
choose_qparams_affine.require(
    "target_dtype == 'i8' and zero_point_dtype == 'i8' and scale_dtype == 'f32'",
    "codes and zero points are i8, scales f32",
)
choose_qparams_affine.require(
    "-128 <= quant_min and quant_min < quant_max and quant_max <= 127",
    "quant_min < quant_max must lie in i8",
)
choose_qparams_affine.require(
    "mapping_type != 'SYMMETRIC_NO_CLIPPING_ERR' or quant_min < 0 and quant_max > 0",
    "quant_min and quant_max must lie round 0",
)
for mapping in MAPPINGS:
    for shapes, block in (("4x32", (1, 32)), ("17x1", (1, 1)), ("2x3x67", (1, 1, 67)), ("5", (5,))):
        choose_qparams_affine.cases(shapes, mapping_type=mapping, block_size=block)
    choose_qparams_affine.cases("6x7", mapping_type=mapping, block_size=(1, 7), quant_min=-127,
                                eps=0.01, keepdim=True)  # fmt: skip
choose_qparams_affine.cases("0x4", mapping_type="ASYMMETRIC", block_size=(1, 4))
choose_qparams_affine.refuses("4x8", "choose_qparams_affine: block_size must be [1, .., 1, k] of "
    "an input [.., k] with k > 0, got block_size=[1, 4], input=[4, 8]", mapping_type="ASYMMETRIC",
    block_size=(1, 4))  # fmt: skip
choose_qparams_affine.refuses("4x8", "choose_qparams_affine: codes and zero points are i8, scales "
    "f32, got target_dtype=i8, zero_point_dtype=i32, scale_dtype=f32", mapping_type="ASYMMETRIC",
    block_size=(1, 8), zero_point_dtype="i32")  # fmt: skip
for law, why in (
    ("group_size > 0", "group_size must be positive"),
    ("2 * p == k + k % 2", "weights must hold ceil(k / 2) bytes a row"),
    ("s * group_size >= k", "weight_scales must have a row for every group of k"),
    ("c >= n", "weight_scales must have a column for every output row"),
    ("bias is None or e >= n", "bias must have one for every output"),
):
    linear_dq8ca_q4gsw.require(law, why)
linear_dq8ca_q4gsw.cases(
    "4x64 4 4 16x32 2x16 2x16 16", "1x64 1 1 12x32 - 2x12 -", "2x3x96 6 2x3 5x48 - 3x8 8",
    "0x32 0 0 4x16 - 1x4 -", "9x36 9x1 9x1 3x18 - 2x4 3", group_size=32,
)  # fmt: skip
linear_dq8ca_q4gsw.cases("3x7 3 3 5x4 - 3x5 -", "1x1 1 1 1x1 - 1x1 1", group_size=3)
linear_dq8ca_q4gsw.refuses("5x8 4 5 4x4 - 1x4 -", "linear_dq8ca_q4gsw: input_scales and input_zp "
    "must have one for each of the 5 rows of input, got [4] and [5]", group_size=8)  # fmt: skip
