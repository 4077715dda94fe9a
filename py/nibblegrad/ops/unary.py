"""Functions of one number."""

from __future__ import annotations

from ..core.lazy import np
from .elementwise import elementwise
from .special import error_function

N = "lib/number"
TRIG = "lib/trig"


@elementwise("abs(x)", grad="g * sign(x)", of="n")
def abs(x):
    """The magnitude; -2^31 stays. Source: aten::abs."""
    return np.abs(x)


@elementwise("-x", grad="-g", of="n")
def neg(x):
    """-x. Source: aten::neg."""
    return -x


@elementwise("sign_of(x)", grad="g * 0.0", also={"i32": "sign(x)"}, of="n", link=N)
def sign(x):
    """-1, 0 or 1; 0 of NaN. Source: aten::sign."""
    return np.nan_to_num(np.sign(x))


@elementwise("x * x", grad="2.0 * g * x", of="n")
def square(x):
    """x * x. Source: aten::square."""
    return x * x


@elementwise("1.0 / x", grad="-g / (x * x)")
def reciprocal(x):
    """1 / x. Source: aten::reciprocal."""
    return 1 / x


@elementwise("keep(x, exp(x))", grad="g * exp(x)", link=N)
def exp(x):
    """e to the x. Source: aten::exp."""
    return np.exp(x)


@elementwise("logarithm(x)", grad="over(g, x)", link="lib/root lib/divide")
def log(x):
    """The natural logarithm. Source: aten::log."""
    return np.log(x)


@elementwise(
    "logarithm(x) * 0.4342944819032518", grad="g / (x * 2.302585092994046)", link="lib/root"
)
def log10(x):
    """The logarithm to base 10. Source: aten::log10."""
    return np.log10(x)


@elementwise("root(x)", grad="0.5 * g / sqrt(x)", link="lib/root")
def sqrt(x):
    """The square root. Source: aten::sqrt."""
    return np.sqrt(x)


@elementwise("1.0 / root(x)", grad="-0.5 * g / (x * sqrt(x))", link="lib/root")
def rsqrt(x):
    """1 / sqrt(x). Source: aten::rsqrt."""
    return 1 / np.sqrt(x)


@elementwise("sine(x)", grad="g * cosine(x)", link=TRIG)
def sin(x):
    """The sine, of large x too. Source: aten::sin."""
    return np.sin(x)


@elementwise("cosine(x)", grad="-g * sine(x)", link=TRIG)
def cos(x):
    """The cosine, of large x too. Source: aten::cos."""
    return np.cos(x)


@elementwise("tangent(x)", grad="g / (c * c)", link=TRIG, c="cosine(x)", tol=3e-5)
def tan(x):
    """The tangent. Source: aten::tan."""
    return np.tan(x)


@elementwise("keep(x, t)", grad="g * (1.0 - t * t)", link=N, t="tanh(clamp(x, -15.0, 15.0))")
def tanh(x):
    """The hyperbolic tangent, its argument clamped: drivers overflow. Source: aten::tanh."""
    return np.tanh(x)


@elementwise("erf(x)", grad="1.1283791670955126 * g * exp(-x * x)", link="lib/erf")
def erf(x):
    """The error function. Source: aten::erf."""
    return error_function(x)


@elementwise("floor(x)", grad="g * 0.0", also={"i32": "x"}, of="n")
def floor(x):
    """Rounded down. Source: aten::floor."""
    return np.floor(x).astype(x.dtype)


@elementwise("ceil(x)", grad="g * 0.0", also={"i32": "x"}, of="n")
def ceil(x):
    """Rounded up. Source: aten::ceil."""
    return np.ceil(x).astype(x.dtype)


@elementwise("round(x)", grad="g * 0.0", also={"i32": "x"}, of="n")
def round(x):
    """Rounded to the nearest, ties to even. Source: aten::round."""
    return np.rint(x).astype(x.dtype)


@elementwise("trunc(x)", grad="g * 0.0", also={"i32": "x"}, of="n")
def trunc(x):
    """Rounded towards zero. Source: aten::trunc."""
    return np.trunc(x).astype(x.dtype)


ANY = (abs, neg, sign, square, exp, sin, cos, tan, tanh, erf, floor, ceil, round, trunc, reciprocal)
for one in ANY:
    one.cases("3x5", "1", "7x257", "0x4", "s:257")
for one in (log, log10, sqrt, rsqrt):
    one.cases("p:3x5", "p:1", "p:7x257", "0x4", "s:257")
for one in (abs, neg, sign, square, floor, ceil, round, trunc):
    one.cases("i:3x5", "si:31")
    one.refuses("u:3", f"{one.name}: x must be f32 or i32, got u32")
for one in (exp, log, log10, sqrt, rsqrt, sin, cos, tan, tanh, erf, reciprocal):
    one.refuses("i:3", f"{one.name}: x must be f32, got i32")
