"""Tensors from nothing, and from others of another dtype."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

from ..core.dtype import dtype as dtype_of
from ..core.errors import DTypeError, ShapeError
from ..core.launch import Generated, Launch, size
from ..core.lazy import np
from ..core.schema import Dims
from .formula import Formula, formula_launch, storing, storing_grid
from .op import op

KINDS = ("f32", "i32", "bool")
NUMPY = {"f32": "float32", "i32": "int32", "bool": "bool"}


def _kind(who: str) -> Any:
    """The dtype an op's attribute names, one of those arithmetic knows."""

    def kind(d: Dims) -> Any:
        if d.attrs["dtype"] not in KINDS:
            raise DTypeError(f"{who}: dtype is one of {' '.join(KINDS)}, got {d.attrs['dtype']}")
        return dtype_of(d.attrs["dtype"])

    return kind


CONVERT = Formula(
    "x",
    {
        "f32 i32": "f32(x)",
        "f32 bool": "select(0.0, 1.0, x)",
        "i32 f32": "whole(x)",
        "i32 bool": "select(0, 1, x)",
        "bool f32": "truth(x)",
        "bool i32": "x != 0",
    },
    of="e",
    link=("lib/number",),
)


@op("e[*b] -> e[*b]", dtype=_kind("_to_copy"))
def _to_copy(x, *, dtype: str):
    """x in another dtype: f32, i32 or bool. To i32 towards zero; what does not fit is -2^31, as on
    torch's x86; NaN is true. Source: aten::_to_copy."""
    if dtype == "i32" and x.dtype.kind == "f":
        fits = np.abs(x) < 2**31
        return np.where(fits, np.where(fits, x, 0).astype(np.int32), np.int32(-(2**31)))
    return x.astype(x.dtype if dtype == "f32" and x.dtype.kind == "f" else NUMPY[dtype])


@_to_copy.kernel("map/unary")
def _(d: Dims) -> Launch:
    launch = formula_launch(_to_copy, d, CONVERT)
    if d.x.dtype.name != d.dtype or d.dtype == "bool":
        return launch
    return replace(launch, const={"elem": "u32", "res": "u32"})  # the same words, moved as bits


@_to_copy.vjp
def _(g: Any, out: Any, x: Any, *, dtype: str):
    return ((lambda: g) if dtype == "f32" and x.dtype.kind == "f" else None,)


def to_copy(x: Any, dtype: Any) -> Any:
    """x in another dtype, by name or itself."""
    return _to_copy(x, dtype=dtype_of(dtype).name)


def _indexed(d: Dims, text: str, attrs: tuple[Any, ...]) -> Launch:
    kind, n = d.out[0].dtype, size(d.out[0].shape)
    function = Generated(f"({text})", f"fn f(i: u32) -> res {{ return {text}; }}")
    params = (*attrs, *[0] * (4 - len(attrs)), n)
    return Launch(storing_grid(n, kind), params, {}, {"res": kind.name}, (function, *storing(kind)))


def _shape(d: Dims) -> Any:
    if any(n < 0 for n in d.size) or len(d.size) > 8:
        raise ShapeError(f"full: size is at most 8 numbers, none negative, got {list(d.size)}")
    return tuple(d.size)


@op(
    "-> e[*s]",
    shape=lambda d: [_shape(d)],
    dtype=_kind("full"),
    order=("size", "fill_value", "dtype"),
)
def full(*, size: tuple, fill_value: float, dtype: str = "f32"):
    """Every element fill_value, in f32, i32 or bool. Source: aten::full."""
    return np.full(size, fill_value, NUMPY[dtype])


@full.kernel("map/index")
def _(d: Dims) -> Launch:
    if d.dtype == "bool":
        return _indexed(d, "params.attrs[0] != 0u", (int(bool(d.fill_value)),))
    value = float(d.fill_value) if d.dtype == "f32" else int(d.fill_value)
    return _indexed(d, "bitcast<res>(params.attrs[0])", (value,))


def _steps(d: Dims) -> Any:
    if not d.step or (d.end - d.start) / d.step < 0:
        raise ShapeError(f"arange: no step of {d.step} leads from {d.start} to {d.end}")
    fractions = [v for v in (d.start, d.end, d.step) if not float(v).is_integer()]
    if d.dtype == "i32" and fractions:
        raise DTypeError(f"arange: i32 needs whole numbers, got {fractions[0]}")
    if d.dtype == "bool":
        raise DTypeError("arange: dtype is f32 or i32, got bool")
    return (ceil((d.end - d.start) / d.step),)


@op(
    "-> e[n]",
    shape=lambda d: [_steps(d)],
    dtype=_kind("arange"),
    order=("start", "end", "step", "dtype"),
)
def arange(*, start: float, end: float, step: float = 1, dtype: str = "f32"):
    """start, start + step, ... before end, in f32 or i32. Source: aten::arange.start_step."""
    return (start + step * np.arange(ceil((end - start) / step))).astype(NUMPY[dtype])


@arange.kernel("map/index")
def _(d: Dims) -> Launch:
    one = float if d.dtype == "f32" else int
    text = "bitcast<res>(params.attrs[0]) + res(i) * bitcast<res>(params.attrs[1])"
    return _indexed(d, text, (one(d.start), one(d.step)))


def scalar_tensor(s: float, dtype: str = "f32") -> Any:
    """A number as a tensor of rank 0. Source: aten::scalar_tensor."""
    return full((), s, dtype)


def zeros(size: tuple, dtype: str = "f32") -> Any:
    """Source: aten::zeros."""
    return full(tuple(size), 0, dtype)


def ones(size: tuple, dtype: str = "f32") -> Any:
    """Source: aten::ones."""
    return full(tuple(size), 1, dtype)


def full_like(x: Any, fill_value: float, dtype: str | None = None) -> Any:
    """fill_value in x's shape, and its dtype unless another is named. Source: aten::full_like."""
    return full(x.shape, fill_value, dtype or x.dtype.name)


def zeros_like(x: Any, dtype: str | None = None) -> Any:
    """Source: aten::zeros_like."""
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: str | None = None) -> Any:
    """Source: aten::ones_like."""
    return full_like(x, 1, dtype)


_to_copy.saves(x="")
for target in KINDS:
    for source in ("f:3x5", "f:1", "f:0x4", "s:257", "i:3x5", "si:31", "b:3x7", "b:65", "b:1"):
        _to_copy.cases(source, dtype=target)
_to_copy.refuses("3", "_to_copy: dtype is one of f32 i32 bool, got u8", dtype="u8")
_to_copy.refuses("u:3", "_to_copy: x must be f32 or i32 or bool, got u32", dtype="f32")
for made in (full, arange):
    made.without_gradient("it reads no tensor")
for shape in ((3, 5), (1,), (), (0, 4), (67,), (1, 2, 1, 3, 1, 1, 2, 1)):
    full.cases("", size=shape, fill_value=-1.5)
for kind in ("i32", "bool"):
    full.cases("", size=(3, 7), fill_value=-3, dtype=kind)
full.cases("", size=(5,), fill_value=0, dtype="bool")
full.refuses(
    "", "full: size is at most 8 numbers, none negative, got [-1]", size=(-1,), fill_value=0
)
arange.cases("", start=0, end=5)
arange.cases("", start=-3, end=250, step=2, dtype="i32")
arange.cases("", start=1, end=0, step=-0.3)
arange.cases("", start=2, end=2)
arange.cases("", start=2, end=3)
arange.refuses("", "arange: no step of 1 leads from 3 to 0", start=3, end=0)
arange.refuses(
    "", "arange: i32 needs whole numbers, got 0.5", start=0, end=3, step=0.5, dtype="i32"
)
