"""Elements picked by an index tensor along one dim, any dtype; and their adjoints, which add up.

A negative index counts from the end; what lies outside reads zero (torch refuses it, but the
indices are on the device).
"""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .elementwise import pad8, strides
from .op import op
from .strided import after, axis, words


def _wrapped(indices: Any, n: int) -> tuple[Any, Any]:
    """Indices from 0, and which of them lie inside."""
    indices = np.where(indices < 0, indices + n, indices)
    inside = (indices >= 0) & (indices < n)
    return np.where(inside, indices, 0), inside


def _pick(
    d: Dims, out: Shape, stride: tuple[int, ...], index_stride: tuple[int, ...], dim: int
) -> Launch:
    """out walks x by `stride`, and the indices, which step along x's dim, by `index_stride`."""
    shape = d.x.shape
    head = (size(out), shape[dim] if shape else 1, after(shape, dim) if shape else 1, len(out))
    params = (*head, *pad8(out, 1), *pad8(stride, 0), *pad8(index_stride, 0))
    grid, per = words(d)
    return Launch(grid, params, per, link=("move/pick",), weights=("indices",))


def _gathered(d: Dims) -> Shape:
    dim = axis("gather", d.dim, len(d.b))
    fits = len(d.i) == len(d.b)
    if not fits or any(n > m for k, (n, m) in enumerate(zip(d.i, d.b, strict=True)) if k != dim):
        raise ShapeError(
            f"gather: indices must be no larger than x but along dim {dim}, "
            f"got {list(d.i)} and {list(d.b)}"
        )
    return d.i


@op("y[*b], i[*i] -> y[*i]", order=("x", "dim", "indices"), shape=_gathered)
def gather(x, indices, *, dim: int):
    """out[.., i, ..] = x[.., indices[.., i, ..], ..] along dim. Source: aten::gather."""
    if not x.ndim:
        return np.where(_wrapped(indices, 1)[1], x, 0).astype(x.dtype)
    at, inside = _wrapped(indices, x.shape[dim])
    if not x.shape[dim]:
        return np.zeros(indices.shape, x.dtype)
    ends = list(indices.shape)
    ends[dim] = x.shape[dim]
    kept = x[tuple(slice(n) for n in ends)]
    return np.where(inside, np.take_along_axis(kept, at, dim), 0).astype(x.dtype)


@gather.kernel("move/copy")
def _(d: Dims) -> Launch:
    shape = d.x.shape
    dim = axis("gather", d.dim, len(shape))
    own = tuple(0 if i == dim else s for i, s in enumerate(strides(shape)))
    return _pick(d, d.i, own, strides(d.i), dim)


@gather.vjp
def _(g: Any, out: Any, x: Any, indices: Any, *, dim: int):
    return (lambda: gather_grad(g, indices, dim=dim, shape=x.shape), None)


def _gather_grad_shape(d: Dims) -> Shape:
    dim = axis("gather_grad", d.dim, len(d.shape))
    pairs = enumerate(zip(d.i, d.shape, strict=False))
    fits = len(d.i) == len(d.shape) and min(d.shape, default=0) >= 0
    if not fits or any(n > m for k, (n, m) in pairs if k != dim):
        raise ShapeError(
            f"gather_grad: g must be no larger than shape but along dim {dim}, "
            f"got {list(d.i)} and {list(d.shape)}"
        )
    return d.shape


@op("f[*i], i[*i] -> f[*b]", shape=_gather_grad_shape, tol=2e-5)
def gather_grad(g, indices, *, dim: int, shape: tuple):
    """Zeros of `shape` with g added at indices along dim, in index order: the adjoint of gather.

    Source: aten::scatter_add.
    """
    out = np.zeros(shape, g.dtype)
    if not shape:
        return out + np.where(_wrapped(indices, 1)[1], g, 0)
    at, inside = _wrapped(indices, shape[dim])
    where = list(np.indices(g.shape))
    where[dim] = at
    np.add.at(out, tuple(w[inside] for w in where), g[inside])
    return out


@gather_grad.kernel("move/scatter_sum")
def _(d: Dims) -> Launch:
    shape, own = d.shape, strides(d.i)
    dim = axis("gather_grad", d.dim, len(shape))
    other = tuple(0 if i == dim else s for i, s in enumerate(own))
    limit = tuple(shape[i] if i == dim else n for i, n in enumerate(d.i))
    step = own[dim] if own else 0
    return _sums(d, dim, d.i[dim] if d.i else 1, (step, step), limit, (other, other))


def _sums(
    d: Dims, dim: int, terms: int, along: tuple[int, int], limit: Shape, walks: tuple[Shape, Shape]
) -> Launch:
    shape = d.out[0].shape
    count = shape[dim] if shape else 1
    head = (size(shape), count, 8 - len(shape) + dim if shape else 7, terms, *along, 0, 0)
    lists = (pad8(shape, 1), pad8(limit, 1), *(pad8(w, 0) for w in walks))
    return Launch(grid1(size(shape), 64), (*head, *(w for one in lists for w in one)))


gather_grad.vjp(lambda h, out, g, indices, *, dim, shape: (lambda: gather(h, dim, indices), None))


def _indexed(d: Dims) -> Shape:
    if not d.b:
        raise ShapeError("index: x has rank 0; there is no dim to index")
    dim = axis("index", d.dim, len(d.b))
    return (*d.b[:dim], *d.i, *d.b[dim + 1 :])


@op("y[*b], i[*i] -> y[*s]", shape=_indexed)
def index(x, indices, *, dim: int = 0):
    """x[indices] along dim, whose place the indices' dims take. Source: aten::index.Tensor."""
    if not x.shape[dim]:
        dim = dim % x.ndim
        return np.zeros((*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :]), x.dtype)
    at, inside = _wrapped(indices, x.shape[dim])
    lead = inside.reshape(inside.shape + (1,) * (x.ndim - 1 - dim % x.ndim))
    return np.where(lead, x.take(at, dim), 0).astype(x.dtype)


@index.kernel("move/copy")
def _(d: Dims) -> Launch:
    shape, dim = d.x.shape, d.dim % len(d.x.shape)
    own, inner, middle = strides(shape), strides(d.i), (0,) * len(d.i)
    stride = (*own[:dim], *middle, *own[dim + 1 :])
    index_stride = (*(0,) * dim, *inner, *(0,) * (len(shape) - dim - 1))
    return _pick(d, d.out[0].shape, stride, index_stride, dim)


@index.vjp
def _(g: Any, out: Any, x: Any, indices: Any, *, dim: int):
    return (lambda: index_grad(g, indices, dim=dim, shape=x.shape), None)


def _grad_shape(d: Dims) -> Shape:
    wanted = _indexed(Dims({"b": d.shape, "i": d.i}, {}, d.attrs))
    if min(d.shape) < 0 or wanted != d.grad:
        raise ShapeError(f"index_grad: g must be {list(wanted)}, got {list(d.grad)}")
    return d.shape


@op("f[*grad], i[*i] -> f[*b]", shape=_grad_shape, tol=2e-5)
def index_grad(g, indices, *, dim: int, shape: tuple):
    """Zeros of `shape` with g added at indices along dim: the adjoint of index and index_select.

    Source: aten::index_add.
    """
    dim = dim % len(shape)
    at, inside = _wrapped(indices.reshape(-1), shape[dim])
    rows = np.moveaxis(g.reshape(*shape[:dim], at.size, *shape[dim + 1 :]), dim, 0)
    out = np.zeros((shape[dim], *shape[:dim], *shape[dim + 1 :]), g.dtype)
    np.add.at(out, at[inside], rows[inside])
    return np.moveaxis(out, 0, dim)


@index_grad.kernel("move/scatter_sum")
def _(d: Dims) -> Launch:
    shape, dim, terms = d.shape, d.dim % len(d.shape), size(d.i)
    own = strides((*shape[:dim], terms, *shape[dim + 1 :]))
    walk = tuple(0 if i == dim else s for i, s in enumerate(own))
    return _sums(d, dim, terms, (own[dim], 1), shape, (walk, (0,) * len(shape)))


index_grad.vjp(lambda h, out, g, indices, *, dim, shape: (lambda: index(h, indices, dim=dim), None))


def _selected(d: Dims) -> Shape:
    if len(d.i) > 1:
        raise ShapeError(f"index_select: indices must have one dim, got {list(d.i)}")
    dim = axis("index_select", d.dim, len(d.b))
    count = size(d.i)
    if not d.b and count != 1:
        raise ShapeError(f"index_select: x has rank 0 and takes one index, got {list(d.i)}")
    return (*d.b[:dim], count, *d.b[dim + 1 :]) if d.b else ()


@op("y[*b], i[*i] -> y[*s]", order=("x", "dim", "indices"), shape=_selected)
def index_select(x, indices, *, dim: int):
    """x at each of the indices along dim. Source: aten::index_select."""
    found = index.body(x.reshape(x.shape or (1,)), indices.reshape(-1), dim=dim)
    return found if x.ndim else found.reshape(())


@index_select.kernel("move/copy")
def _(d: Dims) -> Launch:
    shape = d.x.shape
    dim = axis("index_select", d.dim, len(shape))
    own = tuple(0 if i == dim else s for i, s in enumerate(strides(shape)))
    return _pick(d, d.out[0].shape, own, tuple(int(i == dim) for i in range(len(shape))), dim)


@index_select.vjp
def _(g: Any, out: Any, x: Any, indices: Any, *, dim: int):
    def back() -> Any:
        whole = x.shape or (1,)
        rows = g.reshape((*whole[: dim % len(whole)], -1, *whole[dim % len(whole) + 1 :]))
        return index_grad(rows, indices.reshape((-1,)), dim=dim, shape=whole).reshape(x.shape)

    return (back, None)


for made in (gather, index, index_select):
    made.saves(x="indices")
for made in (gather_grad, index_grad):
    made.saves(g="indices")
gather.cases("4x8 i:4x3", "2x3x4 i:1x2x7", "u8:3x5 i:3x5", "1x1 i:1x1", "i:3x5 i:2x3", dim=-1)
gather.cases("5x6 i:9x6", "i8:7x3 i:5x3", "3 i:5", "0x4 i:0x4", "3x0 i:5x0", dim=0)
gather.cases("0x4 i:2x3", dim=0)
gather.cases("[] i:[]", dim=0)
gather.refuses("2x3 i:3x3", "gather: indices must be no larger than x but along dim 1, got "
               "[3, 3] and [2, 3]", dim=1)  # fmt: skip
gather.refuses("2x3 i:2x3", "gather: dim must be in -2 .. 1, got dim=2", dim=2)
gather_grad.cases("4x3 i:4x3", "2x7 i:2x7", "0x7 i:0x7", dim=1, shape=(4, 5))
gather_grad.cases("1x9x2 i:1x9x2", dim=-2, shape=(3, 4, 2))
gather_grad.cases("[] i:[]", dim=0, shape=())
gather_grad.refuses("2x3 i:2x4", "gather_grad: indices has i=[2, 4] but g has i=[2, 3]",
                    dim=0, shape=(3, 3))  # fmt: skip
gather_grad.refuses("2x3 i:2x3", "gather_grad: g must be no larger than shape but along dim 0, got "
                    "[2, 3] and [5, 2]", dim=0, shape=(5, 2))  # fmt: skip
gather_grad.refuses("2x3 i:2x3", "gather_grad: g must be no larger than shape but along dim 0, got "
                    "[2, 3] and [5]", dim=0, shape=(5,))  # fmt: skip
index.cases("5 i:7", "u8:5x3 i:2x3", "i:4x7 i:1", "1x1 i:1", "3x5x7 i:0", "i8:7x3 i:[]")
index.cases("3x5x7 i:2x3", "u8:3x5x7 i:6", dim=1)
index.cases("2x0 i:3", dim=-1)
index.refuses("[] i:3", "index: x has rank 0; there is no dim to index")
index.refuses("2x3 i:3", "index: dim must be in -2 .. 1, got dim=2", dim=2)
index_grad.cases("3x6x5 i:6", "3x2x3x5 i:2x3", "3x0x5 i:0", "3x1x5 i:1", dim=1, shape=(3, 4, 5))
index_grad.refuses("3x5 i:4", "index_grad: g must be [4, 2], got [3, 5]", dim=0, shape=(7, 2))
index_grad.refuses("0x3 i:0", "index_grad: g must be [0, -3], got [0, 3]", dim=0, shape=(2, -3))
index_select.cases("3x5x7 i:6", "u8:3x5x7 i:3", "i:1x1x3 i:1", "3x5x0 i:4", dim=-1)
index_select.cases("5 i:7", "4x7 i:0", "i8:5x3 i:5", "[] i:1", "4x3 i:[]", dim=0)
index_select.refuses("[] i:2", "index_select: x has rank 0 and takes one index, got [2]", dim=0)
index_select.refuses("2x3 i:2x2", "index_select: indices must have one dim, got [2, 2]", dim=0)
index_select.refuses("2x3 i:2", "index_select: dim must be in -2 .. 1, got dim=-3", dim=-3)
