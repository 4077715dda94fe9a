"""Parts of a tensor, a number round it, and the adjoints of both. Any dtype, one kernel."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ..core.dtype import DType, Shape
from ..core.errors import DTypeError, ShapeError
from ..core.launch import Launch
from ..core.lazy import np
from ..core.schema import Dims
from .elementwise import strides
from .movement import plain
from .op import op
from .strided import Axis, axis, copy, every_kind


def bounds(d: Dims) -> tuple[int, int, int]:
    """(dim, first, count) of a slice, as Python clamps it."""
    dim = axis("slice", d.dim, len(d.b))
    if not d.b:
        raise ShapeError("slice: x has rank 0; there is no dim to slice")
    if d.step < 1:
        raise ShapeError(f"slice: step must be 1 or more, got step={d.step}")
    found = range(*slice(d.start, d.end, d.step).indices(d.b[dim]))
    return dim, found.start, len(found)


def _sliced(d: Dims) -> Shape:
    dim, _, count = bounds(d)
    return (*d.b[:dim], count, *d.b[dim + 1 :])


@op("y[*b] -> y[*s]", name="slice", shape=_sliced)
def slice_(x, *, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1):
    """x[start:end:step] along dim, clamped as in Python. Source: aten::slice_copy.Tensor."""
    which = [slice(None)] * x.ndim
    which[dim] = slice(start, end, step)
    return x[tuple(which)]


@slice_.kernel("move/copy")
def _(d: Dims) -> Launch:
    dim, first, count = bounds(d)
    walk = plain(d.x.shape)
    stride = walk[dim].stride
    walk[dim] = Axis(count, stride * d.step)
    return copy(d, walk, first * stride)


@slice_.vjp
def _(g: Any, out: Any, x: Any, **how: Any):
    return (lambda: slice_backward(g, shape=x.shape, **how),)


slice_.saves(x="")


def _back_bounds(d: Dims) -> Shape:
    if min(d.shape, default=0) < 0:
        raise ShapeError(f"slice_backward: shape must not be negative, got {list(d.shape)}")
    dim, _, count = bounds(Dims({"b": d.shape}, {}, d.attrs))
    wanted = (*d.shape[:dim], count, *d.shape[dim + 1 :])
    if d.g.shape != wanted:
        raise ShapeError(f"slice_backward: g must be {list(wanted)}, got {list(d.g.shape)}")
    return d.shape


@op("y[*b] -> y[*s]", shape=_back_bounds)
def slice_backward(
    g,
    *,
    shape: tuple,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
):
    """Zeros of `shape` with g at start:end:step along dim: the adjoint of slice.

    Source: aten::slice_backward.
    """
    out = np.zeros(shape, g.dtype)
    which = [slice(None)] * out.ndim
    which[dim] = slice(start, end, step)
    out[tuple(which)] = g
    return out


@slice_backward.kernel("move/copy")
def _(d: Dims) -> Launch:
    dim, first, count = bounds(Dims({"b": d.shape}, {}, d.attrs))
    walk = [Axis(n, s) for n, s in zip(d.shape, strides(d.g.shape), strict=True)]
    span = (count - 1) * d.step + 1 if count else 0
    walk[dim] = Axis(d.shape[dim], walk[dim].stride, -first, span, d.step)
    return copy(d, walk)


slice_backward.vjp(lambda h, out, g, *, shape, **how: (lambda: slice_(h, **how),))
slice_backward.saves(g="")


def chosen(d: Dims) -> tuple[int, int]:
    """(dim, index) of a select, both from 0."""
    dim = axis("select", d.dim, len(d.b))
    n = d.b[dim] if d.b else 0
    if not -n <= d.index < n:
        raise ShapeError(f"select: index must be in {-n} .. {n - 1}, got index={d.index}")
    return dim, d.index % n


def _selected(d: Dims) -> Shape:
    dim, _ = chosen(d)
    return (*d.b[:dim], *d.b[dim + 1 :])


@op("y[*b] -> y[*s]", shape=_selected)
def select(x, *, dim: int, index: int):
    """x at one index of dim, which goes. Source: aten::select_copy.int."""
    return x.take(index, dim)


@select.kernel("move/copy")
def _(d: Dims) -> Launch:
    dim, index = chosen(d)
    walk = plain(d.x.shape)
    gone = walk.pop(dim)
    return copy(d, walk, index * gone.stride)


@select.vjp
def _(g: Any, out: Any, x: Any, *, dim: int, index: int):
    dim, index = dim % len(x.shape), index % x.shape[dim]
    row = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    how = {"dim": dim, "start": index, "end": index + 1}
    return (lambda: slice_backward(g.reshape(row), shape=x.shape, **how),)


select.saves(x="")


ENDS = {"u8": (0, 255), "i8": (-128, 127), "u32": (0, 2**32 - 1), "i32": (-(2**31), 2**31 - 1)}


def _padded(d: Dims) -> Shape:
    if len(d.pad) % 2 or len(d.pad) > 2 * len(d.b):
        raise ShapeError(
            f"constant_pad_nd: pad must be pairs, at most {len(d.b)}, got {list(d.pad)}"
        )
    low, high = ENDS.get(d.x.dtype.name, (0, 0))
    if high and not low <= d.value <= high:
        raise DTypeError(f"constant_pad_nd: value must fit {d.x.dtype}, got value={d.value}")
    shape = tuple(n + a + b for n, (a, b) in zip(d.b, pairs(d.pad, len(d.b)), strict=True))
    sides = zip(d.b, pairs(d.pad, len(d.b)), strict=True)
    if any(n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in sides):
        raise ShapeError(f"constant_pad_nd: pad {list(d.pad)} crops more than {list(d.b)} has")
    return shape


def pairs(pad: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """(before, after) a dim, outermost first, of torch's flat list from the last dim on."""
    last = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (rank - len(last)) + last[::-1]


@op("y[*b] -> y[*s]", shape=_padded)
def constant_pad_nd(x, *, pad: tuple, value: float = 0):
    """x with `value` before and after, pairs from the last dim on; a negative pad crops.

    Source: aten::constant_pad_nd.
    """
    sides = pairs(pad, x.ndim)
    with np.errstate(all="ignore"):
        fill = np.asarray(value).astype(x.dtype)
    out = np.full(tuple(n + a + b for n, (a, b) in zip(x.shape, sides, strict=True)), fill)
    into = [slice(max(a, 0), n - max(b, 0)) for n, (a, b) in zip(out.shape, sides, strict=True)]
    kept = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, sides, strict=True)]
    out[tuple(into)] = x[tuple(kept)]
    return out


@constant_pad_nd.kernel("move/copy")
def _(d: Dims) -> Launch:
    sides = pairs(d.pad, len(d.x.shape))
    walk = [
        Axis(n + a + b, s, -a, n) if (a, b) != (0, 0) else Axis(n, s)
        for n, s, (a, b) in zip(d.x.shape, strides(d.x.shape), sides, strict=True)
    ]
    return copy(d, walk, fill=bits(d.value, d.x.dtype))


def bits(value: float, kind: DType) -> int:
    """A number's bits in that dtype."""
    if kind.kind == "f":
        return struct.unpack("<I", struct.pack("<f", value))[0]
    return int(bool(value) if kind.kind == "b" else value) % 256**kind.block_bytes


@constant_pad_nd.vjp
def _(g: Any, out: Any, x: Any, *, pad: tuple, value: float):
    return (lambda: constant_pad_nd(g, pad=tuple(-n for n in pad)),)


constant_pad_nd.saves(x="")


slice_.cases(*every_kind("3x8x4"), dim=1, start=1, end=-1, step=3)
slice_.cases("5", "u8:7x3", "1x2", start=-3, end=2**63 - 1)
slice_.cases("3x5", "0x5", dim=-1, start=4, end=2)
slice_.refuses("3", "slice: dim must be in -1 .. 0, got dim=1", dim=1)
slice_.refuses("3", "slice: step must be 1 or more, got step=0", step=0)
slice_.refuses("[]", "slice: x has rank 0; there is no dim to slice")
slice_backward.cases(*every_kind("3x2x4"), shape=(3, 8, 4), dim=1, start=1, end=-1, step=3)
slice_backward.cases("1x5", shape=(3, 5), end=1)
slice_backward.cases("3x0", "u8:3x0", shape=(3, 5), dim=-1, start=4, end=2)
slice_backward.refuses("3", "slice_backward: shape must not be negative, got [-3]", shape=(-3,))
slice_backward.refuses("3x3", "slice_backward: g must be [3, 2], got [3, 3]",
                       shape=(3, 5), dim=1, end=2)  # fmt: skip
select.cases(*every_kind("3x8x5"), dim=1, index=-1)
select.cases("1", "u8:5", "7", dim=0, index=0)
select.cases("0x3", dim=-1, index=2)
select.refuses("3x4", "select: index must be in -4 .. 3, got index=4", dim=1, index=4)
select.refuses("3x4", "select: dim must be in -2 .. 1, got dim=2", dim=2, index=0)
constant_pad_nd.cases(*every_kind("2x3x5"), pad=(1, 2, 0, 3), value=7)
constant_pad_nd.cases("3x8", "0x5", "1x1", pad=(1, 2), value=-1.5)
constant_pad_nd.cases("4x5", "u8:4x5", pad=(-1, 2, 3, -2))
constant_pad_nd.cases("3", "[]", pad=())
constant_pad_nd.cases("s:0", "s:3", pad=(0, 4), value=float("-inf"))
constant_pad_nd.refuses("u8:3", "constant_pad_nd: value must fit u8, got value=-1",
                        pad=(1, 1), value=-1)  # fmt: skip
constant_pad_nd.refuses("3", "constant_pad_nd: pad must be pairs, at most 1, got [1, 1, 1, 1]",
                        pad=(1, 1, 1, 1))  # fmt: skip
constant_pad_nd.refuses("3", "constant_pad_nd: pad [-2, -2] crops more than [3] has", pad=(-2, -2))
constant_pad_nd.refuses("3", "constant_pad_nd: pad [-4, 2] crops more than [3] has", pad=(-4, 2))
