"""Convolutions and their weight's gradient in numpy: a product for each place of the kernel."""

from __future__ import annotations

from typing import Any

from ..core.lazy import np
from .conv_walk import Walk, walk_of

HOW: tuple[str, ...] = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")


def correlate(input: Any, weight: Any, bias: Any, how: tuple[Any, ...]) -> Any:
    """A convolution; `how` is what HOW names."""
    a = dict(zip(HOW, how, strict=True))
    walk = walk_of(
        "convolution", input.shape, weight.shape, bias if bias is None else bias.shape, a
    )
    run = _scattered if a["transposed"] else _gathered
    y = run(input, _grouped(weight, walk), walk).reshape(walk.batch, walk.outputs, *walk.out)
    y = y if bias is None else y + bias[:, None, None]
    return y.reshape(*y.shape[:2], *y.shape[2 + 4 - input.ndim :])


def _grouped(weight: Any, walk: Walk) -> Any:
    """The weight as [groups, rows of x or y in it, the rest, kh, kw]."""
    first, second = weight.shape[0] // walk.groups, weight.shape[1]
    return weight.reshape(walk.groups, first, second, *walk.kernel)


def _padded(x: Any, walk: Walk, size: tuple[int, ...]) -> Any:
    x = x.reshape(*x.shape[:2], *size)
    return np.pad(x, ((0, 0), (0, 0), *((p, p) for p in walk.padding)))


def _gathered(x: Any, weight: Any, walk: Walk) -> Any:
    """The product of each tap with what it meets, added up."""
    whole, n = _padded(x, walk, walk.size), walk.out[0] * walk.out[1]
    out = np.zeros((walk.batch, walk.groups, walk.rows, n), x.dtype)
    for i, j, cut in walk.taps(walk.out):
        out += weight[..., i, j] @ whole[cut].reshape(walk.batch, walk.groups, walk.inputs, n)
    return out


def _scattered(x: Any, weight: Any, walk: Walk) -> Any:
    """Each tap's product put where it belongs; then the padding cut off."""
    x = x.reshape(walk.batch, walk.groups, walk.inputs, walk.size[0] * walk.size[1])
    (h, w), (ph, pw) = walk.out, walk.padding
    whole = np.zeros((walk.batch, walk.groups, walk.rows, h + 2 * ph, w + 2 * pw), x.dtype)
    for i, j, cut in walk.taps(walk.size):
        part = weight[..., i, j].swapaxes(1, 2) @ x
        whole[cut] += part.reshape(*part.shape[:3], *walk.size)
    return whole[..., ph : ph + h, pw : pw + w]


def weight_sums(g: Any, x: Any, walk: Walk) -> Any:
    """The gradient to the weight of a convolution of x, g its output's."""
    whole, n = _padded(x, walk, walk.size), walk.out[0] * walk.out[1]
    g = g.reshape(walk.batch, walk.groups, walk.rows, n)
    out = np.zeros((walk.groups, walk.rows, walk.inputs, *walk.kernel), x.dtype)
    for i, j, cut in walk.taps(walk.out):
        met = whole[cut].reshape(walk.batch, walk.groups, walk.inputs, n)
        out[..., i, j] = (g @ met.swapaxes(2, 3)).sum(0)
    return out.reshape(walk.outputs, walk.inputs, *walk.kernel[4 - x.ndim :])
