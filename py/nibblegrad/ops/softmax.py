"""softmax and log_softmax along any dim, and their gradients."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.lazy import np
from ..core.schema import Dims
from .map import mul, sub
from .op import op
from .reduce_dims import gone_of, routes, sum_
from .strided import axis


def _same_shape(who: str) -> Any:
    def shape(d: Dims) -> Shape:
        axis(who, d.dim, len(d.b))
        return d.b

    return shape


def _peaked(x: Any, dim: int) -> Any:
    gone = gone_of(x, dim)
    with np.errstate(all="ignore"):
        return x - x.max(gone, keepdims=True) if x.size else x, gone


@op("f[*b] -> f[*b]", shape=_same_shape("softmax"))
def softmax(x, *, dim: int):
    """exp(x) over its sum along dim; a row that is -inf throughout is NaN.

    Source: aten::_softmax.
    """
    z, gone = _peaked(x, dim)
    return np.exp(z) / np.exp(z).sum(gone, keepdims=True)


@op("f[*b] -> f[*b]", shape=_same_shape("log_softmax"))
def log_softmax(x, *, dim: int):
    """The logarithm of softmax along dim. Source: aten::_log_softmax."""
    z, gone = _peaked(x, dim)
    return z - np.log(np.exp(z).sum(gone, keepdims=True))


routes(softmax, "reduce/softmax")
routes(log_softmax, "reduce/softmax", override={"LOG": 1})


@softmax.vjp
def _(g: Any, out: Any, x: Any, *, dim: int):
    def back() -> Any:
        gy = mul(g, out)
        return sub(gy, mul(out, sum_(gy, dim=dim, keepdim=True)))

    return (back,)


@log_softmax.vjp
def _(g: Any, out: Any, x: Any, *, dim: int):
    # out's exponentials already add up to 1, so softmax takes no more than the exp
    return (lambda: sub(g, mul(softmax(out, dim=dim), sum_(g, dim=dim, keepdim=True))),)


for made in (softmax, log_softmax):
    made.saves(x="out")
    made.cases("4x8x16", "3x5", "2x257", "1x1", "0x4", "3x0", "s:7x24", dim=-1)
    made.cases("4x8x5", "257x3", "2x1x3", "s:24x1", dim=1 if made is softmax else -2)
    made.cases("[]", "5", "257", "s:30", dim=0)
    made.refuses("2x3", f"{made.name}: dim must be in -2 .. 1, got dim=2", dim=2)
