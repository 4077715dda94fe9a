"""Arithmetic, broadcasting as in numpy: f32, and i32 with wrapping and C's or Python's division."""

from __future__ import annotations

from typing import Any

from ..core.lazy import np
from .elementwise import elementwise, unbroadcast

PAIRS = "lib/number lib/power lib/remainder"


@elementwise("a + alpha * b", of="n")
def add(a, b, *, alpha: float = 1):
    """a + alpha * b. Shapes broadcast; f32 or i32. Source: aten::add.Tensor."""
    return a + a.dtype.type(alpha) * b


@elementwise("a - alpha * b", of="n")
def sub(a, b, *, alpha: float = 1):
    """a - alpha * b. Shapes broadcast; f32 or i32. Source: aten::sub.Tensor."""
    return a - a.dtype.type(alpha) * b


@add.vjp
def _(g: Any, out: Any, a: Any, b: Any, *, alpha: float):
    return (
        lambda: unbroadcast(g, a),
        lambda: unbroadcast(g if alpha == 1 else scale(g, s=alpha), b),
    )


@sub.vjp
def _(g: Any, out: Any, a: Any, b: Any, *, alpha: float):
    return (lambda: unbroadcast(g, a), lambda: unbroadcast(scale(g, s=-alpha), b))


add.saves(a="", b="")
sub.saves(a="", b="")


@elementwise("a * b", grad={"a": "g * b", "b": "g * a"}, of="n")
def mul(a, b):
    """a * b. Shapes broadcast; f32 or i32. Source: aten::mul.Tensor."""
    return a * b


def _quotient_dtype(d: Any) -> Any:
    from ..core.dtype import f32

    return d.a.dtype if d.rounding_mode else f32


@elementwise(
    "over(a, b)",
    grad={
        "a": {"": "over(g, b)", "floor": "g * 0.0", "trunc": "g * 0.0"},
        "b": {"": "-g * over(over(a, b), b)", "floor": "g * 0.0", "trunc": "g * 0.0"},
    },
    also={
        "i32": "f32(a) / f32(b)",
        "floor": "floor_divide(a, b)",
        "floor i32": "floor_whole(a, b)",
        "trunc": "trunc(divide(a, b))",
        "trunc i32": "quotient(a, b)",
    },
    of="n",
    link="lib/number lib/remainder",
    dtype=_quotient_dtype,
)
def div(a, b, *, rounding_mode: str | None = None):
    """a / b: true (f32 even of i32), or rounded by "floor" or "trunc" in a's dtype.

    i32 by zero gives 0 there. Shapes broadcast. Source: aten::div.Tensor, aten::div.Tensor_mode.
    """
    if rounding_mode is None:
        return a / b if a.dtype.kind == "f" else a.astype(np.float32) / b.astype(np.float32)
    if rounding_mode == "floor":
        return np.floor_divide(a, b)
    return np.trunc(a / b) if a.dtype.kind == "f" else (a - np.fmod(a, b)) // b


@elementwise("floor_divide(a, b)", also={"i32": "floor_whole(a, b)"}, of="n", link=PAIRS)
def floor_divide(a, b):
    """a / b rounded down, exactly, not by rounding a quotient. Source: aten::floor_divide."""
    return np.floor_divide(a, b)


@elementwise("remainder(a, b)", grad={"a": "g", "b": "-g * floor(over(a, b))"},
             also={"i32": "remainder_whole(a, b)"}, of="n", link=PAIRS)  # fmt: skip
def remainder(a, b):
    """What floor_divide leaves: b's sign; i32 by zero gives 0. Source: aten::remainder.Tensor."""
    return np.remainder(a, b)


@elementwise("fmod(a, b)", grad={"a": "g", "b": "-g * trunc(over(a, b))"},
             also={"i32": "rest_of(a, b)"}, of="n", link=PAIRS)  # fmt: skip
def fmod(a, b):
    """What truncated division leaves: a's sign; i32 by zero gives 0. Source: aten::fmod.Tensor."""
    return np.fmod(a, b)


@elementwise(
    "minimum(a, b)",
    grad={
        "a": "select(select(0.0, g, a < b), 0.5 * g, a == b)",
        "b": "select(select(0.0, g, b < a), 0.5 * g, a == b)",
    },
    also={"i32": "min(a, b)"},
    of="n",
    link="lib/number",
)
def minimum(a, b):
    """The smaller of each pair, NaN if either is; a tie halves g. Source: aten::minimum."""
    return np.minimum(a, b)


@elementwise(
    "maximum(a, b)",
    grad={
        "a": "select(select(0.0, g, a > b), 0.5 * g, a == b)",
        "b": "select(select(0.0, g, b > a), 0.5 * g, a == b)",
    },
    also={"i32": "max(a, b)"},
    of="n",
    link="lib/number",
)
def maximum(a, b):
    """The larger of each pair, NaN if either is; a tie halves g. Source: aten::maximum."""
    return np.maximum(a, b)


def _power(a: Any, b: Any) -> Any:
    """a to the b; of integers, wrapping, a negative b leaving what 1 / a keeps whole."""
    if a.dtype.kind == "f":
        return np.power(a, b)
    negative = np.where(np.abs(a) == 1, np.where(b % 2 == 1, a, a.dtype.type(1)), a.dtype.type(0))
    return np.where(b < 0, negative, np.power(a, np.maximum(b, 0))).astype(a.dtype)


@elementwise(
    "power(a, b)",
    grad={
        "a": "select(g * b * power(a, b - 1.0), 0.0, b == 0.0)",
        "b": "select(g * power(a, b) * log(a), select(g * 0.0, g * power(a, b) * log(a), b < 0.0), "
        "a == 0.0)",
    },
    also={"i32": "power_whole(a, b)"},
    of="n",
    link="lib/number lib/power",
    tol=3e-5,
)
def pow(a, b):
    """a to the b, C's special values; i32 wraps. Source: aten::pow.Tensor_Tensor."""
    return _power(a, b)


@elementwise("select(select(power(x, exponent), root(x), exponent == 0.5), 1.0 / root(x), "
             "exponent == -0.5)", grad="select(g * exponent * power(x, exponent - 1.0), 0.0 * g, "
             "exponent == 0.0)", also={"i32": "power_whole(x, exponent)"}, of="n",
             link="lib/number lib/power lib/root", tol=3e-5)  # fmt: skip
def pow_scalar(x, *, exponent: float):
    """x to a number; 0.5 and -0.5 are roots, of -inf and -0.0 too, as in torch.

    Source: aten::pow.Tensor_Scalar.
    """
    if x.dtype.kind == "f" and abs(exponent) == 0.5:
        return np.sqrt(x) if exponent > 0 else 1 / np.sqrt(x)
    return _power(x, x.dtype.type(exponent))


@elementwise("x * s", grad="g * s")
def scale(x, *, s: float):
    """x times the number s. Source: aten::mul.Scalar."""
    return x * np.asarray(s, x.dtype)


@elementwise("x * s", grad="g * (s + x * s * (1.0 - s))", s="1.0 / (1.0 + exp(-x))")
def silu(x):
    """x times its sigmoid. Source: aten::silu."""
    return x / (1 + np.exp(-x))


@elementwise(
    "gate * s * up",
    grad={"gate": "g * up * (s + gate * s * (1.0 - s))", "up": "g * gate * s"},
    s="1.0 / (1.0 + exp(-gate))",
)
def silu_mul(gate, up):
    """silu(gate) * up, the SwiGLU activation (arXiv 2002.05202)."""
    return gate / (1 + np.exp(-gate)) * up


axpy = add

SHAPES = ("3x5 3x5", "1 1", "2x3x5 5", "4x1x3 1x5x1", "0x4 4", "2x1x2x1x3x1x2x1 2x2x1x2x1x2x1x2")
WHOLE = ("i:3x5 i:3x5", "i:7x1 i:3", "si:15x1 si:15")
EVERY_PAIR = "s:24x1 s:24"
HUGE = "h:7x5 h:7x5"
floor_divide.without_gradient("constant between its jumps; as torch, it does not learn")
pow_scalar.require("exponent >= 0 or x.dtype.kind == 'f'", "a whole number has no negative power")
div.require("rounding_mode in (None, 'floor', 'trunc')", "rounding_mode is None, floor or trunc")
for one in (scale, silu):
    one.cases("3x5", "1", "7x257", "0x4")
scale.case_list = [(shapes, {"s": -0.75}) for shapes, _ in scale.case_list]
for two in (add, sub, mul, div, silu_mul, floor_divide, remainder, fmod, minimum, maximum):
    two.cases(*SHAPES)
    two.refuses("2x3 2x4", f"{two.name}: [2, 3] and [2, 4] do not broadcast")
for two in (add, sub, mul, div, floor_divide, remainder, fmod, minimum, maximum, pow):
    two.cases(*WHOLE, EVERY_PAIR)
for two in (add, sub):
    two.cases("3x5 3x5", "1x4 3x1", alpha=0.7)
    two.cases("i:3x5 i:5", "si:15x1 si:15", alpha=-3)
    two.refuses("i:3 i:3", f"{two.name}: alpha must be a whole number where a is i32, got 0.5",
                alpha=0.5)  # fmt: skip
    two.refuses("i:3 3", f"{two.name}: b must be i32, got f32")
for mode in ("floor", "trunc"):
    div.cases("3x5 3x5", "4x1x3 1x5x1", *WHOLE, EVERY_PAIR, HUGE, rounding_mode=mode)
for two in (div, floor_divide, remainder, fmod):
    two.cases(HUGE)
div.refuses("3 3", "div: rounding_mode is None, floor or trunc, got rounding_mode=up",
            rounding_mode="up")  # fmt: skip
pow.cases("p:3x5 3x5", "p:1 1", "p:2x3x5 5", "p:0x4 4")
pow.refuses("2x3 2x4", "pow: [2, 3] and [2, 4] do not broadcast")
for exponent in (2, 3, 0.5, -1, -2, 0, 2.7):
    pow_scalar.cases("p:3x5", exponent=exponent)
for exponent in (0, 1, 2, 3, 7):
    pow_scalar.cases("3x5", "i:3x5", "si:31", "s:257", exponent=exponent)
pow_scalar.cases("p:1", "p:0x4", "s:24", exponent=-2.5)
pow_scalar.cases("s:24", exponent=0.5)
pow_scalar.cases("s:24", exponent=-0.5)
pow_scalar.refuses(
    "i:3", "pow_scalar: a whole number has no negative power, got exponent=-1, x=[3]", exponent=-1
)
pow_scalar.refuses("u:3", "pow_scalar: x must be f32 or i32, got u32", exponent=2)
silu.refuses("i:3", "silu: x must be f32, got i32")
scale.refuses("i:3", "scale: x must be f32, got i32", s=1.0)
