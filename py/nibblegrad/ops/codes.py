"""4-bit codes: packing weights and latents into them, and what they stand for.

Two codes a byte, even column in the low nibble, offset 8; scales f32 [groups, padded rows].
"""

from __future__ import annotations

from typing import Any

from ..core.launch import Generated, Launch, ceil_div, grid1
from ..core.lazy import np
from ..core.schema import Dims
from .op import op


def unpack_low(packed: Any, k: int) -> Any:
    """Signed codes [n, k] of bytes whose low nibble is the even column."""
    codes = np.empty((packed.shape[0], 2 * packed.shape[1]), np.float32)
    codes[:, 0::2], codes[:, 1::2] = packed & 15, packed >> 4
    return codes[:, :k] - 8


def dequantise_q4gsw(weights: Any, scales: Any, group_size: int, k: int) -> Any:
    """f32 [n, k] of q4gsw codes and scales."""
    groups = np.arange(k) // group_size
    return unpack_low(weights, k) * scales[groups, : weights.shape[0]].T


@op("f[n k], f[s c] -> u8[n p]", order=("latent", "scales", "group_size"),
    shape=lambda d: (d.n, ceil_div(d.k, 2)))  # fmt: skip
def q4gsw_requant(latent, scales, *, group_size: int):
    """Codes of f32 latent weights under frozen scales: round half to even, clamp, pack.

    latent f32 [n, k], scales f32 [groups, >= n] -> u8 [n, ceil(k/2)]. A zero scale gives code 8
    (weight 0); an odd k leaves the last high nibble 0. Source: et_vk.q4gsw_requant.
    """
    n, k = latent.shape
    s = scales[np.arange(k) // group_size, :n].T
    with np.errstate(all="ignore"):
        q = np.where(s == 0, 0, np.rint(latent / s))
    codes = np.clip(np.nan_to_num(q), -8, 7).astype(np.int32) + 8
    packed = np.zeros((n, (k + 1) // 2), np.uint8)
    packed[:] = codes[:, 0::2]
    packed[:, : k // 2] |= (codes[:, 1::2] << 4).astype(np.uint8)
    return packed


def _pack(d: Dims, ratio: str) -> Launch:
    p = ceil_div(d.k, 2)
    words = ceil_div(d.n * p, 4)
    function = Generated(ratio, f"fn ratio(latent: f32, scale: f32) -> f32 {{ return {ratio}; }}")
    params = (d.n, d.k, p, d.group_size, d.c, words)
    return Launch(grid1(words, 64), params, link=(function,))


q4gsw_requant.kernel("quant/q4gsw_requant")(lambda d: _pack(d, "divide(latent, scale)"))


@op("f[n k], f[s c] -> u8[n p]", order=("w", "scales", "group_size"),
    shape=lambda d: (d.n, ceil_div(d.k, 2)))  # fmt: skip
def q4gsw_quantize(w, scales, *, group_size: int):
    """Codes of a weight under its own scales, packed as q4gsw_requant does.

    Multiplies by 1 / scale where requant divides, as the two differ upstream: ties may fall apart.
    Source: torchao IntxWeightOnlyConfig(int4, PerGroup) and ExecuTorch's packer.
    """
    s = scales[np.arange(w.shape[1]) // group_size, : w.shape[0]].T
    with np.errstate(all="ignore"):
        latent = np.where(s == 0, 0, w * (np.asarray(1, w.dtype) / s))
    return q4gsw_requant.body(latent, np.ones_like(scales), group_size=group_size)


q4gsw_quantize.kernel("quant/q4gsw_requant")(lambda d: _pack(d, "latent * divide(1.0, scale)"))


@op("f[n k] -> f[s c]", shape=lambda d: (d.k // d.group_size, ceil_div(d.n, 4) * 4), tol=0)
def q4gsw_scales(w, *, group_size: int):
    """Symmetric group scales of a weight: largest magnitude / 7.5, group-major, n padded to 4.

    Source: torchao IntxWeightOnlyConfig(int4, PerGroup), as ExecuTorch lays it out.
    """
    n, k = w.shape
    peak = np.abs(w.reshape(n, k // group_size, group_size)).max(-1)
    tiny = np.finfo(np.float32).tiny
    scales = np.zeros((k // group_size, -(-n // 4) * 4), w.dtype)
    scales[:, :n] = np.maximum(peak / np.asarray(7.5, w.dtype), np.asarray(tiny, w.dtype)).T
    return scales


@q4gsw_scales.kernel("quant/q4gsw_scales")
def _(d: Dims) -> Launch:
    c = ceil_div(d.n, 4) * 4
    groups = d.k // d.group_size
    return Launch(grid1(groups * c, 64), (d.n, d.k, d.group_size, c, groups, 0, 0, 0))


q4gsw_quantize.without_gradient("straight-through: the latent's gradient is linear_dW")
q4gsw_requant.without_gradient("straight-through: the latent's gradient is linear_dW")
q4gsw_scales.without_gradient("scales are frozen while training")
for made in (q4gsw_requant, q4gsw_quantize):
    made.require("s * group_size >= k", "scales must have a row for every group of k")
    made.require("c >= n", "scales must have a column for every output row")
    made.cases("4x64 2x4", "5x96 3x8", "1x8 1x4", "0x32 1x4", group_size=32)
    made.cases("6x129 3x8", "3x1 1x4", group_size=64)
    made.refuses("4x64 1x4", f"{made.name}: scales must have a row for every group of k, "
                 "got s=1, group_size=32, k=64", group_size=32)  # fmt: skip
q4gsw_scales.require("k % group_size == 0", "k must be a multiple of group_size")
q4gsw_scales.cases("4x64", "5x96", "1x32", "0x32", group_size=32)
q4gsw_scales.refuses("4x33", "q4gsw_scales: k must be a multiple of group_size, "
    "got k=33, group_size=32", group_size=32)  # fmt: skip
