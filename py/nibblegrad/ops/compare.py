"""Comparisons, logic and choice: truth values, a byte each."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, size
from ..core.lazy import np
from ..core.schema import Dims
from .elementwise import broadcast_strides, elementwise, pad8, unbroadcast
from .formula import storing, storing_grid
from .op import op

N = "lib/number"


def _pair(expr: str, whole: str, of: str = "n", **also: str) -> Any:
    return elementwise(expr, also={"i32": whole, **also}, of=of, to="b", link=N)


@_pair("same(a, b)", "a == b", "e", bool="a == b")
def eq(a, b):
    """a == b; NaN equals nothing. Source: aten::eq.Tensor."""
    return a == b


@_pair("!same(a, b)", "a != b", "e", bool="a != b")
def ne(a, b):
    """a != b. Source: aten::ne.Tensor."""
    return a != b


@_pair("less(a, b)", "a < b")
def lt(a, b):
    """a < b. Source: aten::lt.Tensor."""
    return a < b


@_pair("at_most(a, b)", "a <= b")
def le(a, b):
    """a <= b. Source: aten::le.Tensor."""
    return a <= b


@_pair("less(b, a)", "a > b")
def gt(a, b):
    """a > b. Source: aten::gt.Tensor."""
    return a > b


@_pair("at_most(b, a)", "a >= b")
def ge(a, b):
    """a >= b. Source: aten::ge.Tensor."""
    return a >= b


def _against(x: Any, other: float) -> tuple[Any, Any]:
    """Of whole numbers against a fraction, or one beyond i32, both as f32, as torch has it."""
    fits = -(2**31) <= other < 2**31 and other == int(other)
    if x.dtype.kind == "i" and fits:
        return x, x.dtype.type(other)
    kind = x.dtype.type if x.dtype.kind == "f" else np.float32
    return x.astype(kind), kind(other)


@_pair("same(x, other)", "x == other")
def eq_scalar(x, *, other: float):
    """x == a number. Source: aten::eq.Scalar."""
    x, other = _against(x, other)
    return x == other


@_pair("!same(x, other)", "x != other")
def ne_scalar(x, *, other: float):
    """x != a number. Source: aten::ne.Scalar."""
    x, other = _against(x, other)
    return x != other


@_pair("less(x, other)", "x < other")
def lt_scalar(x, *, other: float):
    """x < a number. Source: aten::lt.Scalar."""
    x, other = _against(x, other)
    return x < other


@_pair("at_most(x, other)", "x <= other")
def le_scalar(x, *, other: float):
    """x <= a number. Source: aten::le.Scalar."""
    x, other = _against(x, other)
    return x <= other


@_pair("less(other, x)", "x > other")
def gt_scalar(x, *, other: float):
    """x > a number. Source: aten::gt.Scalar."""
    x, other = _against(x, other)
    return x > other


@_pair("at_most(other, x)", "x >= other")
def ge_scalar(x, *, other: float):
    """x >= a number. Source: aten::ge.Scalar."""
    x, other = _against(x, other)
    return x >= other


@_pair("truth(a) && truth(b)", "a != 0 && b != 0", "e", bool="a && b")
def logical_and(a, b):
    """Both true; a number is true unless zero. Source: aten::logical_and."""
    return np.logical_and(a, b)


@_pair("truth(a) || truth(b)", "a != 0 || b != 0", "e", bool="a || b")
def logical_or(a, b):
    """Either true. Source: aten::logical_or."""
    return np.logical_or(a, b)


@_pair("truth(a) != truth(b)", "(a != 0) != (b != 0)", "e", bool="a != b")
def logical_xor(a, b):
    """One true, not both. Source: aten::logical_xor."""
    return np.logical_xor(a, b)


@_pair("!truth(x)", "x == 0", "e", bool="!x")
def logical_not(x):
    """Not true. Source: aten::logical_not."""
    return np.logical_not(x)


@elementwise("a && b", also={"i32": "a & b"}, of="l")
def bitwise_and(a, b):
    """Each bit in both; of truth values, and. Source: aten::bitwise_and.Tensor."""
    return np.bitwise_and(a, b)


@elementwise("a || b", also={"i32": "a | b"}, of="l")
def bitwise_or(a, b):
    """Each bit in either; of truth values, or. Source: aten::bitwise_or.Tensor."""
    return np.bitwise_or(a, b)


@elementwise("a != b", also={"i32": "a ^ b"}, of="l")
def bitwise_xor(a, b):
    """Each bit in one of both. Source: aten::bitwise_xor.Tensor."""
    return np.bitwise_xor(a, b)


@elementwise("!x", also={"i32": "~x"}, of="l")
def bitwise_not(x):
    """Each bit turned; of truth values, not. Source: aten::bitwise_not."""
    return np.bitwise_not(x)


@op("b[#b], x[#b], x[#b] -> x[*b]")
def where(cond, a, b):
    """a where cond, else b, bit for bit. All broadcast. Source: aten::where.self."""
    return np.where(cond, a, b)


@where.kernel("map/where")
def _(d: Dims) -> Launch:
    out = d.out[0].shape
    walks = tuple(w for i in (d.cond, d.a, d.args["b"]) for w in broadcast_strides(i.shape, out))
    params = (size(out), 0, 0, 0, *pad8(out, 1), *walks)
    kind = d.out[0].dtype
    return Launch(storing_grid(size(out), kind), params, {}, {"res": "u32"}, storing(kind))


@where.vjp
def _(g: Any, out: Any, cond: Any, a: Any, b: Any):
    from .create import full

    def part(when: bool, like: Any) -> Any:
        zero = full(size=(), fill_value=0.0)
        return unbroadcast(where(cond, g, zero) if when else where(cond, zero, g), like)

    return (None, lambda: part(True, a), lambda: part(False, b))


where.saves(a="cond", b="cond")
PAIRS = (eq, ne, lt, le, gt, ge)
NUMBERS = (eq_scalar, ne_scalar, lt_scalar, le_scalar, gt_scalar, ge_scalar)
LOGIC = (logical_and, logical_or, logical_xor)
BITS = (bitwise_and, bitwise_or, bitwise_xor)
for made in (*PAIRS, *NUMBERS, *LOGIC, *BITS, logical_not, bitwise_not):
    made.without_gradient("its values jump")
for two in (*PAIRS, *LOGIC):
    two.cases("3x5 3x5", "1 1", "2x3x5 5", "4x1x3 1x5x1", "0x4 4", "67 67", "i:3x5 i:5")
    two.cases("2x1x2x1x3x1x2x1 2x2x1x2x1x2x1x2", "s:24x1 s:24", "si:15x1 si:15")
    two.refuses("2x3 2x4", f"{two.name}: [2, 3] and [2, 4] do not broadcast")
    two.refuses("i:3 3", f"{two.name}: b must be i32, got f32")
for two in (*LOGIC, eq, ne):
    two.cases("b:3x5 b:3x5", "b:67 b:1", "b:16x16 b:16x16")
for two in BITS:
    two.cases("3x5 3x5", "1 1", "0x4 4", "67 67", "4x1x3 1x5x1", "i:3x5 i:5", "si:15x1 si:15")
    two.refuses("f:3 3", f"{two.name}: a must be bool or i32, got f32")
for one in NUMBERS:
    one.cases("3x5", "1", "0x4", "s:257", "i:3x5", "i:1", "si:31", other=0)
    one.cases("3x5", "i:3x5", "si:31", "s:24", other=1.5)
    one.cases("si:31", other=2.0**31)
    one.refuses("b:3", f"{one.name}: x must be f32 or i32, got bool", other=0)
for one in (logical_not, bitwise_not):
    one.cases("b:3x7", "b:1", "b:0x4", "b:2x4x8", "i:3x5", "si:31")
logical_not.cases("3x5", "s:257")
logical_not.refuses("u:3", "logical_not: x must be f32 or i32 or bool, got u32")
bitwise_not.refuses("f:3", "bitwise_not: x must be bool or i32, got f32")
where.cases("3x5 3x5 3x5", "1 1 1", "4x1 4x8 1x8", "8 3x8 3x8", "0x4 4 1", "67 s:67 1")
where.cases("3x5 i:3x5 i:5", "[] 3 3", "2x1x2x1x3x1x2x1 1 2x2x1x2x1x2x1x2")
where.refuses("2x3 2x4 4", "where: [2, 3] and [2, 4] do not broadcast")
where.refuses("3 i:3 f:3", "where: b must be i32, got f32")
