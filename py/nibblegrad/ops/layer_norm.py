"""Layer, group and batch normalisation: rows to zero mean and unit variance, then affine.

The first two are one kernel over runs of elements; their gradients are composed of ops.
"""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .map import mul, sub
from .op import Op, op
from .reduce import sum_to
from .reduce_dims import NAN, mean
from .strided import after

FLT_EPSILON = 2.0**-23  # what upstream takes for an eps of None


def _eps(eps: float | None) -> float:
    return FLT_EPSILON if eps is None else float(eps)


def _moments(rows: Any, eps: float | None) -> tuple[Any, Any, Any]:
    """Normalised rows, means and 1 / standard deviations of [r, n]."""
    f, n = rows.dtype.type, max(rows.shape[1], 1)
    middle = rows.sum(1, keepdims=True) / f(n)
    variance = ((rows - middle) ** 2).sum(1, keepdims=True) / f(n)
    rstd = 1 / np.sqrt(variance + f(_eps(eps)))
    return (rows - middle) * rstd, middle, rstd if rows.shape[1] else np.full_like(rstd, np.nan)


def _routes(made: Op, params: Any) -> None:
    """A workgroup a row on a GPU, an invocation a row anywhere; params(d) = rows, terms, ..."""

    def launch(d: Dims, lanes: int) -> Launch:
        rows, terms, *channel = params(d)
        affine = (d.weight is not None) + 2 * (d.bias is not None)
        words = (rows, terms, _eps(d.eps), affine, *channel, NAN)
        per = 1 if lanes > 1 else 16
        return Launch(grid1(rows, per), words, {"ROWS": per, "LANES": lanes})

    made.kernel("norm/moments")(lambda d: None if d.caps.software else launch(d, 64))
    made.kernel("norm/moments")(lambda d: launch(d, 1))


def _layer_shapes(d: Dims) -> list[Shape]:
    tail = tuple(d.normalized_shape)
    lead = len(d.b) - len(tail)
    if not tail or lead < 0 or d.b[lead:] != tail:
        raise ShapeError(
            f"native_layer_norm: x must end in normalized_shape={list(tail)}, got {list(d.b)}"
        )
    for name in ("weight", "bias"):
        if d.args[name] is not None and d.args[name].shape != tail:
            have = list(d.args[name].shape)
            raise ShapeError(f"native_layer_norm: {name} must be {list(tail)}, got {have}")
    kept = (*d.b[:lead], *(1,) * len(tail))
    return [d.b, kept, kept]


@op("f[*b], f[*w]?, f[*c]? -> f[*b], f[*s], f[*s]", shape=_layer_shapes, tol=2e-5,
    order=("x", "normalized_shape", "weight", "bias", "eps"))  # fmt: skip
def native_layer_norm(
    x, weight=None, bias=None, *, normalized_shape: tuple, eps: float | None = 1e-5
):
    """x to zero mean and unit variance over its last dims, then times weight plus bias.

    Returns out, and the mean and 1 / standard deviation of each row, as [*, 1]. An eps of None is
    f32's epsilon. Source: aten::native_layer_norm, arXiv 1607.06450.
    """
    lead = x.ndim - len(normalized_shape)
    rows = x.reshape(size(x.shape[:lead]), size(x.shape[lead:]))
    z, middle, rstd = _moments(rows, eps)
    z = z.reshape(x.shape) * (1 if weight is None else weight)
    kept = (*x.shape[:lead], *(1,) * len(normalized_shape))
    return z if bias is None else z + bias, middle.reshape(kept), rstd.reshape(kept)


def _layer_params(d: Dims) -> tuple[int, ...]:
    terms = size(d.normalized_shape)
    return (size(d.out[1].shape), terms, 1, 0, 1)


_routes(native_layer_norm, _layer_params)


def _backward(g: Any, x: Any, middle: Any, rstd: Any, weight: Any, dims: tuple[int, ...]) -> Any:
    """The gradient to x of rows over dims, whose normalised form is scaled by weight."""
    gw = g if weight is None else mul(g, weight)
    z = mul(sub(x, middle), rstd)
    along = mean(mul(gw, z), dim=dims, keepdim=True)
    return mul(rstd, sub(sub(gw, mean(gw, dim=dims, keepdim=True)), mul(z, along)))


@native_layer_norm.vjp
def _(g: Any, out: Any, x: Any, weight: Any, bias: Any, *, normalized_shape: tuple, eps: float):
    _, middle, rstd = out
    dims = tuple(range(-len(normalized_shape), 0))
    return (
        lambda: _backward(g[0], x, middle, rstd, weight, dims),
        lambda: sum_to(mul(g[0], mul(sub(x, middle), rstd)), shape=weight.shape),
        lambda: sum_to(g[0], shape=bias.shape),
    )


def layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float | None = 1e-5
) -> Any:
    """The first output of native_layer_norm. Source: aten::layer_norm."""
    return native_layer_norm(x, normalized_shape, weight, bias, eps)[0]


def _group_shapes(d: Dims) -> list[Shape]:
    sizes = (d.N, d.C, d.HxW)
    if sizes != (d.n, d.c, size(d.s)):
        raise ShapeError(
            f"native_group_norm: x must hold N, C, HxW = {list(sizes)}, got {[d.n, d.c, *d.s]}"
        )
    if d.group < 1 or d.c % d.group:
        raise ShapeError(f"native_group_norm: group must divide c, got group={d.group}, c={d.c}")
    return [(d.n, d.c, *d.s), (d.n, d.group), (d.n, d.group)]


@op("f[n c *s], f[c]?, f[c]? -> f[n c *s], f[n g], f[n g]", shape=_group_shapes, tol=2e-5,
    order=("x", "weight", "bias", "N", "C", "HxW", "group", "eps"))  # fmt: skip
def native_group_norm(
    x, weight=None, bias=None, *, N: int, C: int, HxW: int, group: int, eps: float | None = 1e-5
):
    """x [n, c, *] to zero mean and unit variance over each group of channels of each n, then times
    weight [c] plus bias [c].

    Returns out, and the mean and 1 / standard deviation of each group, [n, group]. Source:
    aten::native_group_norm, arXiv 1803.08494.
    """
    z, middle, rstd = _moments(x.reshape(N * group, C // group * HxW), eps)
    channel = (C, *(1,) * (x.ndim - 2))
    z = z.reshape(x.shape)
    z = z if weight is None else z * weight.reshape(channel)
    z = z if bias is None else z + bias.reshape(channel)
    return z, middle.reshape(N, group), rstd.reshape(N, group)


def _group_params(d: Dims) -> tuple[int, ...]:
    span = d.C // d.group
    return (d.N * d.group, span * d.HxW, d.group, span, max(d.HxW, 1))


_routes(native_group_norm, _group_params)


@native_group_norm.vjp
def _(g: Any, out: Any, x: Any, weight: Any, bias: Any, *, N: int, C: int, HxW: int, group: int,
      eps: float):  # fmt: skip
    _, middle, rstd = out
    rows = (N, group, C // group, HxW)
    one = (N, group, 1, 1)
    flat, gs = x.reshape(rows), g[0].reshape(rows)
    m, r = middle.reshape(one), rstd.reshape(one)
    w = None if weight is None else weight.reshape((1, group, C // group, 1))

    def scaled() -> Any:
        return sum_to(mul(gs, mul(sub(flat, m), r)), shape=(1, *rows[1:3], 1)).reshape((C,))

    return (
        lambda: _backward(gs, flat, m, r, w, (2, 3)).reshape(x.shape),
        scaled,
        lambda: sum_to(gs, shape=(1, *rows[1:3], 1)).reshape((C,)),
    )


def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float | None = 1e-5
) -> Any:
    """The first output of native_group_norm. Source: aten::group_norm."""
    n, c, *rest = x.shape
    return native_group_norm(x, weight, bias, n, c, size(tuple(rest)), num_groups, eps)[0]


@op("f[n c *s], f[c]?, f[c]?, f[c]?, f[c] -> f[n c *s]", tol=2e-5,
    order=("x", "weight", "bias", "mean", "variance", "eps"))  # fmt: skip
def batch_norm(x, weight, bias, mean, variance, *, eps: float = 1e-5):
    """(x - mean) / sqrt(variance + eps) * weight + bias by channel, with running statistics.

    x [n, c, *], the rest [c]; weight, bias and mean may be None. Source: aten::batch_norm with
    training=False, arXiv 1502.03167.
    """
    f, channel = x.dtype.type, (-1, *(1,) * (x.ndim - 2))
    z = x if mean is None else x - mean.reshape(channel)
    z = z / np.sqrt(variance + f(eps)).reshape(channel)
    z = z if weight is None else z * weight.reshape(channel)
    return z if bias is None else z + bias.reshape(channel)


@batch_norm.kernel("norm/batch_norm")
def _(d: Dims) -> Launch:
    given = (d.mean is not None) + 2 * (d.weight is not None) + 4 * (d.bias is not None)
    params = (size(d.x.shape), d.c, after(d.x.shape, 1), given, float(d.eps))
    return Launch(grid1(size(d.x.shape), 64), params)


@batch_norm.vjp
def _(g: Any, out: Any, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, *, eps: float):
    wide = (1, x.shape[1], *(1,) * (len(x.shape) - 2))

    def scaled() -> Any:
        z = batch_norm(x, None, None, mean, variance, eps)
        return sum_to(mul(g, z), shape=wide).reshape(weight.shape)

    return (
        lambda: batch_norm(g, weight, None, None, variance, eps),
        scaled,
        lambda: sum_to(g, shape=wide).reshape(bias.shape),
        None,
        None,
    )


batch_norm.saves(x="weight variance", weight="x mean variance", bias="")


def native_batch_norm_legit_no_training(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """batch_norm's output, and the two empty tensors that ATen returns beside it.

    Source: aten::_native_batch_norm_legit_no_training.
    """
    from .create import zeros

    return batch_norm(x, weight, bias, mean, variance, eps), zeros((0,)), zeros((0,))


native_layer_norm.cases("4x128 128 128", "1x128 - -", "3x2x128 128 -", normalized_shape=(128,))
native_layer_norm.cases("3x5x7 7 7", "2x7 - 7", "0x7 7 7", normalized_shape=(7,), eps=1e-3)
native_layer_norm.cases("2x3x5 3x5 3x5", "3x5 - -", normalized_shape=(3, 5))
native_layer_norm.cases("3x1 1 1", normalized_shape=(1,), eps=0.1)
native_layer_norm.cases("2x0 0 0", normalized_shape=(0,), eps=None)
native_layer_norm.refuses("2x8 - -", "native_layer_norm: x must end in normalized_shape=[7], got "
                          "[2, 8]", normalized_shape=(7,))  # fmt: skip
native_layer_norm.refuses("2x8 7 -", "native_layer_norm: weight must be [8], got [7]",
                          normalized_shape=(8,))  # fmt: skip
native_group_norm.cases("2x4x3x5 4 4", "2x4x15 4 -", "2x4x15 - -", N=2, C=4, HxW=15, group=2)
native_group_norm.cases("1x6x2x2 6 6", "1x6x4 - 6", N=1, C=6, HxW=4, group=3)
native_group_norm.cases("1x4x3x3 4 4", N=1, C=4, HxW=9, group=1)
native_group_norm.cases("3x2 2 2", N=3, C=2, HxW=1, group=1, eps=0.1)
native_group_norm.cases("2x4x0 4 4", N=2, C=4, HxW=0, group=2)
native_group_norm.refuses("2x4x3 - -", "native_group_norm: x must hold N, C, HxW = [2, 4, 5], got "
                          "[2, 4, 3]", N=2, C=4, HxW=5, group=2)  # fmt: skip
native_group_norm.refuses("2x4x3 - -", "native_group_norm: group must divide c, got group=3, c=4",
                          N=2, C=4, HxW=3, group=3)  # fmt: skip
batch_norm.cases("1x8x12x3 8 8 8 p:8", "2x3x5 3 - 3 p:3", "3x5 - 5 - p:5", "1x1x1 1 1 1 p:1")
batch_norm.cases("0x3x4 3 3 3 p:3", "2x3x0 - - 3 p:3", "1x16x5x7 - - 16 p:16", eps=1e-3)
batch_norm.refuses("2x3x4 4 - 3 3", "batch_norm: weight has c=4 but x has c=3")
batch_norm.refuses("3 - - 3 3", "batch_norm: x must be f[n c *s], got [3]")
