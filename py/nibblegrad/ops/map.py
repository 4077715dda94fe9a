"""Elementwise ops, broadcasting as in numpy."""

from __future__ import annotations

from ..core.lazy import np
from .elementwise import elementwise


@elementwise("a + b", grad={"a": "g", "b": "g"})
def add(a, b):
    """a + b. Shapes broadcast; f32. Source: aten::add."""
    return a + b


@elementwise("a + alpha * b", grad={"a": "g", "b": "g * alpha"})
def axpy(a, b, *, alpha: float):
    """a + alpha * b. Shapes broadcast; f32. Source: aten::add with its alpha."""
    return a + np.asarray(alpha, b.dtype) * b


@elementwise("a - b", grad={"a": "g", "b": "-g"})
def sub(a, b):
    """a - b. Shapes broadcast; f32. Source: aten::sub."""
    return a - b


@elementwise("a * b", grad={"a": "g * b", "b": "g * a"})
def mul(a, b):
    """a * b. Shapes broadcast; f32. Source: aten::mul."""
    return a * b


@elementwise("a / b", grad={"a": "g / b", "b": "-g * a / (b * b)"})
def div(a, b):
    """a / b, true division. Shapes broadcast; f32. Source: aten::div."""
    return a / b


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


for one in (scale, silu):
    one.cases("3x5", "1", "7x257", "0x4")
scale.case_list = [(shapes, {"s": -0.75}) for shapes, _ in scale.case_list]
for two in (add, sub, mul, div, silu_mul, axpy):
    two.cases(
        "3x5 3x5", "1 1", "2x3x5 5", "4x1x3 1x5x1", "0x4 4", "2x1x2x1x3x1x2x1 2x2x1x2x1x2x1x2"
    )
axpy.case_list = [(shapes, {"alpha": 0.7}) for shapes, _ in axpy.case_list]
axpy.refuses("2x3 2x4", "axpy: [2, 3] and [2, 4] do not broadcast", alpha=1.0)
silu.refuses("i:3", "silu: x must be f32, got i32")
scale.refuses("i:3", "scale: x must be f32, got i32", s=1.0)
for two in (add, sub, mul, div):
    two.refuses("2x3 2x4", f"{two.name}: [2, 3] and [2, 4] do not broadcast")
silu_mul.refuses("2x3 2x4", "silu_mul: [2, 3] and [2, 4] do not broadcast")
