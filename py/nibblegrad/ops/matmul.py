"""Products of two f32 matrices, one pair or a batch of pairs, with what addmm adds."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, ceil_div, grid1
from ..core.schema import Dims, broadcast
from . import tiles
from .elementwise import broadcast_strides
from .linear import HALVES, linear, linear_dW
from .map import scale
from .movement import permute
from .op import Op, op
from .reduce import sum_to


@op("f[m k], f[k n] -> f[m n]", tol=2e-5)
def mm(a, b):
    """a @ b, both rank 2. Source: aten::mm."""
    return a @ b


@op("f[batch m k], f[batch k n] -> f[batch m n]", tol=2e-5)
def bmm(a, b):
    """a @ b for each pair of a batch. Source: aten::bmm."""
    return a @ b


def _added(d: Dims) -> Shape:
    if broadcast("addmm", d.s, (d.m, d.n)) != (d.m, d.n):
        raise ShapeError(f"addmm: input {list(d.s)} does not broadcast to {[d.m, d.n]}")
    return (d.m, d.n)


@op("f[*s], f[m k], f[k n] -> f[m n]", order=("input", "a", "b", "beta", "alpha"), tol=2e-5,
    shape=_added)  # fmt: skip
def addmm(input, a, b, *, beta: float = 1.0, alpha: float = 1.0):
    """beta * input + alpha * (a @ b); input broadcasts. A beta of 0 ignores input, NaNs and all.

    Source: aten::addmm.
    """
    product = a.dtype.type(alpha) * (a @ b)
    return product if beta == 0 else product + a.dtype.type(beta) * input


def _params(d: Dims) -> tuple[int | float, ...]:
    sizes = (d.values.get("batch", 1), d.m, d.n, d.k)
    if "beta" not in d.attrs:
        return (*sizes, 1.0, 0.0, 0, 0)
    walk = broadcast_strides(d.s, (d.m, d.n))
    return (*sizes, float(d.alpha), float(d.beta), *walk[-2:])


def _launch(d: Dims, grid: tuple[int, int, int], **const: int | str) -> Launch:
    adds = "beta" in d.attrs
    link = ("matmul/mm_addend",) if adds else ("matmul/mm_plain",)
    return Launch(grid, _params(d), const=const, link=link, weights=("input",) if adds else ())


def _routes(made: Op) -> None:
    @made.kernel("matmul/mm_matrix", tol=HALVES)
    def _(d: Dims) -> Launch | None:
        if not d.caps.halves or d.k % 4 or d.n % 4 or min(d.m, d.n, d.k) < 16:
            return None
        grid, const = tiles.matrices(d, d.m, d.n, (0, 1), d.values.get("batch", 1))
        return _launch(d, grid, **const, PLAIN=int("beta" not in d.attrs))

    @made.kernel("matmul/mm_shared")
    def _(d: Dims) -> Launch | None:
        if d.caps.software or d.caps.max_invocations < 256 or min(d.m, d.n) < 32:
            return None
        grid, const = tiles.outer(d, d.m, d.n, d.values.get("batch", 1))
        return _launch(d, grid, **const)

    @made.kernel("matmul/mm_tile")
    def _(d: Dims) -> Launch | None:
        if d.k % 4 or d.n % 4:
            return None
        count = d.values.get("batch", 1) * ceil_div(d.m, 4) * (d.n // 4)
        return _launch(d, grid1(count, 64))

    @made.kernel("matmul/mm_naive")
    def _(d: Dims) -> Launch:
        return _launch(d, grid1(d.values.get("batch", 1) * d.m * d.n, 64))


for made in (mm, bmm, addmm):
    _routes(made)


@mm.vjp
def _(g: Any, out: Any, a: Any, b: Any):
    return (lambda: linear(g, b), lambda: linear_dW(a, g))


@bmm.vjp
def _(g: Any, out: Any, a: Any, b: Any):
    return (
        lambda: bmm(g, permute(b, dims=(0, 2, 1))),
        lambda: bmm(permute(a, dims=(0, 2, 1)), g),
    )


@addmm.vjp
def _(g: Any, out: Any, input: Any, a: Any, b: Any, *, beta: float, alpha: float):
    def back() -> Any:
        whole = g if input.shape == g.shape else sum_to(g, shape=input.shape)
        return whole if beta == 1 else scale(whole, s=beta)

    def scaled() -> Any:
        return g if alpha == 1 else scale(g, s=alpha)

    return (back, lambda: linear(scaled(), b), lambda: linear_dW(a, scaled()))


mm.saves(a="b", b="a")
bmm.saves(a="b", b="a")
addmm.saves(input="", a="b", b="a")
mm.cases("7x5 5x3", "8x1 1x8", "1x1 1x1", "64x64 64x64", "33x12 12x8", "35x37 37x41")
mm.cases("65x36 36x68")
mm.cases("0x5 5x3", "3x0 0x5", "40x0 0x36", "5x4 4x0")
bmm.cases("2x7x5 2x5x3", "1x33x17 1x17x5", "4x6x16 4x16x24", "3x40x9 3x9x33", "2x65x4 2x4x68")
bmm.cases("2x65x20 2x20x68")
bmm.cases("0x3x4 0x4x5", "2x3x0 2x0x5", "1x1x1 1x1x1")
addmm.cases("32 4x16 16x32", "4x32 4x15 15x32", "[] 3x5 5x7", "4x1 4x3 3x5", "1x1 1x1 1x1")
addmm.cases("33 35x8 8x33", "1x5 3x0 0x5", "5 0x3 3x5", "3x5 3x4 4x5", beta=0.5, alpha=-2.0)
addmm.cases("68 40x32 32x68")
addmm.cases("s:24 7x4 4x24", "s:3x5 3x2 2x5", beta=0.0)
mm.refuses("2x3 4x5", "mm: b has k=4 but a has k=3")
mm.refuses("2x3x4 4x5", "mm: a must be f[m k], got [2, 3, 4]")
bmm.refuses("2x3x4 3x4x5", "bmm: b has batch=3 but a has batch=2")
addmm.refuses("4 2x3 3x5", "addmm: [4] and [2, 5] do not broadcast")
addmm.refuses("1x2x5 2x3 3x5", "addmm: input [1, 2, 5] does not broadcast to [2, 5]")
