"""The geometry of convolutions and their kernels' launches: one product, read three ways.

Each group multiplies m x k by k x n; which elements those are a linked unit says (conv/forward,
conv/transposed, conv/weight). One spatial dim is two, the first of size 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, ceil_div, grid1
from ..core.schema import Dims
from .op import Op

Pair = tuple[int, ...]
Numbers = int | Sequence[int]
FLT_MAX = 3.4028234663852886e38


@dataclass(frozen=True)
class Walk:
    """x [batch, channels, *size] to y [batch, outputs, *out], whichever way the taps run."""

    batch: int
    channels: int
    outputs: int
    groups: int
    size: Pair
    out: Pair
    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair

    @property
    def inputs(self) -> int:
        """Channels of x that an output sees."""
        return self.channels // self.groups

    @property
    def rows(self) -> int:
        """Outputs in a group."""
        return self.outputs // self.groups

    def taps(self, small: Pair) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
        """Each place of the kernel, and the slice of the padded large side that `small` meets."""
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                ends = zip((i, j), small, self.stride, self.dilation, strict=True)
                cut = (slice(t * d, t * d + (n - 1) * s + 1, s) for t, n, s, d in ends)
                yield i, j, (..., *cut)


def numbers(who: str, name: str, given: Numbers, rank: int, least: int) -> Pair:
    """One number a dim: an int or a list of one stands for all; ShapeError for too small ones."""
    found = (given,) if isinstance(given, int) else tuple(given)
    found = found * rank if len(found) == 1 else found
    if len(found) != rank or min(found) < least:
        one = "a number" if rank == 1 else f"{rank} numbers"
        raise ShapeError(f"{who}: {name} must be {one} from {least}, got {list(found)}")
    return found


def lifted(pair: Sequence[int], fill: int) -> Pair:
    """Under one spatial dim, the second: the first is of size 1."""
    return (fill,) * (2 - len(pair)) + tuple(pair)


def walk_of(who: str, x: Shape, weight: Shape, bias: Shape | None, a: dict[str, Any]) -> Walk:
    """The walk of a convolution's arguments, or ShapeError."""
    rank = len(x) - 2
    if rank not in (1, 2):
        raise ShapeError(f"{who}: input must be [n, c, l] or [n, c, h, w], got {list(x)}")
    if len(weight) != len(x):
        raise ShapeError(f"{who}: weight must have {len(x)} dims as input has, got {list(weight)}")
    outputs = _channels(who, x, weight, bias, a["transposed"], a["groups"])
    stride = numbers(who, "stride", a["stride"], rank, 1)
    padding = numbers(who, "padding", a["padding"], rank, 0)
    dilation = numbers(who, "dilation", a["dilation"], rank, 1)
    extra = numbers(who, "output_padding", a["output_padding"], rank, 0)
    if not all((*x[2:], *weight[2:])):
        raise ShapeError(f"{who}: only n may be 0, got {list(x)} and {list(weight)}")
    sizes = zip(x[2:], weight[2:], stride, padding, dilation, extra, strict=True)
    if a["transposed"]:
        if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
            raise ShapeError(
                f"{who}: output_padding must be smaller than stride or dilation, got {list(extra)}"
            )
        out = tuple((n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in sizes)
    else:
        out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, _ in sizes)
    if min(out) < 1:
        raise ShapeError(f"{who}: the output would be {list(out)}; give a larger input or padding")
    return Walk(
        x[0], x[1], outputs, a["groups"], lifted(x[2:], 1), lifted(out, 1),
        lifted(weight[2:], 1), lifted(stride, 1), lifted(padding, 0), lifted(dilation, 1),
    )  # fmt: skip


def _channels(who: str, x: Shape, weight: Shape, bias: Shape | None, transposed: bool,
              groups: int) -> int:  # fmt: skip
    """The output's channels, once those of input, weight and bias agree."""
    first, second = weight[:2]
    if groups < 1 or first < 1 or first % groups:
        raise ShapeError(f"{who}: groups must divide weight's {first} rows, got {groups}")
    seen, outputs = (first, second * groups) if transposed else (second * groups, first)
    if x[1] != seen:
        raise ShapeError(
            f"{who}: weight {list(weight)} in {groups} groups takes {seen} channels, "
            f"but input has {x[1]}"
        )
    if bias is not None and bias != (outputs,):
        raise ShapeError(f"{who}: bias must be [{outputs}], got {list(bias)}")
    return outputs


def params(walk: Walk, weight: bool, biased: bool = False, low: Any = None, high: Any = None,
           ) -> tuple[int | float, ...]:  # fmt: skip
    """What lib/conv reads; `weight`: for the weight's gradient, where k runs over positions."""
    digits, columns = (walk.inputs, *walk.kernel), (walk.batch, *walk.out)
    if weight:
        digits, columns = columns, digits
    n, k = (a * b * c for a, b, c in (columns, digits))
    pairs = (walk.size, walk.out, walk.kernel, walk.stride, walk.padding, walk.dilation)
    return (walk.groups, walk.rows, n, k, *digits, walk.channels,
            *(v for pair in pairs for v in pair), walk.outputs, int(biased),
            bound(low, -inf), bound(high, inf))  # fmt: skip


def bound(given: float | None, none: float) -> float:
    """A clamp's bound as f32: what lies outside f32 is infinite (relu's comes as 1.797e308)."""
    value = none if given is None else float(given)
    return value if abs(value) <= FLT_MAX or value != value else (inf if value > 0 else -inf)


def routes(made: Op, given: Any) -> None:
    """From the fastest; given(d) is the params and the units to link."""

    def launch(d: Dims, per: int, rows: int, columns: int) -> Launch:
        words, link = given(d)
        groups, m, n = words[:3]
        items = groups * ceil_div(m, rows) * ceil_div(n, columns)
        lanes: dict[str, int | float] = {"ROWS": 1, "LANES": 64} if per == 1 and rows == 1 else {}
        return Launch(grid1(items, per), words, lanes, link=link)

    def sizes(d: Dims) -> tuple[int, int, int]:
        groups, m, n, k = given(d)[0][:4]
        return groups * m * n, min(m, n), k

    @made.kernel("conv/row")
    def _(d: Dims) -> Launch | None:
        total, _, k = sizes(d)
        return launch(d, 1, 1, 1) if total < 4096 and k >= 256 and not d.caps.software else None

    @made.kernel("conv/shared")
    def _(d: Dims) -> Launch | None:
        small = d.caps.software or d.caps.max_invocations < 256 or sizes(d)[1] < 32
        return None if small else launch(d, 1, 64, 64)

    made.kernel("conv/tile")(lambda d: launch(d, 64, 4, 4) if sizes(d)[1] >= 2 else None)
    made.kernel("conv/naive")(lambda d: launch(d, 64, 1, 1))
