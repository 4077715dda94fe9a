"""Elements moved, never computed with: any dtype, rank 0 to 8, all by one strided-copy kernel."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, size
from ..core.lazy import np
from ..core.schema import Dims
from .elementwise import strides
from .op import op
from .strided import Axis, axes, axis, copy, every_kind


def plain(shape: Shape) -> list[Axis]:
    """A shape walked as it lies."""
    return [Axis(n, s) for n, s in zip(shape, strides(shape), strict=True)]


@op("y[*b] -> y[*b]")
def clone(x):
    """A copy of x. Source: aten::clone, dim_order_ops._clone_dim_order, aten::alias_copy."""
    return x.copy()


clone.kernel("move/copy")(lambda d: copy(d, plain(d.x.shape)))
clone.vjp(lambda g, out, x: (g,))
clone.saves(x="")


def _permuted(d: Dims) -> Shape:
    order = [axis("permute", one, len(d.b)) for one in d.dims]
    if sorted(order) != list(range(len(d.b))):
        raise ShapeError(
            f"permute: dims must name each dim of {list(d.b)} once, got {list(d.dims)}"
        )
    return tuple(d.b[one] for one in order)


@op("y[*b] -> y[*s]", shape=_permuted)
def permute(x, *, dims: tuple):
    """x with its dims in the order given. Source: aten::permute_copy."""
    return x.transpose(dims)


@permute.kernel("move/copy")
def _(d: Dims) -> Launch:
    whole = plain(d.x.shape)
    return copy(d, [whole[one] for one in d.dims])


@permute.vjp
def _(g: Any, out: Any, x: Any, *, dims: tuple):
    order = [one % len(dims) for one in dims]
    back = tuple(order.index(i) for i in range(len(dims)))
    return (lambda: permute(g, dims=back),)


permute.saves(x="")


def _same(d: Dims) -> Shape:
    axes("flip", d.dims, len(d.b))
    return d.b


@op("y[*b] -> y[*b]", shape=_same)
def flip(x, *, dims: tuple):
    """x backwards along dims. Source: aten::flip."""
    return np.flip(x, dims) if dims and x.ndim else x.copy()


@flip.kernel("move/copy")
def _(d: Dims) -> Launch:
    walk, offset = plain(d.x.shape), 0
    for i in axes("flip", d.dims, len(walk)) if d.dims else ():
        n, stride = walk[i][:2]
        walk[i], offset = Axis(n, -stride), offset + (n - 1) * stride
    return copy(d, walk, offset)


flip.vjp(lambda g, out, x, *, dims: (lambda: flip(g, dims=dims),))
flip.saves(x="")


def _repeated(d: Dims) -> Shape:
    lead = len(d.repeats) - len(d.b)
    if lead < 0 or any(n < 0 for n in d.repeats):
        want = f"repeat: repeats must be {len(d.b)} or more numbers from 0"
        raise ShapeError(f"{want}, got {list(d.repeats)}")
    return tuple(n * r for n, r in zip((1,) * lead + d.b, d.repeats, strict=True))


@op("y[*b] -> y[*s]", shape=_repeated)
def repeat(x, *, repeats: tuple):
    """x laid out repeats[i] times along dim i; more repeats than dims prepend dims.

    Source: aten::repeat.
    """
    return np.tile(x, repeats)


@repeat.kernel("move/copy")
def _(d: Dims) -> Launch:
    shape = (1,) * (len(d.repeats) - len(d.x.shape)) + d.x.shape
    walk = [
        Axis(n * r, s, span=n) if r > 1 and n > 1 else Axis(n * r, s if n > 1 else 0)
        for n, r, s in zip(shape, d.repeats, strides(shape), strict=True)
    ]
    return copy(d, walk, wraps=True)


@repeat.vjp
def _(g: Any, out: Any, x: Any, *, repeats: tuple):
    return (lambda: _gathered(g, x.shape, repeats),)


def _gathered(g: Any, shape: Shape, repeats: tuple[int, ...]) -> Any:
    """g summed over its repeats, a dim at a time."""
    from .reduce_dims import sum_

    whole = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    done = list(g.shape)
    for i, (n, r) in enumerate(zip(whole, repeats, strict=True)):
        split = g.reshape((size(tuple(done[:i])), r, n * size(tuple(done[i + 1 :]))))
        g, done[i] = sum_(split, dim=1), n
    return g.reshape(shape)


repeat.saves(x="")


def _windows(d: Dims) -> Shape:
    dim = axis("unfold", d.dim, len(d.b))
    if not d.b:
        raise ShapeError("unfold: x has rank 0; there is no dim to unfold")
    n = d.b[dim]
    if d.step < 1 or not 0 <= d.size <= n:
        raise ShapeError(
            f"unfold: size must be in 0 .. {n} and step from 1, got size={d.size}, step={d.step}"
        )
    return (*d.b[:dim], (n - d.size) // d.step + 1, *d.b[dim + 1 :], d.size)


@op("y[*b] -> y[*s]", shape=_windows)
def unfold(x, *, dim: int, size: int, step: int):
    """Windows of `size` elements every `step` along dim, as a new last dim.

    Source: aten::unfold_copy.
    """
    return np.lib.stride_tricks.sliding_window_view(x, size, dim)[
        (slice(None),) * (dim % x.ndim) + (slice(None, None, step),)
    ].copy()


@unfold.kernel("move/copy")
def _(d: Dims) -> Launch:
    walk = plain(d.x.shape)
    dim = d.dim % len(walk)
    stride = walk[dim].stride
    walk[dim] = Axis(d.out[0].shape[dim], stride * d.step)
    return copy(d, [*walk, Axis(d.size, stride)])


@unfold.vjp
def _(g: Any, out: Any, x: Any, *, dim: int, size: int, step: int):
    return (lambda: _folded(g, x.shape, dim, size, step),)


def _folded(g: Any, shape: Shape, dim: int, size: int, step: int) -> Any:
    """Each place of the windows put back where it lay, and all of them added up."""
    from .map import add
    from .slicing import select, slice_backward

    dim = dim % len(shape)
    count = (shape[dim] - size) // step + 1
    total = None
    for k in range(size):
        part = select(g, -1, k)
        how = {"dim": dim, "start": k, "end": k + (count - 1) * step + 1, "step": step}
        put = slice_backward(part, shape=shape, **how)
        total = put if total is None else add(total, put)
    return total


unfold.saves(x="")


def transpose(x: Any, dim0: int, dim1: int) -> Any:
    """x with two of its dims exchanged, copied. Source: aten::transpose_copy."""
    rank = len(x.shape)
    one, two = axis("transpose", dim0, rank), axis("transpose", dim1, rank)
    order = list(range(rank))
    if rank:
        order[one], order[two] = two, one
    return permute(x, dims=order)


def t(x: Any) -> Any:
    """A matrix transposed; fewer dims as they are. Source: aten::t_copy."""
    if len(x.shape) > 2:
        raise ShapeError(f"t: x must have at most two dims, got {list(x.shape)}")
    return transpose(x, 0, -1)


clone.cases(*every_kind("3x5x7"))
clone.cases("[]", "u8:1", "0x4", "i8:257", "u:3x2", "1x2x1x3x1x2x1x3")
clone.refuses("1x1x1x1x1x1x1x1x1",
    "clone: x has 9 dims, got [1, 1, 1, 1, 1, 1, 1, 1, 1]; at most 8")  # fmt: skip
permute.cases(*every_kind("2x3x5"), dims=(2, 0, -2))
permute.cases("3x5", "1x7", "0x3", "u8:1x1", dims=(1, 0))
permute.cases("2x1x3x2x1x2x3x2", dims=(7, 2, 5, 0, 1, 6, 3, 4))
permute.cases("[]", dims=())
permute.refuses("2x3", "permute: dims must name each dim of [2, 3] once, got [0, 0]", dims=(0, 0))
permute.refuses("2x3", "permute: dim must be in -2 .. 1, got dim=2", dims=(2, 0))
flip.cases(*every_kind("3x5x7"), dims=(0, -1))
flip.cases("37x41", "1x0", "u8:1x5", dims=(1,))
flip.cases("3x5", "[]", dims=())
flip.refuses("2x3", "flip: a dim is given twice, got dim=[0, -2]", dims=(0, -2))
repeat.cases(*every_kind("3x5"), repeats=(2, 1, 3))
repeat.cases("3", "1", "0", "u8:3", repeats=(2, 2))
repeat.cases("3x5", repeats=(1, 0))
repeat.cases("[]", repeats=(3,))
repeat.refuses("2x3", "repeat: repeats must be 2 or more numbers from 0, got [2]", repeats=(2,))
unfold.cases("i:3x7", "u8:2x8", "1x3", dim=-1, size=3, step=2)
unfold.cases("7x2x3", "b:5x3", dim=0, size=2, step=1)
unfold.cases("5x0", dim=0, size=5, step=4)
unfold.refuses("3x4", "unfold: size must be in 0 .. 4 and step from 1, got size=5, step=1",
               dim=1, size=5, step=1)  # fmt: skip
unfold.refuses("3x4", "unfold: dim must be in -2 .. 1, got dim=2", dim=2, size=1, step=1)
unfold.refuses("[]", "unfold: x has rank 0; there is no dim to unfold", dim=0, size=1, step=1)
