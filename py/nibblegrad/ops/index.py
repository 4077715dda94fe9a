"""Rows picked by index: embeddings in any stored format, and the rows that carry loss."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .codes import unpack_low
from .op import op


@op("w[v k], i[*b] -> f[*b k]", order=("weight", "indices"))
def embedding(weight, indices):
    """Rows of weight, as f32. weight [v, k] as stored, indices i32 [*b] in 0 .. v-1.

    An index outside reads as zeros. Source: aten::embedding.
    """
    return _rows(weight, indices)


def _rows(table: Any, indices: Any) -> Any:
    """table[indices]; zeros where there is no such row."""
    inside = (indices >= 0) & (indices < len(table))
    if not len(table):
        return np.zeros((*indices.shape, table.shape[1]), table.dtype)
    return np.where(inside[..., None], table[np.where(inside, indices, 0)], 0)


@embedding.kernel("index/embedding")
def _(d: Dims) -> Launch:
    n = size(d.b) * d.k
    link = (f"format/{d.weight.dtype.name}",)
    return Launch(grid1(n, 64), (d.k, 0, 0, 0, n, d.k, d.v, 0), link=link)


@embedding.vjp
def _(g: Any, out: Any, weight: Any, indices: Any):
    return (lambda: index_add(g, indices, n=weight.shape[0]), None)


embedding.saves(weight="indices")


@op("f[*b k], i[*b] -> f[n k]", shape=lambda d: (d.n, d.k), order=("g", "indices", "n"), tol=2e-5)
def index_add(g, indices, *, n: int):
    """Zeros [n, k] with row g[i] added to row indices[i], summed in index order: deterministic.

    The adjoint of index_select and embedding. Indices outside 0 .. n-1 add nothing.
    """
    out = np.zeros((n, g.shape[-1]), g.dtype)
    flat, rows = indices.reshape(-1), g.reshape(indices.size, g.shape[-1])
    inside = (flat >= 0) & (flat < n)
    np.add.at(out, flat[inside], rows[inside])
    return out


@index_add.kernel("index/index_add")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.n * d.k, 64), (d.attrs["n"], d.k, size(d.b), 0))


index_add.vjp(lambda h, out, g, indices, *, n: (lambda: embedding(h, indices), None))


@op("u8[v p], f[v s], i[*b] -> f[*b k]", shape=lambda d: (*d.b, 2 * d.p),
    order=("weight", "weight_scales", "group_size", "indices", "is_linear_weight"))  # fmt: skip
def embedding_q4gsw(
    weight, weight_scales, indices, *, group_size: int, is_linear_weight: bool = False
):
    """Rows of a 4-bit table: (code - 8) * scale.

    weight u8 [v, k/2], weight_scales f32 [v, k/group_size], indices i32 [*b] in 0 .. v-1 (others
    read as zeros) -> f32 [*b, k]. is_linear_weight: even columns in the low nibble, else in the
    high one. Source: et_vk.embedding_q4gsw.
    """
    packed = weight if is_linear_weight else (weight >> 4) | ((weight & 15) << 4)
    codes = unpack_low(packed.astype(np.uint8), 2 * weight.shape[1])
    return _rows(codes * np.repeat(weight_scales, group_size, 1), indices)


@embedding_q4gsw.kernel("index/embedding_q4gsw")
def _(d: Dims) -> Launch:
    n, k = size(d.b) * 2 * d.p, 2 * d.p
    params = (n, k, d.v, d.group_size, d.s, int(d.is_linear_weight), 0, 0)
    return Launch(grid1(n, 64), params)


embedding_q4gsw.without_gradient("the codes are frozen")
embedding_q4gsw.require("group_size > 0", "group_size must be positive")
embedding_q4gsw.require("s * group_size == 2 * p", "weight_scales must hold k / group_size a row")
index_add.require("n >= 0", "n must not be negative")
embedding.cases("7x5 i:3", "1x1 i:1", "0x5 i:3", "9x32 i:2x3", "40x96 i:17", "7x5 i:0")
index_add.cases("3x5 i:3", "17x4 i:17", "2x3x5 i:2x3", "0x5 i:0", "4x0 i:4", "5 i:[]", n=7)
index_add.cases("1x1 i:1", n=1)
embedding_q4gsw.cases("8x32 8x2 i:5", "4x16 4x1 i:2x3", "8x32 8x2 i:0", group_size=32)
embedding_q4gsw.cases("8x32 8x2 i:5", group_size=32, is_linear_weight=True)
embedding_q4gsw.cases("4x1 4x1 i:1", "0x1 0x1 i:3", group_size=2)
embedding.refuses("7x5 f:3", "embedding: indices must be i32, got f32")
index_add.refuses("3x5 i:3", "index_add: n must not be negative, got n=-1", n=-1)
index_add.refuses("3x5 i:4", "index_add: indices has b=[4] but g has b=[3]", n=7)
embedding_q4gsw.refuses("8x32 8x3 i:5", "embedding_q4gsw: weight_scales must hold k / group_size "
    "a row, got s=3, group_size=32, p=32", group_size=32)  # fmt: skip
