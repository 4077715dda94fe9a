"""Root-mean-square normalisation and its two gradients."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .op import Grad, Op, op


def row_routes(made: Op, kernel: str, params: Any) -> None:
    """Two shapes of one row kernel: a workgroup a row on a GPU; an invocation a row, which any
    device takes, on a software adapter, where barriers are dear."""

    @made.kernel(kernel)
    def _(d: Dims) -> Launch | None:
        if d.caps.software:
            return None
        return Launch(grid1(size(d.b), 1), params(d), {"ROWS": 1, "LANES": 64})

    @made.kernel(kernel)
    def _(d: Dims) -> Launch:
        return Launch(grid1(size(d.b), 16), params(d), {"ROWS": 16, "LANES": 1})


@op("f[*b n], f[n] -> f[*b n]")
def rms_norm(x, weight, *, eps: float = 1e-6):
    """Scale each row of x to unit root-mean-square, then by weight.

    x f32 [*b, n], weight f32 [n]. Source: arXiv 1910.07467, et_vk.rms_norm.
    """
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


row_routes(rms_norm, "norm/rms_norm", lambda d: (size(d.b), d.n, float(d.eps), 0))


@rms_norm.vjp
def _(g: Any, out: Any, x: Any, weight: Any, *, eps: float):
    return (
        Grad(
            lambda: rms_norm_grad(g, x, weight, None, eps=eps),
            plus=lambda y: rms_norm_grad(g, x, weight, y, eps=eps),
        ),
        lambda: rms_norm_grad_weight(g, x, eps=eps),
    )


rms_norm.saves(x="x weight", weight="x")


@op("f[*b n], f[*b n], f[n], f[*b n]? -> f[*b n]", tol=2e-5)
def rms_norm_grad(g, x, weight, y=None, *, eps: float = 1e-6):
    """Gradient of rms_norm to x, g the gradient of its output; onto y, which x has already."""
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    gw = g * weight
    grad = r * gw - x * r**3 * (gw * x).mean(-1, keepdims=True)
    return grad if y is None else y + grad


row_routes(
    rms_norm_grad,
    "norm/rms_norm_grad",
    lambda d: (size(d.b), d.n, float(d.eps), int(d.y is not None)),
)


@op("f[*b n], f[*b n] -> f[n]", tol=2e-5)
def rms_norm_grad_weight(g, x, *, eps: float = 1e-6):
    """Gradient of rms_norm to its weight."""
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return (g * x * r).reshape(-1, x.shape[-1]).sum(0)


@rms_norm_grad_weight.kernel("norm/rms_norm_grad_weight")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.n, 64), (size(d.b), d.n, float(d.eps), 0))


for made in (rms_norm, rms_norm_grad, rms_norm_grad_weight):
    made.require("n > 0", "an empty row has no norm")
for made in (rms_norm_grad, rms_norm_grad_weight):
    made.without_gradient("second derivatives of norms are not needed yet")
rms_norm.cases("1x8 8", "3x5x257 257", "2x1 1", "0x16 16", "33x64 64")
rms_norm_grad.cases("1x8 1x8 8 -", "3x5x257 3x5x257 257 3x5x257", "0x16 0x16 16 0x16")
rms_norm_grad.cases("2x1 2x1 1 -", eps=0.1)  # with a tiny eps the gradient of one element cancels
rms_norm_grad_weight.cases("1x8 1x8", "3x5x257 3x5x257", "2x1 2x1", "0x16 0x16")
rms_norm.refuses("2x8 7", "rms_norm: weight has n=7 but x has n=8")
rms_norm.refuses("2x0 0", "rms_norm: an empty row has no norm, got n=0")
rms_norm_grad.refuses("2x8 2x7 8 -", "rms_norm_grad: x has n=7 but g has n=8")
rms_norm_grad_weight.refuses("2x8 2x7", "rms_norm_grad_weight: x has n=7 but g has n=8")
