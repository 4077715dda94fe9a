"""x @ w.T and its gradients, w in any stored format, read as it lies: never dequantised to memory."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, ceil_div, grid1, size
from ..core.schema import Dims
from .op import op


def tile_rows(m: int) -> int:
    """Rows a register tile holds: as many as there are, up to eight."""
    return 1 if m == 1 else 2 if m == 2 else 4 if m <= 4 else 8


@op("f[*b k], w[n k], f[n]? -> f[*b n]", tol=2e-5)
def linear(x, w, bias=None):
    """x @ w.T + bias. x f32 [*b, k], w [n, k] as stored (f32 f16 bf16 q8_0 q4_0 q4_1), bias f32 [n].

    Source: aten::linear; the block formats are GGML's.
    """
    y = x @ w.T
    return y if bias is None else y + bias


BOUND = {"q4gsw": ("weights", "weight_scales"), "qcs4w": ("weight", "scales")}


def launch_tile(d: Dims, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
    """The register-tile launch: tile_rows x 4 outputs an invocation, vec4 along k."""
    m = size(d.b)
    rows = tile_rows(m)
    return Launch(
        grid1(ceil_div(m, rows) * ceil_div(d.n, 4), 64),
        (*w, m, d.n, d.k, int(bias)),
        const={"ROWS": rows},
        link=(f"format/{link}",),
        weights=BOUND.get(link, ()),
    )


def launch_tile8(
    d: Dims, width: int, link: str, w: tuple[int, int, int, int], bias: bool
) -> Launch | None:
    """8 x 8 outputs an invocation, for five rows and more; `width` is the outputs' row length."""
    m = size(d.b)
    if d.k % 8 or m < 5:
        return None
    params = (*w, m, d.n, d.k, int(bias))
    grid = grid1(ceil_div(m, 8) * ceil_div(width, 8), 64)
    return Launch(grid, params, link=(f"format/{link}",), weights=BOUND.get(link, ()))


def launch_each(d: Dims, n: int, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
    """One invocation an output."""
    m = size(d.b)
    params = (*w, m, d.n, d.k, int(bias))
    link_ = (f"format/{link}",)
    return Launch(grid1(m * n, 64), params, link=link_, weights=BOUND.get(link, ()))


def launch_row(d: Dims, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
    """A workgroup an output column, lanes along k: few rows on a GPU."""
    params = (*w, size(d.b), d.n, d.k, int(bias))
    return Launch(grid1(size(d.b) * ceil_div(d.n, 4), 1), params, {"ROWS": 1, "LANES": 32},
                  link=(f"format/{link}",), weights=BOUND.get(link, ()))  # fmt: skip


def launch_shared(d: Dims, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
    """A 64 x 64 tile in workgroup memory, 4 x 4 outputs an invocation: many rows on a GPU."""
    m = size(d.b)
    params = (*w, m, d.n, d.k, int(bias))
    grid = grid1(ceil_div(m, 64) * ceil_div(d.n, 64), 1)
    return Launch(grid, params, link=(f"format/{link}",), weights=BOUND.get(link, ()))


@linear.kernel("matmul/linear_row")
def _(d: Dims) -> Launch | None:
    if d.caps.software or size(d.b) > 4 or d.k % 4:
        return None
    return launch_row(d, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_shared")
def _(d: Dims) -> Launch | None:
    if d.caps.software or size(d.b) < 16 or d.k % 16 or d.n < 32:
        return None
    return launch_shared(d, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_tile8")
def _(d: Dims) -> Launch | None:
    return launch_tile8(d, d.n, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_tile")
def _(d: Dims) -> Launch | None:
    if d.k % 4:
        return None
    return launch_tile(d, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.kernel("matmul/linear_naive")
def _(d: Dims) -> Launch:
    return launch_each(d, d.n, d.w.dtype.name, (d.k, 0, 0, 0), d.bias is not None)


@linear.vjp
def _(g: Any, out: Any, x: Any, w: Any, bias: Any):
    return (
        lambda: linear_grad_x(g, w),
        lambda: linear_dW(g, x),
        lambda: column_sum(g),
    )


linear.saves(x="w", w="x", bias="")


@op("f[*b n], w[n k] -> f[*b k]", tol=2e-5)
def linear_grad_x(g, w):
    """g @ w: the gradient of linear to x, w read as stored."""
    return g @ w


def launch_grad_tile(d: Dims, link: str, w: tuple[int, int, int, int]) -> Launch:
    """tile_rows x 4 gradients an invocation, four weight rows a step."""
    m = size(d.b)
    rows = tile_rows(m)
    return Launch(
        grid1(ceil_div(m, rows) * ceil_div(d.k, 4), 64),
        (*w, m, d.n, d.k, 0),
        const={"ROWS": rows},
        link=(f"format/{link}",),
        weights=BOUND.get(link, ()),
    )


@linear_grad_x.kernel("matmul/linear_grad_x_shared")
def _(d: Dims) -> Launch | None:
    if d.caps.software or size(d.b) < 16 or d.k % 4 or d.k < 32 or d.n % 16:
        return None
    m = size(d.b)
    grid = grid1(ceil_div(m, 64) * ceil_div(d.k, 64), 1)
    link = (f"format/{d.w.dtype.name}",)
    return Launch(grid, (d.k, 0, 0, 0, m, d.n, d.k, 0), link=link)


@linear_grad_x.kernel("matmul/linear_grad_x_tile8")
def _(d: Dims) -> Launch | None:
    if d.n % 4:
        return None
    return launch_tile8(d, d.k, d.w.dtype.name, (d.k, 0, 0, 0), False)


@linear_grad_x.kernel("matmul/linear_grad_x_tile")
def _(d: Dims) -> Launch | None:
    if d.k % 4 or d.n % 4:
        return None
    return launch_grad_tile(d, d.w.dtype.name, (d.k, 0, 0, 0))


@linear_grad_x.kernel("matmul/linear_grad_x_naive")
def _(d: Dims) -> Launch:
    return launch_each(d, d.k, d.w.dtype.name, (d.k, 0, 0, 0), False)


@linear_grad_x.vjp
def _(h: Any, out: Any, g: Any, w: Any):
    return (lambda: linear(h, w), lambda: linear_dW(g, h))


@op("f[*b n], f[*b k] -> f[n k]", order=("d_out", "x"), tol=2e-5)
def linear_dW(d_out, x):
    """d_out^T @ x summed over every leading dim: the gradient of a linear's weight, f32 [n, k].

    Source: et_vk.linear_dW.
    """
    return d_out.reshape(-1, d_out.shape[-1]).T @ x.reshape(-1, x.shape[-1])


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
    return g.reshape(-1, g.shape[-1]).sum(0)


@column_sum.kernel("reduce/column_sum")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.n, 64), (size(d.b), d.n, 0, 0))


@column_sum.vjp
def _(h: Any, out: Any, g: Any):
    from .reduce import expand

    return (lambda: expand(h, shape=g.shape),)


column_sum.cases("3x5", "1x1", "2x3x257", "0x4")
column_sum.refuses("", "column_sum: g must be f[*b n], got []")
linear.cases("3x64 5x64 -", "1x64 7x64 7", "2x3x8 4x8 4", "3x7 5x7 5", "1x1 1x1 -", "0x32 4x32 -")
linear.cases("9x96 33x96 33", "2x64 40x64 -", "17x64 64x64 -", "64x576 48x576 -", "70x32 130x32 -")
linear_grad_x.cases("3x5 5x64", "1x8 8x64", "2x3x4 4x8", "3x7 7x5", "1x1 1x1", "0x4 4x32")
linear_grad_x.cases("9x36 36x96", "2x12 12x64", "70x32 32x96", "16x48 48x132")
linear_dW.cases("13x18 13x10", "3x8 3x64", "1x1 1x1", "2x3x4 2x3x8", "0x4 0x8")
linear.refuses("2x8 4x7 -", "linear: w has k=7 but x has k=8")
linear.refuses("2x8 4x8 5", "linear: bias has n=5 but w has n=4")
linear_grad_x.refuses("2x8 4x7", "linear_grad_x: w has n=4 but g has n=8")
linear_dW.refuses("2x8 3x7", "linear_dW: x has b=[3] but d_out has b=[2]")
