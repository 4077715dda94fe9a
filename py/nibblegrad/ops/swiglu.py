"""The SwiGLU activation's two gradients in one dispatch."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from .map import silu_mul
from .op import op


@op("f[*b], f[*b], f[*b] -> f[*b], f[*b]", tol=1e-5)
def silu_mul_grad(g, gate, up):
    """Both gradients of silu_mul, g its output's: to gate and to up. All f32 of one shape."""
    s = 1 / (1 + np.exp(-gate))
    return g * up * (s + gate * s * (1 - s)), g * gate * s


@silu_mul_grad.kernel("map/silu_mul_grad")
def _(d: Any) -> Launch:
    return Launch(grid1(size(d.b), 64), (size(d.b), 0, 0, 0))


_apart = silu_mul.gradient


@silu_mul.vjp
def _(g: Any, out: Any, gate: Any, up: Any):
    same = gate.shape == up.shape and gate.requires_grad and up.requires_grad
    return silu_mul_grad(g, gate, up) if same else _apart(g, out, gate, up)


silu_mul_grad.without_gradient("second derivatives of activations are not needed yet")
silu_mul_grad.cases("3x5 3x5 3x5", "1 1 1", "7x257 7x257 7x257", "0x4 0x4 0x4")
silu_mul_grad.refuses("3x5 3x5 3x4", "silu_mul_grad: up has b=[3, 4] but g has b=[3, 5]")
