"""What torch calls the spatial ops: convolutions, pooling, resizing, sampling."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def many(value, rank):
    """A list of a number a dim."""
    value = [value] if isinstance(value, int) else list(value)
    return value * rank if len(value) == 1 else value


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    lists = (many(v, input.ndim - 2) for v in (stride, padding, dilation, output_padding))
    stride, padding, dilation, output_padding = lists
    if not transposed:  # which torch's forward ignores and its backward refuses
        output_padding = [0] * len(output_padding)
    return aten.convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def conv_with_clamp(input, weight, bias, output_min, output_max, **how):
    low = -torch.inf if output_min is None else output_min
    high = torch.inf if output_max is None or output_max > 1e300 else output_max
    return convolution(input, weight, bias, **how).clamp(low, high)


def convolution_grad_weight(g, x, kernel, groups, **how):
    rank = x.ndim - 2
    shape = (g.shape[1], x.shape[1] // groups, *many(kernel, rank))
    lists = [many(how[n], rank) for n in ("stride", "padding", "dilation")]
    like = torch.zeros(shape, dtype=x.dtype)
    if not g.numel():  # torch's has no second derivative then
        return like + g.sum() + x.sum()
    # of the convolution itself: convolution_backward refuses a g that leaves out the last steps,
    # which a transposed one may have
    weight = like.requires_grad_()
    whole = aten.convolution(x, weight, None, *lists, False, [0] * rank, groups)
    y = whole[tuple(slice(n) for n in g.shape)]
    return torch.autograd.grad(y, weight, g, create_graph=True)[0]


SPATIAL = {
    "convolution": convolution,
    "conv_with_clamp": conv_with_clamp,
    "convolution_grad_weight": convolution_grad_weight,
}
