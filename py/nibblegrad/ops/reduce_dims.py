"""Reductions over any dims: sum, mean, extremes and where they lie."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .elementwise import pad8
from .map import scale
from .movement import plain
from .op import Op, op
from .reduce import expand
from .strided import axes, merged

AnyDim = int | tuple | None
NAN = 0x7FC00000


def reduced(who: str, d: Dims) -> tuple[int, ...]:
    """The dims that go."""
    return axes(who, d.dim, len(d.b))


def kept_shape(d: Dims, gone: tuple[int, ...], keepdim: bool) -> Shape:
    """The output's shape without the dims that go, or with 1 in their place."""
    if keepdim:
        return tuple(1 if i in gone else n for i, n in enumerate(d.b))
    return tuple(n for i, n in enumerate(d.b) if i not in gone)


def fold(d: Dims, shape: Shape, gone: tuple[int, ...], lanes: int, override: Any = (),
         **how: Any) -> Launch:  # fmt: skip
    """One row an output: `lanes` invocations each."""
    walk = plain(shape)
    kept = merged([a for i, a in enumerate(walk) if i not in gone])
    terms = merged([walk[i] for i in gone])
    count = size(tuple(shape[i] for i in gone))
    n = size(tuple(a.size for a in kept))
    params: tuple[int | float, ...] = (n, count, 1 / count if count else float("nan"), NAN)
    params = (*params, len(kept), len(terms), 0, 0)
    for part in (kept, terms):
        params += pad8(tuple(a.size for a in part), 1) + pad8(tuple(a.stride for a in part), 0)
    rows = 1 if lanes > 1 else 64
    return Launch(grid1(n, rows), params, {"ROWS": rows, "LANES": lanes, **dict(override)}, **how)


def routes(made: Op, kernel: str, **given: Any) -> None:
    """A workgroup a row where rows are long and the device a GPU; an invocation a row anywhere."""

    def launch(d: Dims, lanes: int) -> Launch:
        kind = d.x.dtype.name
        link = (f"lib/order_{kind}",) if given.get("order") else ()
        const: dict[str, int | str] = {"elem": kind} if given.get("typed") else {}
        gone = axes(made.name, d.dim, len(d.b))
        return fold(d, d.x.shape, gone, lanes, given.get("override", ()), link=link, const=const)

    @made.kernel(kernel)
    def _(d: Dims) -> Launch | None:
        gone = axes(made.name, d.dim, len(d.b))
        few = len(d.b) - 1 in gone or size(d.out[0].shape) < 4096  # else rows side by side do
        terms = size(tuple(d.b[i] for i in gone))
        if terms < 64 or not few or d.caps.software:
            return None
        return launch(d, min(256, d.caps.max_invocations) if terms >= 2048 else 64)

    made.kernel(kernel)(lambda d: launch(d, 1))


def spread(g: Any, x: Any, dim: AnyDim, keepdim: bool) -> Any:
    """g, of a reduction's output, back over x's shape."""
    return expand(as_kept(g, x, dim), shape=x.shape)


def as_kept(g: Any, x: Any, dim: AnyDim) -> Any:
    """g under the shape that keepdim gives."""
    gone = axes("", dim, len(x.shape))
    return g.reshape(tuple(1 if i in gone else n for i, n in enumerate(x.shape)))


def gone_of(x: Any, dim: AnyDim) -> tuple[int, ...]:
    """The dims of a numpy array that go."""
    return axes("", dim, x.ndim)


@op(
    "n[*b] -> n[*s]",
    name="sum",
    tol=2e-5,
    shape=lambda d: kept_shape(d, reduced("sum", d), d.keepdim),
)
def sum_(x, *, dim: AnyDim = None, keepdim: bool = False):
    """The sum over dims (None or (): all); i32 wraps. Source: aten::sum.dim_IntList."""
    return np.sum(x, axis=gone_of(x, dim), keepdims=keepdim, dtype=x.dtype)


@sum_.vjp
def _(g: Any, out: Any, x: Any, *, dim: AnyDim, keepdim: bool):
    return (lambda: spread(g, x, dim, keepdim),)


@op("f[*b] -> f[*s]", tol=2e-5, shape=lambda d: kept_shape(d, reduced("mean", d), d.keepdim))
def mean(x, *, dim: AnyDim = None, keepdim: bool = False):
    """The mean over dims (None or (): all); of nothing NaN. Source: aten::mean.dim."""
    gone = gone_of(x, dim)
    count = size(tuple(x.shape[i] for i in gone))
    total = np.sum(x, axis=gone, keepdims=keepdim, dtype=x.dtype)
    return total / x.dtype.type(count) if count else np.full_like(total, np.nan)


@mean.vjp
def _(g: Any, out: Any, x: Any, *, dim: AnyDim, keepdim: bool):
    count = size(tuple(x.shape[i] for i in axes("mean", dim, len(x.shape))))
    return (lambda: scale(spread(g, x, dim, keepdim), s=1 / max(count, 1)),)


def _extreme_shape(who: str) -> Any:
    def shape(d: Dims) -> Shape:
        gone = reduced(who, d)
        if any(d.b[i] == 0 for i in gone):
            raise ShapeError(f"{who}: an empty dim has no extreme, got {list(d.b)}, dim={d.dim}")
        return kept_shape(d, gone, d.keepdim)

    return shape


@op("n[*b] -> n[*s]", tol=0, shape=_extreme_shape("amax"))
def amax(x, *, dim: AnyDim = None, keepdim: bool = False):
    """The largest over dims (None or (): all), NaN if one is there. Source: aten::amax."""
    return np.max(x, axis=gone_of(x, dim), keepdims=keepdim)


@op("n[*b] -> n[*s]", tol=0, shape=_extreme_shape("amin"))
def amin(x, *, dim: AnyDim = None, keepdim: bool = False):
    """The smallest over dims (None or (): all), NaN if one is there. Source: aten::amin."""
    return np.min(x, axis=gone_of(x, dim), keepdims=keepdim)


def _share(g: Any, out: Any, x: Any, *, dim: AnyDim, keepdim: bool) -> Any:
    how = {"dim": axes("", dim, len(x.shape))}
    return (lambda: extreme_grad(as_kept(g, x, dim), x, as_kept(out, x, dim), **how),)


def _share_shape(d: Dims) -> Shape:
    wanted = kept_shape(d, reduced("extreme_grad", d), True)
    if d.k != wanted:
        raise ShapeError(f"extreme_grad: g and y must be {list(wanted)}, got {list(d.k)}")
    return d.b


@op("f[*k], f[*b], f[*k] -> f[*b]", shape=_share_shape)
def extreme_grad(g, x, y, *, dim: tuple):
    """g where x equals y, its extreme over dims, shared equally among equals: amax's gradient."""
    equal = x == y
    count = equal.sum(gone_of(x, dim), keepdims=True, dtype=x.dtype)
    return np.where(equal, g / np.maximum(count, 1), 0).astype(x.dtype)


@extreme_grad.kernel("reduce/extreme_grad")
def _(d: Dims) -> Launch:
    return fold(d, d.b, axes("extreme_grad", d.dim, len(d.b)), 1)


def _arg_shape(who: str) -> Any:
    def shape(d: Dims) -> Shape:
        if d.dim is not None and not isinstance(d.dim, int):
            raise ShapeError(f"{who}: dim must be one number or None, got dim={list(d.dim)}")
        gone = reduced(who, d)
        if any(d.b[i] == 0 for i in gone):
            raise ShapeError(f"{who}: an empty dim has no extreme, got {list(d.b)}, dim={d.dim}")
        return kept_shape(d, gone, d.keepdim)

    return shape


def _arg(find: Any, x: Any, dim: int | None, keepdim: bool) -> Any:
    if dim is None or not x.ndim:
        found = find(x.reshape(-1))
        return np.asarray(found, np.int32).reshape((1,) * x.ndim if keepdim else ())
    return find(x, axis=dim, keepdims=keepdim).astype(np.int32)


@op("n[*b] -> i[*s]", shape=_arg_shape("argmax"))
def argmax(x, *, dim: int | None = None, keepdim: bool = False):
    """i32 index of the largest along dim (None: of all, flat), the first among equals, a NaN above
    all. Source: aten::argmax."""
    return _arg(np.argmax, x, dim, keepdim)


@op("n[*b] -> i[*s]", shape=_arg_shape("argmin"))
def argmin(x, *, dim: int | None = None, keepdim: bool = False):
    """i32 index of the smallest along dim (None: of all, flat), the first among equals, a NaN
    below all. Source: aten::argmin."""
    return _arg(np.argmin, x, dim, keepdim)


routes(sum_, "reduce/sum", typed=True)
routes(mean, "reduce/sum", typed=True, override={"MEAN": 1})
routes(amax, "reduce/extreme", order=True)
routes(amin, "reduce/extreme", order=True, override={"MIN": 1})
routes(argmax, "reduce/arg_extreme", order=True)
routes(argmin, "reduce/arg_extreme", order=True, override={"MIN": 1})
for made in (sum_, mean):
    made.saves(x="")
for made in (amax, amin):
    made.vjp(_share)
    made.saves(x="x out")
extreme_grad.without_gradient("it is zero or undefined wherever two are equal")
argmax.without_gradient("an index has no derivative")
argmin.without_gradient("an index has no derivative")


for made in (sum_, mean, amax, amin):
    made.cases("3x5", "2x3x4", "[]", "1", "257x3", "s:29")
    made.cases("3x5x7", "4x1x300", "s:5x9", dim=-1)
    made.cases("37x41", "s:9x5", dim=0, keepdim=True)
    made.cases("2x3x4x5", "1x66x1x3", dim=(1, -1))
    made.cases("2x3x4x5", "2x9x2x9", dim=(0, 2), keepdim=True)
    made.cases("2x1x3x2x1x3x2x3", dim=(0, 2, 4, 6))
    made.cases("0x3", dim=1)
    made.refuses("2x3", f"{made.name}: dim must be in -2 .. 1, got dim=-3", dim=-3)
    made.refuses("2x3", f"{made.name}: a dim is given twice, got dim=[1, -1]", dim=(1, -1))
for made in (sum_, amax, amin):
    made.cases("i:3x5", "si:5x300", "i:1x7", dim=-1)
    made.refuses("b:3", f"{made.name}: x must be f32 or i32, got bool")
for made in (sum_, mean):
    made.cases("3x0", "0x0x5", dim=1)
    made.cases("3x0")
mean.refuses("i:3", "mean: x must be f32, got i32")
for made in (amax, amin, argmax, argmin):
    made.refuses("2x0", f"{made.name}: an empty dim has no extreme, got [2, 0], dim=1", dim=1)
extreme_grad.cases("3x1 3x5 3x1", "1x1 1x1 1x1", dim=(1,))
extreme_grad.cases("1x5x1 2x5x3 1x5x1", "1x0x1 2x0x3 1x0x1", dim=(0, 2))
extreme_grad.refuses("3 3x5 3", "extreme_grad: g and y must be [3, 1], got [3]", dim=(1,))
for made in (argmax, argmin):
    made.cases("3x5", "1x1", "2x3x257", "0x4", "i:3x5", "si:3x90", "s:7x5", "s:3x99", dim=-1)
    made.cases("37x41", "s:9x5", "i:70x3", dim=0, keepdim=True)
    made.cases("3x5", "[]", "i:1x300", "s:5x24")
    made.refuses("2x3", f"{made.name}: dim must be in -2 .. 1, got dim=2", dim=2)
    made.refuses("2x3", f"{made.name}: dim must be one number or None, got dim=[0, 1]", dim=(0, 1))
