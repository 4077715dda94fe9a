"""Writing into a tensor that is there: state that outlives a call, rows put in their place."""

from __future__ import annotations

from typing import Any

from ..core.errors import ShapeError
from ..core.launch import Launch, ceil_div, grid1, size
from ..core.schema import Dims
from .op import op
from .strided import per_word


def _fits(d: Dims) -> list[Any]:
    if d.start < 0 or d.start + size(d.x.shape) > size(d.to.shape):
        raise ShapeError(
            f"assign: {list(d.x.shape)} from element {d.start} on does not fit into"
            f" {list(d.to.shape)}"
        )
    return []


@op("y[*b], y[*r] ->", mutates=("to",), shape=_fits, order=("to", "x", "start"))
def assign(to, x, *, start: int = 0):
    """Write x's elements over to's, as both lie, from element `start` on, in place.

    Source: aten::copy_, executorch_prim::et_copy_index.
    """
    to.reshape(-1)[start : start + x.size] = x.reshape(-1)


@assign.kernel("move/assign")
def _(d: Dims) -> Launch:
    per, n = per_word(d.to.dtype), size(d.x.shape)
    touched = ceil_div(d.start % per + n, per)
    return Launch(grid1(touched, 64), (d.start, n), {"PER": per})


assign.without_gradient("what is overwritten is state, not a value of the graph")
assign.cases("3x5 3x5", "i:1 i:1", "u8:7 u8:7", "b:3x3 b:3x3", "0x5 0x5")
assign.cases("4x5 5", "i8:4x5 i8:5", "b:13 b:6", "u8:9 u8:1", "i:7 i:7")
assign.cases("4x5 5", "u8:4x5 u8:5", "b:9 b:4", "i8:6 i8:0", "u:6 u:0", start=5)
assign.refuses("3 2", "assign: [2] from element 2 on does not fit into [3]", start=2)
assign.refuses("3 i:2", "assign: x must be f32, got i32")
