"""How the matrix kernels are launched: the same few shapes for every stored and packed format.

`link` is the weight's format file, `w` what it reads as params.w.
"""

from __future__ import annotations

from ..core.launch import Launch, ceil_div, grid1, size
from ..core.schema import Dims

BOUND = {"q4gsw": ("weights", "weight_scales"), "qcs4w": ("weight", "scales")}


def tile_rows(m: int) -> int:
    """Rows a register tile holds: as many as there are, up to eight."""
    return 1 if m == 1 else 2 if m == 2 else 4 if m <= 4 else 8


def tile(d: Dims, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
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


def tile8(
    d: Dims, width: int, link: str, w: tuple[int, int, int, int], bias: bool
) -> Launch | None:
    """8 x 8 outputs an invocation, for five rows and more; `width` is the outputs' row length."""
    m = size(d.b)
    if d.k % 8 or m < 5:
        return None
    params = (*w, m, d.n, d.k, int(bias))
    grid = grid1(ceil_div(m, 8) * ceil_div(width, 8), 64)
    return Launch(grid, params, link=(f"format/{link}",), weights=BOUND.get(link, ()))


def each(d: Dims, n: int, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
    """One invocation an output."""
    m = size(d.b)
    params = (*w, m, d.n, d.k, int(bias))
    link_ = (f"format/{link}",)
    return Launch(grid1(m * n, 64), params, link=link_, weights=BOUND.get(link, ()))


def row(d: Dims, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
    """A workgroup an output column, lanes along k: few rows on a GPU."""
    params = (*w, size(d.b), d.n, d.k, int(bias))
    return Launch(grid1(size(d.b) * ceil_div(d.n, 4), 1), params, {"ROWS": 1, "LANES": 32},
                  link=(f"format/{link}",), weights=BOUND.get(link, ()))  # fmt: skip


def shared(d: Dims, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
    """A 64 x 64 tile in workgroup memory, 4 x 4 outputs an invocation: many rows on a GPU."""
    m = size(d.b)
    params = (*w, m, d.n, d.k, int(bias))
    grid = grid1(ceil_div(m, 64) * ceil_div(d.n, 64), 1)
    return Launch(grid, params, link=(f"format/{link}",), weights=BOUND.get(link, ()))


def grad_tile(d: Dims, link: str, w: tuple[int, int, int, int]) -> Launch:
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
