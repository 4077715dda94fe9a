"""Sums, and the row-wise argmax that greedy decoding needs."""

from __future__ import annotations

from typing import Any

from ..core.launch import Generated, Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .elementwise import broadcast_strides, pad8, strides
from .op import op


@op("f[*b] -> f[*s]", shape=lambda d: d.shape, tol=2e-5)
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
sum_to.refuses("3", "sum_to: shape has more dims than x, got shape=(1, 3), x=[3]", shape=(1, 3))


@op("f[*b] -> f[*s]", shape=lambda d: d.shape)
def expand(x, *, shape: tuple):
    """x broadcast to `shape`, copied. Source: aten::expand."""
    return np.broadcast_to(x, shape).copy()


@expand.kernel("map/expand")
def _(d: Dims) -> Launch:
    n = size(d.shape)
    params = (n, 0, 0, 0, *pad8(d.shape, 1), *broadcast_strides(d.x.shape, d.shape))
    return Launch(grid1(n, 64), params)


@expand.vjp
def _(g: Any, out: Any, x: Any, *, shape: tuple):
    return (lambda: sum_to(g, shape=x.shape),)


expand.saves(x="")
expand.require("len(shape) >= len(x.shape)", "shape has fewer dims than x")
expand.cases("5", "1x5", shape=(3, 5))
expand.cases("2x1x4", shape=(2, 3, 4))
expand.cases("0x5", shape=(3, 0, 5))
expand.cases("1x5", shape=(0, 5))
expand.refuses("3x3", "expand: shape has fewer dims than x, got shape=(3,), x=[3, 3]", shape=(3,))


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
    lanes = {"ROWS": 1, "LANES": 64 if d.caps.software else 256}
    return Launch((1, 1, 1), (size(d.b), 0, 0, 0), lanes, link=(function,))


sum_all.kernel("reduce/all")(lambda d: _whole(d, "x"))
sum_squares.kernel("reduce/all")(lambda d: _whole(d, "x * x"))
sum_all.vjp(lambda g, out, x: (lambda: expand(g, shape=x.shape),))
sum_all.saves(x="")
sum_squares.without_gradient("it measures gradients")
for whole in (sum_all, sum_squares):
    whole.cases("3x5", "1", "257x3", "0x4", "1000")
    whole.refuses("i:3", f"{whole.name}: x must be f32, got i32")


@op("f[*b n] -> i[*b]")
def argmax(x):
    """Index of each row's largest element, the first among equals. Source: aten::argmax."""
    return x.argmax(-1).astype(np.int32)


@argmax.kernel("reduce/argmax")
def _(d: Dims) -> Launch:
    rows = size(d.b)
    return Launch(grid1(rows, 1), (rows, d.n, 0, 0), {"ROWS": 1, "LANES": 64})


argmax.without_gradient("an index has no derivative")
argmax.require("n > 0", "an empty row has no largest element")
argmax.cases("3x5", "1x1", "2x3x257", "0x4")
argmax.refuses("2x0", "argmax: an empty row has no largest element, got n=0")
