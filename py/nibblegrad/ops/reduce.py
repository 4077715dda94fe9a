"""Broadcasting, its adjoint, and sums over everything."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Generated, Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims, broadcast
from .elementwise import broadcast_strides, pad8, strides
from .op import op
from .strided import Axis, copy


def _summed(d: Dims) -> Shape:
    lead = len(d.b) - len(d.shape)
    if lead >= 0 and any(n not in (1, m) for n, m in zip(d.shape, d.b[lead:], strict=True)):
        raise ShapeError(f"sum_to: {list(d.shape)} does not broadcast to x, got x={list(d.b)}")
    return d.shape


@op("f[*b] -> f[*s]", shape=_summed, tol=2e-5)
def sum_to(x, *, shape: tuple):
    """Sum x over the dims along which `shape` was broadcast to x's. The adjoint of broadcasting."""
    lead = tuple(range(x.ndim - len(shape)))
    x = x.sum(lead) if lead else x
    ones = tuple(i for i, n in enumerate(shape) if n == 1)
    return x.sum(ones, keepdims=True).reshape(shape) if ones else x.reshape(shape)


@sum_to.kernel("reduce/sum_to")
def _(d: Dims) -> Launch:
    whole, kept = pad8(d.x.shape, 1), pad8(d.shape, 1)
    walk = tuple(n if k == 1 else 1 for n, k in zip(whole, kept, strict=True))
    n = size(d.shape)
    return Launch(grid1(n, 64), (n, size(walk), 0, 0, *kept, *walk, *pad8(strides(d.x.shape), 0)))


@sum_to.vjp
def _(g: Any, out: Any, x: Any, *, shape: tuple):
    return (lambda: expand(g, shape=x.shape),)


sum_to.saves(x="")
sum_to.require("len(shape) <= len(x.shape)", "shape has more dims than x")
sum_to.cases("3x5", shape=(5,))
sum_to.cases("3x5", "1x5", shape=(1, 5))
sum_to.cases("2x3x4", shape=(2, 1, 4))
sum_to.cases("0x5", "257x5", shape=(1, 5))
sum_to.refuses("2x3", "sum_to: [2] does not broadcast to x, got x=[2, 3]", shape=(2,))
sum_to.refuses("3", "sum_to: shape has more dims than x, got shape=(1, 3), x=[3]", shape=(1, 3))


def _expanded(d: Dims) -> Shape:
    lead = len(d.shape) - len(d.b)
    if lead < 0:
        raise ShapeError(f"expand: shape has fewer dims than x, got {list(d.shape)}, x={list(d.b)}")
    shape = tuple(d.b[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(d.shape))
    if min(shape, default=0) < 0 or broadcast("expand", d.b, shape) != shape:
        raise ShapeError(f"expand: {list(d.b)} does not broadcast to {list(d.shape)}")
    return shape


@op("y[*b] -> y[*s]", shape=_expanded)
def expand(x, *, shape: tuple):
    """x broadcast to `shape` (-1: as x has it), copied. Source: aten::expand_copy."""
    lead = len(shape) - x.ndim
    wanted = [x.shape[i - lead] if n == -1 else n for i, n in enumerate(shape)]
    return np.broadcast_to(x, wanted).copy()


@expand.kernel("move/copy")
def _(d: Dims) -> Launch:
    shape = d.out[0].shape
    own = broadcast_strides(d.x.shape, shape)[8 - len(shape) :]
    return copy(d, [Axis(n, s) for n, s in zip(shape, own, strict=True)])


@expand.vjp
def _(g: Any, out: Any, x: Any, *, shape: tuple):
    return (lambda: sum_to(g, shape=x.shape),)


expand.saves(x="")
expand.cases("5", "1x5", shape=(3, 5))
expand.cases("2x1x4", shape=(2, 3, 4))
expand.cases("0x5", shape=(3, 0, 5))
expand.cases("1x5", shape=(0, 5))
expand.cases("u8:1x5", "b:1x5", "i:3x5", "s:1x1", "i8:3x1", shape=(2, 3, 5))
expand.cases("2x1x5", "u8:2x1x3", shape=(4, -1, 3, -1))
expand.cases("[]", shape=(3, 1))
expand.cases("1", shape=(64 * 65535 + 1,))  # more workgroups than a dimension holds
expand.refuses("3x3", "expand: shape has fewer dims than x, got [3], x=[3, 3]", shape=(3,))
expand.refuses("2x3", "expand: [2, 3] does not broadcast to [2, -1, 1]", shape=(2, -1, 1))


@op("f[*b] -> f[]", tol=2e-5)
def sum_all(x):
    """The sum of every element, rank 0. Source: aten::sum."""
    return x.sum()


@op("f[*b] -> f[]", tol=2e-5)
def sum_squares(x):
    """The sum of every element's square, rank 0: a gradient's squared norm."""
    return (x * x).sum()


def _whole(d: Dims, text: str) -> Launch:
    function = Generated(text, f"fn f(x: f32) -> f32 {{ return {text}; }}")
    lanes: dict[str, int | float] = {"ROWS": 1}
    lanes["LANES"] = 64 if d.caps.software else min(1024, d.caps.max_invocations)
    return Launch((1, 1, 1), (size(d.b), 0, 0, 0), lanes, link=(function,))


sum_all.kernel("reduce/all")(lambda d: _whole(d, "x"))
sum_squares.kernel("reduce/all")(lambda d: _whole(d, "x * x"))
sum_all.vjp(lambda g, out, x: (lambda: expand(g, shape=x.shape),))
sum_all.saves(x="")
sum_squares.without_gradient("it measures gradients")
for whole in (sum_all, sum_squares):
    whole.cases("3x5", "1", "257x3", "0x4", "1000")
    whole.refuses("i:3", f"{whole.name}: x must be f32, got i32")
