"""x @ w.T and its gradients, w in any stored format, read as it lies, never dequantised whole."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from . import tiles
from .op import Grad, op

HALVES = 2e-3  # two factors rounded to 11 bits; the sums are f32


@op("f[*b k], w[n k], f[n]? -> f[*b n]", tol=2e-5)
def linear(x, w, bias=None):
    """x @ w.T + bias.

    x f32 [*b, k], w [n, k] as stored (f32 f16 bf16 q8_0 q4_0 q4_1), bias f32 [n].
    Source: aten::linear; the block formats are GGML's.
    """
    y = x @ w.T
    return y if bias is None else y + bias


@linear.kernel("matmul/linear_row")
def _(d: Dims) -> Launch | None:
    few = size(d.b) <= 4 or d.n <= 32  # a single text's next token, or LoRA's narrow A
    if d.caps.software or not few or d.k % 4:
        return None
    return tiles.row(d, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_matrix", tol=HALVES)
def _(d: Dims) -> Launch | None:
    return tiles.matrix(d, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_shared")
def _(d: Dims) -> Launch | None:
    if d.caps.software or size(d.b) < 16 or d.k % 16 or d.n < 32:
        return None
    return tiles.shared(d, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_tile8")
def _(d: Dims) -> Launch | None:
    return tiles.tile8(d, d.n, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_tile")
def _(d: Dims) -> Launch | None:
    if d.k % 4:
        return None
    return tiles.tile(d, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_naive")
def _(d: Dims) -> Launch:
    return tiles.each(d, d.n, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.vjp
def _(g: Any, out: Any, x: Any, w: Any, bias: Any):
    from .linear_fused import onto, weight_gradient

    return (
        Grad(lambda: grad_x(g, w), plus=onto(g, w)),
        weight_gradient(g, x),
        lambda: column_sum(g),
    )


linear.saves(x="w", w="x", bias="")


@op("f[*b n], w[n k] -> f[*b k]", tol=2e-5)
def linear_grad_x(g, w):
    """g @ w: the gradient of linear to x, w read as stored."""
    return g @ w


@linear_grad_x.kernel("matmul/linear_grad_x_matrix", tol=HALVES)
def _(d: Dims) -> Launch | None:
    return tiles.grad_matrix(d, d.w.dtype.name, (d.k, 0, 0, 0))


@linear_grad_x.kernel("matmul/linear_grad_x_shared")
def _(d: Dims) -> Launch | None:
    return tiles.grad_shared(d, d.w.dtype.name, (d.k, 0, 0, 0))


@linear_grad_x.kernel("matmul/linear_grad_x_tile8")
def _(d: Dims) -> Launch | None:
    if d.n % 4:
        return None
    return tiles.tile8(d, d.k, d.w.dtype.name, (d.k, 0, 0, 0), False)


@linear_grad_x.kernel("matmul/linear_grad_x_tile")
def _(d: Dims) -> Launch | None:
    if d.k % 4 or d.n % 4:
        return None
    return tiles.grad_tile(d, d.w.dtype.name, (d.k, 0, 0, 0))


@linear_grad_x.kernel("matmul/linear_grad_x_naive")
def _(d: Dims) -> Launch:
    return tiles.each(d, d.k, d.w.dtype.name, (d.k, 0, 0, 0), False)


@linear_grad_x.vjp
def _(h: Any, out: Any, g: Any, w: Any):
    return (lambda: linear(h, w), lambda: linear_dW(g, h))


@op("f[*b n], w[n k] -> f[*s]", tol=2e-5, shape=lambda d: (d.parts, *d.b, d.k))
def linear_grad_x_parts(g, w, *, parts: int):
    """linear_grad_x as `parts` terms, each over its own run of n, for the caller to add up: work
    for every core of a GPU where n is far larger than the result."""
    per = w.shape[0] // parts
    runs = [slice(i * per, (i + 1) * per) for i in range(parts)]
    return np.stack([g[..., run] @ w[run] for run in runs])


@linear_grad_x_parts.kernel("matmul/linear_grad_x_matrix", tol=HALVES)
def _(d: Dims) -> Launch | None:
    return tiles.grad_matrix(d, d.w.dtype.name, (d.k, 0, 0, 0), d.parts)


@linear_grad_x_parts.kernel("matmul/linear_grad_x_shared")
def _(d: Dims) -> Launch | None:
    return tiles.grad_shared(d, d.w.dtype.name, (d.k, 0, 0, 0), d.parts)


@linear_grad_x_parts.kernel("matmul/linear_grad_x_parts")
def _(d: Dims) -> Launch:
    params = (d.k, 0, 0, 0, size(d.b), d.n, d.k, d.n // d.parts)
    return Launch(grid1(size(d.out[0].shape), 64), params, link=(f"format/{d.w.dtype.name}",))


linear_grad_x_parts.require("parts > 0 and n % parts == 0", "parts must divide n")
linear_grad_x_parts.without_gradient("a step of linear's own gradient")


def grad_x(g: Any, w: Any) -> Any:
    """linear_grad_x, in parts where that keeps a GPU busy: a vocabulary's worth of rows."""
    from .reduce_dims import sum_

    n, k = w.shape
    parts = next((p for p in (16, 8, 4) if n % (16 * p) == 0), 1) if n >= 16 * k else 1
    caps = getattr(g.device, "caps", None)  # the host has none
    if parts == 1 or caps is None or caps.software:
        return linear_grad_x(g, w)
    return sum_(linear_grad_x_parts(g, w, parts=parts), dim=0)


@op("f[*b n], f[*b k] -> f[n k]", order=("d_out", "x"), tol=2e-5)
def linear_dW(d_out, x):
    """d_out^T @ x summed over every leading dim: the gradient of a linear's weight, f32 [n, k].

    Source: et_vk.linear_dW.
    """
    rows = size(x.shape[:-1])  # not -1: numpy has no answer to that when a size is 0
    return d_out.reshape(rows, d_out.shape[-1]).T @ x.reshape(rows, x.shape[-1])


@linear_dW.kernel("matmul/dw_matrix", tol=HALVES)
def _(d: Dims) -> Launch | None:
    if not d.caps.halves or d.n % 4 or d.k % 4 or min(size(d.b), d.n, d.k) < 16:
        return None
    grid, const = tiles.matrices(d, d.n, d.k, (1, 1))
    return Launch(grid, (size(d.b), d.n, d.k, 0), const=const)


@linear_dW.kernel("matmul/dw_shared")
def _(d: Dims) -> Launch | None:
    if d.caps.software or d.n % 4 or d.k % 4 or min(size(d.b), d.n, d.k) < 16:
        return None
    grid, const = tiles.outer(d, d.n, d.k)
    return Launch(grid, (size(d.b), d.n, d.k, 0), const=const)


@linear_dW.kernel("matmul/dw_tile")
def _(d: Dims) -> Launch | None:
    if d.n % 4 or d.k % 4:
        return None
    return Launch(grid1(d.n // 4 * (d.k // 4), 64), (size(d.b), d.n, d.k, 0))


@linear_dW.kernel("matmul/dw_naive")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.n * d.k, 64), (size(d.b), d.n, d.k, 0))


@linear_dW.vjp
def _(h: Any, out: Any, d_out: Any, x: Any):
    return (lambda: linear(x, h), lambda: linear_grad_x(d_out, h))


@op("f[*b n] -> f[n]", tol=2e-5)
def column_sum(g):
    """g summed over every leading dim: the gradient of a bias."""
    return g.sum(tuple(range(g.ndim - 1)))


@column_sum.kernel("reduce/column_sum")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.n, 64), (size(d.b), d.n, 0, 0))


@column_sum.vjp
def _(h: Any, out: Any, g: Any):
    from .reduce import expand

    return (lambda: expand(h, shape=g.shape),)


column_sum.cases("3x5", "1x1", "2x3x257", "0x4", "0", "5")
column_sum.refuses("", "column_sum: g must be f[*b n], got []")
linear.cases("3x64 5x64 -", "1x64 7x64 7", "2x3x8 4x8 4", "3x7 5x7 5", "1x1 1x1 -", "0x32 4x32 -")
linear.cases("9x96 33x96 33", "2x64 40x64 -", "17x64 64x64 -", "64x576 48x576 -", "70x32 130x32 -")
linear.cases("33x64 70x64 70")
linear_grad_x.cases("3x5 5x64", "1x8 8x64", "2x3x4 4x8", "3x7 7x5", "1x1 1x1", "0x4 4x32")
linear_grad_x.cases("9x36 36x96", "2x12 12x64", "70x32 32x96", "16x48 48x132")
linear_grad_x_parts.cases("70x64 64x96", "16x32 32x36", "1x4 4x1", parts=2)
linear_grad_x_parts.cases("3x12 12x7", "0x12 12x32", parts=3)
linear_grad_x_parts.refuses("2x4 4x8", "linear_grad_x_parts: parts must divide n, got parts=3, n=4",
                            parts=3)  # fmt: skip
linear_dW.cases("70x132 70x36", "17x40 17x160")
linear_dW.cases("13x18 13x10", "3x8 3x64", "1x1 1x1", "2x3x4 2x3x8", "0x4 0x8")
linear.refuses("2x8 4x7 -", "linear: w has k=7 but x has k=8")
linear.refuses("2x8 4x8 5", "linear: bias has n=5 but w has n=4")
linear_grad_x.refuses("2x8 4x7", "linear_grad_x: w has n=4 but g has n=8")
linear_dW.refuses("2x8 3x7", "linear_dW: x has b=[3] but d_out has b=[2]")
