"""LoRA's thin products, each with what would follow it in the same dispatch."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, ceil_div, grid1, size
from ..core.schema import Dims
from .linear import linear_dW
from .map import scale
from .op import Grad, op

THIN = 64  # above this the tiles of linear, which share loads through workgroup memory, win


@op("f[*b n], f[*b k], f[n k] -> f[*b n]", order=("y", "x", "w", "alpha"), tol=2e-5)
def linear_add(y, x, w, *, alpha: float = 1.0):
    """y + alpha * x @ w.T: LoRA's up product, onto its base's output. k is small.

    y f32 [*b, n], x f32 [*b, k], w f32 [n, k]. Source: arXiv 2106.09685.
    """
    return y + y.dtype.type(alpha) * (x @ w.T)


@op("f[*b k], f[*b n], f[n k] -> f[*b k]", tol=2e-5)
def linear_grad_x_add(y, g, w):
    """y + g @ w: the gradient of a thin linear to x, onto what x has already. n is small."""
    return y + g @ w


def _thin(d: Dims, cols: int, terms: int, alpha: float, step: tuple[int, int]) -> Launch:
    """4 x 4 outputs an invocation; `step` walks w by output column and by term."""
    m = size(d.b)
    grid = grid1(ceil_div(m, 4) * ceil_div(cols, 4), 64)
    return Launch(grid, (m, cols, terms, float(alpha), *step, 0, 0))


linear_add.kernel("matmul/thin_add")(lambda d: _thin(d, d.n, d.k, d.alpha, (d.k, 1)))
linear_grad_x_add.kernel("matmul/thin_add")(lambda d: _thin(d, d.k, d.n, 1.0, (1, d.k)))


@op("f[*b n], f[n k] -> f[*b k]", tol=2e-5)
def linear_thin_grad_x(g, w, *, alpha: float = 1.0):
    """alpha * g @ w where k is small: the gradient of linear_add to x."""
    return g.dtype.type(alpha) * (g @ w)


def _back(d: Dims, rows: int, lanes: int) -> Launch:
    m = size(d.b)
    grid = grid1(ceil_div(m, 4) * ceil_div(d.k, 4), rows)
    return Launch(grid, (m, d.n, d.k, float(d.alpha)), {"ROWS": rows, "LANES": lanes})


@linear_thin_grad_x.kernel("matmul/thin_back")
def _(d: Dims) -> Launch | None:
    return None if d.caps.software else _back(d, 1, 64)


linear_thin_grad_x.kernel("matmul/thin_back")(lambda d: _back(d, 16, 1))


@op("f[n k], f[*b n], f[*b k] ->", mutates=("acc",), order=("acc", "d_out", "x", "alpha"),
    tol=2e-5)  # fmt: skip
def linear_dW_add(acc, d_out, x, *, alpha: float = 1.0):
    """acc += alpha * d_out^T @ x, in place: a thin weight's gradient, n or k small.

    acc f32 [n, k], d_out f32 [*b, n], x f32 [*b, k].
    """
    rows = size(x.shape[:-1])
    product = d_out.reshape(rows, d_out.shape[-1]).T @ x.reshape(rows, x.shape[-1])
    acc += acc.dtype.type(alpha) * product


@linear_dW_add.kernel("matmul/thin_dw")
def _(d: Dims) -> Launch | None:
    if d.n % 4 or d.k % 4:
        return None
    slices = 1 if d.caps.software or d.caps.max_invocations < 256 else 64
    grid = grid1(ceil_div(d.n, 8) * ceil_div(d.k, 8), 1)
    return Launch(grid, (size(d.b), d.n, d.k, float(d.alpha)), {"SLICES": slices})


@linear_dW_add.kernel("matmul/thin_dw_naive")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.n * d.k, 64), (size(d.b), d.n, d.k, float(d.alpha)))


def weight_gradient(g: Any, x: Any, alpha: float = 1.0) -> Grad:
    """alpha * g^T x; straight into the gradient there is, where the weight is thin."""

    def compute() -> Any:
        found = linear_dW(g, x)
        return found if alpha == 1 else scale(found, s=alpha)

    thin = min(g.shape[-1], x.shape[-1]) <= THIN
    return Grad(compute, into=(lambda acc: linear_dW_add(acc, g, x, alpha)) if thin else None)


def onto(g: Any, w: Any) -> Any:
    """How g @ w is added to what there is already in one dispatch, where w is thin; else None."""
    if w.dtype.name != "f32" or w.shape[0] > THIN:
        return None
    return lambda y: linear_grad_x_add(y, g, w)


@linear_add.vjp
def _(g: Any, out: Any, y: Any, x: Any, w: Any, *, alpha: float):
    return (g, lambda: linear_thin_grad_x(g, w, alpha=alpha), weight_gradient(g, x, alpha))


linear_add.saves(y="", x="w", w="x")
for made in (linear_grad_x_add, linear_thin_grad_x):
    made.without_gradient("a step of a linear's own gradient")
linear_dW_add.without_gradient("it updates in place, outside the tape")
linear_add.cases("3x5 3x8 5x8", "1x1 1x1 1x1", "2x3x12 2x3x4 12x4", "0x4 0x8 4x8", "3x7 3x0 7x0")
linear_add.cases("9x36 9x8 36x8", "70x33 70x5 33x5", "5 3 5x3", alpha=-1.75)
linear_grad_x_add.cases("3x8 3x5 5x8", "1x1 1x1 1x1", "2x3x36 2x3x8 8x36", "0x8 0x4 4x8")
linear_thin_grad_x.cases("3x5 5x8", "1x1 1x1", "2x3x132 132x8", "0x4 4x8", "3x0 0x5")
linear_thin_grad_x.cases("70x36 36x9", "5x257 257x3", alpha=-1.75)
linear_dW_add.cases("8x36 9x8 9x36", "1x1 1x1 1x1", "12x8 2x70x12 2x70x8", "4x8 0x4 0x8")
linear_dW_add.cases("36x4 135x36 135x4", "5x3 9x5 9x3", "8x8 1x8 1x8", alpha=-1.75)
linear_add.refuses("3x5 3x8 5x7", "linear_add: w has k=7 but x has k=8")
linear_grad_x_add.refuses("3x8 3x5 5x7", "linear_grad_x_add: w has k=7 but y has k=8")
linear_thin_grad_x.refuses("3x5 4x8", "linear_thin_grad_x: w has n=4 but g has n=5")
linear_dW_add.refuses("4x8 3x4 3x7", "linear_dW_add: x has k=7 but acc has k=8")
