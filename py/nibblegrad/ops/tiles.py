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


# Tiles of lib/outer: (RM, RN, TX, TY), the largest first. A large tile reads less; a small one
# leaves work for every core.
TILES = [(8, 8, 16, 16), (8, 8, 16, 8), (8, 4, 16, 8), (4, 4, 8, 8)]


def outer(
    d: Dims, rows: int, cols: int, parts: int = 1
) -> tuple[tuple[int, int, int], dict[str, int | str]]:
    """Grid and constants of lib/outer for rows x cols outputs, `parts` times."""
    count, rm, rn, tx, ty = 0, *TILES[0]
    for rm, rn, tx, ty in TILES:
        count = parts * ceil_div(rows, rm * ty) * ceil_div(cols, rn * tx)
        if count >= d.caps.fill:
            break
    return grid1(count, 1), {"RM": rm, "RN": rn, "TX": tx, "TY": ty}


def shared(d: Dims, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch:
    """Tiles in workgroup memory: many rows on a GPU."""
    grid, const = outer(d, size(d.b), d.n)
    params = (*w, size(d.b), d.n, d.k, int(bias))
    return Launch(grid, params, const=const, link=(f"format/{link}",), weights=BOUND.get(link, ()))


# Tiles of lib/matrix, the largest first: (SR, SC) matrices a subgroup, (GR, GC) subgroups.
MATRIX = [(4, 4, 2, 2), (2, 4, 2, 2), (2, 2, 2, 2), (1, 2, 2, 2)]


def matrices(
    d: Dims, rows: int, cols: int, across: tuple[int, int], parts: int = 1
) -> tuple[tuple[int, int, int], dict[str, int | str]]:
    """Grid and constants of lib/matrix for rows x cols outputs, `parts` times; `across` says which
    slices lie with the inner size slowest."""
    count, tile = 0, MATRIX[0]
    for tile in MATRIX:
        sr, sc, gr, gc = tile
        count = parts * ceil_div(rows, 16 * sr * gr) * ceil_div(cols, 16 * sc * gc)
        if count >= 2 * d.caps.fill:  # two a core: one computes while the other waits
            break
    names = ("SR", "SC", "GR", "GC", "A_ACROSS", "B_ACROSS")
    return grid1(count, 1), dict(zip(names, (*tile, *across), strict=True))


def matrix(d: Dims, link: str, w: tuple[int, int, int, int], bias: bool) -> Launch | None:
    """By subgroup matrices of f16: many rows on a GPU that has them, where the user lets it."""
    m = size(d.b)
    if not d.caps.halves or m < 16 or d.n < 16 or d.k % 32:
        return None
    grid, const = matrices(d, m, d.n, (0, 0))
    params = (*w, m, d.n, d.k, int(bias))
    return Launch(grid, params, const=const, link=(f"format/{link}",), weights=BOUND.get(link, ()))


def grad_matrix(d: Dims, link: str, w: tuple[int, int, int, int], parts: int = 1) -> Launch | None:
    """The same for the gradient to x, in `parts` runs of weight rows."""
    m = size(d.b)
    if not d.caps.halves or m < 16 or d.k % 32 or d.k == 0 or d.n % (32 * parts):
        return None
    grid, const = matrices(d, m, d.k, (0, 1), parts)
    return Launch(grid, (*w, m, d.n, d.k, d.n // parts), const=const, link=(f"format/{link}",),
                  weights=BOUND.get(link, ()))  # fmt: skip


def grad_shared(d: Dims, link: str, w: tuple[int, int, int, int], parts: int = 1) -> Launch | None:
    """The same for the gradient to x, in `parts` runs of weight rows; None where it cannot be."""
    m = size(d.b)
    if d.caps.software or m < 16 or d.k % 4 or d.k < 32 or d.n % (16 * parts):
        return None
    grid, const = outer(d, m, d.k, parts)
    return Launch(grid, (*w, m, d.n, d.k, d.n // parts), const=const, link=(f"format/{link}",),
                  weights=BOUND.get(link, ()))  # fmt: skip


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
