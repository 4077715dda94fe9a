"""Activations, with torch's choice of slope where they bend."""

from __future__ import annotations

from math import inf
from typing import Any

from ..core.lazy import np
from .elementwise import elementwise
from .special import error_function

N = "lib/number"
INSIDE = "select(0.0, select(0.0, g, x < high), x > low)"  # hardtanh stops g at its bounds
WITHIN = "select(0.0, select(0.0, g, x <= high), x >= low)"  # clamp lets it through


@elementwise("maximum(x, 0.0)", grad="select(0.0, g, x > 0.0)", also={"i32": "max(x, 0)"}, of="n",
             link=N)  # fmt: skip
def relu(x):
    """x where positive, else 0. Source: aten::relu."""
    return np.maximum(x, x.dtype.type(0))


@elementwise("keep(x, 1.0 / (1.0 + exp(-x)))", grad="g * s * (1.0 - s)", link=N,
             s="1.0 / (1.0 + exp(-x))")  # fmt: skip
def sigmoid(x):
    """1 / (1 + exp(-x)). Source: aten::sigmoid."""
    return 1 / (1 + np.exp(-x))


@elementwise("keep(x, clamp(x, 0.0, 6.0))", grad="select(0.0, select(0.0, g, x < 6.0), x > 0.0)",
             link=N)  # fmt: skip
def relu6(x):
    """x kept within 0 and 6. Source: aten::relu6."""
    return np.clip(x, 0, 6)


def _bounds(low: str, high: str) -> Any:
    """Two attributes as `low` and `high`; None and what i32 cannot hold are its ends."""

    def numbers(d: Any) -> dict[str, Any]:
        a, b = d.attrs[low], d.attrs[high]
        bounds = {"low": -inf if a is None else a, "high": inf if b is None else b}
        if d.args[next(iter(d.args))].dtype.kind == "i":
            bounds = {k: max(-(2**31), min(2**31 - 1, v)) for k, v in bounds.items()}
        return bounds

    return numbers


@elementwise("minimum(maximum(x, low), high)", grad=WITHIN, also={"i32": "min(max(x, low), high)"},
             of="n", link=N, numbers=_bounds("min", "max"))  # fmt: skip
def clamp(x, *, min: float | None = None, max: float | None = None):
    """x kept within min and max, either left out; g passes at the bounds. Source: aten::clamp."""
    return _clip(x, min, max)


@elementwise("minimum(maximum(x, low), high)", grad=INSIDE, also={"i32": "min(max(x, low), high)"},
             of="n", link=N, numbers=_bounds("min_val", "max_val"))  # fmt: skip
def hardtanh(x, *, min_val: float = -1, max_val: float = 1):
    """x kept within min_val and max_val; g stops at the bounds. Source: aten::hardtanh."""
    return _clip(x, min_val, max_val)


def _clip(x: Any, low: Any, high: Any) -> Any:
    if x.dtype.kind == "i":
        low, high = (
            None if v is None else int(np.clip(v, -(2**31), 2**31 - 1)) for v in (low, high)
        )
    x = x if low is None else np.maximum(x, x.dtype.type(low))
    return x if high is None else np.minimum(x, x.dtype.type(high))


@elementwise(
    "x * keep(x, clamp(x + 3.0, 0.0, 6.0)) / 6.0",
    grad="select(select(g, g * (x / 3.0 + 0.5), x < 3.0), g * 0.0, x <= -3.0)",
    link=N,
)
def hardswish(x):
    """x * relu6(x + 3) / 6. Source: aten::hardswish."""
    return x * np.clip(x + 3, 0, 6) / 6


@elementwise("keep(x, clamp(x + 3.0, 0.0, 6.0)) / 6.0", link=N,
             grad="select(0.0, select(0.0, g / 6.0, x < 3.0), x > -3.0)")  # fmt: skip
def hardsigmoid(x):
    """relu6(x + 3) / 6. Source: aten::hardsigmoid."""
    return np.clip(x + 3, 0, 6) / 6


@elementwise("select(x, 0.0, at_most(-lambd, x) && at_most(x, lambd))", link=N,
             grad="select(g, select(g, 0.0 * g, x <= lambd), x >= -lambd)")  # fmt: skip
def hardshrink(x, *, lambd: float = 0.5):
    """x, or 0 where it lies within -lambd and lambd. Source: aten::hardshrink."""
    return np.where((x >= -lambd) & (x <= lambd), x.dtype.type(0), x)


@elementwise("select(x, x * negative_slope, less(x, 0.0))", link=N,
             grad="select(g * negative_slope, g, x > 0.0)")  # fmt: skip
def leaky_relu(x, *, negative_slope: float = 0.01):
    """x, times negative_slope where negative. Source: aten::leaky_relu."""
    return np.where(x > 0, x, x * x.dtype.type(negative_slope))


@elementwise(
    "keep(x, scale * select(alpha * (exp(min(x * input_scale, 0.0)) - 1.0), x, less(0.0, x)))",
    link=N,
    grad="g * scale * select(alpha * input_scale * exp(min(x * input_scale, 0.0)), 1.0, x > 0.0)",
)
def elu(x, *, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0):
    """scale * x, or scale * alpha * (exp(x * input_scale) - 1) below 0. Source: aten::elu."""
    f = x.dtype.type
    return f(scale) * np.where(x > 0, x, f(alpha) * np.expm1(np.minimum(x * f(input_scale), 0)))


@elementwise(
    "x * phi",
    grad={"": "g * (phi + x * exp(-0.5 * x * x) * 0.3989422804014327)",
          "tanh": "g * (half + 0.5 * x * (1.0 - t * t) * slope)"},
    also={"tanh": "x * half"},
    link="lib/number lib/erf",
    phi="0.5 * (1.0 + erf(x * 0.7071067811865476))",
    t="tanh(clamp(0.7978845608028654 * (x + 0.044715 * x * x * x), -15.0, 15.0))",
    half="0.5 * (1.0 + t)",
    slope="0.7978845608028654 * (1.0 + 0.134145 * x * x)",
)  # fmt: skip
def gelu(x, *, approximate: str = "none"):
    """x times the normal distribution at x, by erf or, "tanh", nearly so. Source: aten::gelu."""
    f = x.dtype.type
    if approximate == "tanh":
        return x * f(0.5) * (1 + np.tanh(f(0.7978845608028654) * (x + f(0.044715) * x * x * x)))
    return x * f(0.5) * (1 + error_function(x * f(0.7071067811865476)))


gelu.require("approximate in ('none', 'tanh')", "approximate is none or tanh")
for one in (
    relu,
    sigmoid,
    relu6,
    hardswish,
    hardsigmoid,
    hardshrink,
    leaky_relu,
    elu,
    gelu,
    hardtanh,
):
    one.cases("3x5", "1", "7x257", "0x4", "s:257")
gelu.cases("3x5", "7x257", "s:257", approximate="tanh")
hardshrink.cases("3x5", lambd=0.0)
leaky_relu.cases("3x5", "s:24", negative_slope=0.2)
elu.cases("3x5", "s:24", alpha=0.7, scale=1.3, input_scale=0.6)
hardtanh.cases("3x5", min_val=-2, max_val=2)
clamp.cases("3x5", "1", "0x4", "s:257", "i:3x5", "si:31", min=-1, max=2)
clamp.cases("3x5", "s:24", "si:15", max=1)
clamp.cases("3x5", "s:24", min=-0.5)
clamp.cases("3x5", min=1, max=-1)
for one in (relu, hardtanh):
    one.cases("i:3x5", "si:31")
    one.refuses("u:3", f"{one.name}: x must be f32 or i32, got u32")
clamp.refuses("i:3", "clamp: low must be a whole number where x is i32, got 0.5", min=0.5)
gelu.refuses("3", "gelu: approximate is none or tanh, got approximate=erf", approximate="erf")
for one in (sigmoid, relu6, hardswish, hardsigmoid, hardshrink, leaky_relu, elu):
    one.refuses("i:3", f"{one.name}: x must be f32, got i32")
