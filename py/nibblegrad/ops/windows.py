"""The windows of pooling over two dims: where they lie, and what their kernels are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.dtype import Shape
from ..core.errors import ShapeError
from ..core.launch import Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .conv_walk import Pair, numbers


@dataclass(frozen=True)
class Windows:
    """`out` windows down and across planes of `size`."""

    size: Pair
    out: Pair
    kernel: Pair = (1, 1)
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)

    def taps(self) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
        """For each place of the window: its rows and columns in x, and its slice of `whole`."""
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                starts = (i * self.dilation[0], j * self.dilation[1])
                ends = list(zip(starts, self.out, self.stride, self.padding, strict=True))
                rows, columns = (np.arange(n) * s + t - p for t, n, s, p in ends)
                cut = (slice(t, t + (n - 1) * s + 1, s) for t, n, s, _ in ends)
                yield rows[:, None], columns, (..., *cut)

    def whole(self, lead: Shape, fill: float, dtype: Any) -> tuple[Any, Any]:
        """Planes with room for every window, and x's part of them."""
        ends = zip(self.size, self.out, self.kernel, self.stride, self.padding, self.dilation,
                   strict=True)  # fmt: skip
        room = (max(p + n, (o - 1) * s + d * (k - 1) + 1) for n, o, k, s, p, d in ends)
        made = np.full((*lead, *room), fill, dtype)
        (h, w), (top, left) = self.size, self.padding
        return made, made[..., top : top + h, left : left + w]

    def sides(self, padded: bool) -> tuple[Any, Any]:
        """How many rows and columns each window has, the padding's too or not."""
        found = []
        for n, o, k, s, p in zip(self.size, self.out, self.kernel, self.stride, self.padding,
                                 strict=True):  # fmt: skip
            low = np.arange(o) * s - p
            high = np.minimum(low + k, n + p)
            inside = np.minimum(high, n) - np.maximum(low, 0)
            found.append(high - low if padded else inside)
        return found[0][:, None], found[1]


def windows(who: str, x: Shape, a: dict[str, Any]) -> Windows:
    """From pooling's attributes, or ShapeError; a stride left out is the kernel."""
    planes(who, x)
    kernel = numbers(who, "kernel_size", a["kernel_size"], 2, 1)
    stride = numbers(who, "stride", a["stride"] or kernel, 2, 1)
    padding = numbers(who, "padding", a["padding"], 2, 0)
    dilation = numbers(who, "dilation", a.get("dilation", 1), 2, 1)
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        want = f"{who}: padding must be at most half of kernel_size {list(kernel)}"
        raise ShapeError(f"{want}, got {list(padding)}")
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    ends = zip(x[-2:], reach, stride, padding, strict=True)
    out = tuple(_count(*end, a["ceil_mode"]) for end in ends)
    if min(out) < 1:
        raise ShapeError(f"{who}: no window of {reach} fits {list(x[-2:])} with padding "
                         f"{list(padding)}")  # fmt: skip
    return Windows(x[-2:], out, kernel, stride, padding, dilation)


def _count(n: int, reach: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """How many windows there are; a rounded-up one must begin before the padding at the end."""
    out = (n + 2 * padding - reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    return out - 1 if ceil_mode and (out - 1) * stride >= n + padding else out


def planes(who: str, x: Shape) -> None:
    """ShapeError unless x is [c, h, w] or [n, c, h, w] with something to see."""
    if len(x) not in (3, 4) or min(x[-3:]) < 1 or x[0] < 0:
        raise ShapeError(f"{who}: x must be [(n,) c, h, w], only n may be 0, got {list(x)}")


def given_size(who: str, g: Shape, shape: Sequence[int], out: Pair) -> Shape:
    """`shape`, if g is what pooling makes of it; else ShapeError."""
    wanted = (*shape[:-2], *out)
    if g != wanted:
        raise ShapeError(f"{who}: g must be {list(wanted)}, got {list(g)}")
    return tuple(shape)


def launch(d: Dims, w: Windows, unit: str, divisor: int = 0, padded: bool = False) -> Launch:
    """One invocation an element of the first output; `unit` says what a window is."""
    pairs = (w.size, w.out, w.kernel, w.stride, w.padding, w.dilation)
    n = size(d.out[0].shape)
    words = (n, divisor, int(padded), 0, *(v for pair in pairs for v in pair))
    return Launch(grid1(n, 64), words, link=(unit,) if unit else ())
