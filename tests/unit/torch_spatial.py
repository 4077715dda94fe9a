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


def avg_pool2d(x, kernel_size, stride, padding, **how):
    kernel, stride = many(kernel_size, 2), many(stride or kernel_size, 2)
    return aten.avg_pool2d(x, kernel, stride, many(padding, 2), **how)


def max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, **how):
    kernel, stride = many(kernel_size, 2), many(stride or kernel_size, 2)
    return aten.max_pool2d_with_indices(
        x, kernel, stride, many(padding, 2), many(dilation, 2), **how
    )


def adaptive_avg_pool2d(x, output_size):
    return aten._adaptive_avg_pool2d(x, many(output_size, 2))


def avg_pool2d_grad(g, shape, kernel_size, stride, padding, **how):
    kernel, stride = many(kernel_size, 2), many(stride or kernel_size, 2)
    like = torch.zeros(shape, dtype=g.dtype)
    return aten.avg_pool2d_backward(g, like, kernel, stride, many(padding, 2), **how)


def upsample_nearest2d(x, output_size, scale_factors):
    """Which elements f32 picks, whatever x's width: rounding decides at an exact multiple. With the
    channels last, where torch keeps to its formula; of large planes it does not (size 5 by 1.1)."""
    h, w = x.shape[2:]
    places = torch.arange(h * w, dtype=torch.float32).reshape(1, 1, h, w)
    places = places.expand(1, 8, h, w).contiguous(memory_format=torch.channels_last)
    at = aten.upsample_nearest2d.vec(places, output_size, scale_factors)[0, 0].long()
    return x.flatten(2)[:, :, at]


def upsample_bilinear2d(x, output_size, align_corners, scale_factors):
    return aten.upsample_bilinear2d.vec(x, output_size, align_corners, scale_factors)


def grid_priors(x, stride, offset):
    y, x = torch.meshgrid(*map(torch.arange, x.shape[-2:]), indexing="ij")
    return (torch.stack((x.flatten(), y.flatten()), 1) + offset) * stride


def upsampled_back(forward):
    """The adjoint of a linear function, from torch's autograd of it."""

    def backward(g, shape, **how):
        x = torch.zeros(shape, dtype=g.dtype, requires_grad=True)
        return torch.autograd.grad(forward(x, **how), x, g, create_graph=True)[0]

    return backward


SPATIAL = {
    "convolution": convolution,
    "conv_with_clamp": conv_with_clamp,
    "convolution_grad_weight": convolution_grad_weight,
    "avg_pool2d": avg_pool2d,
    "avg_pool2d_grad": avg_pool2d_grad,
    "_adaptive_avg_pool2d": adaptive_avg_pool2d,
    "adaptive_avg_pool2d_grad": lambda g, shape: aten._adaptive_avg_pool2d_backward(
        g, torch.zeros(shape, dtype=g.dtype)
    ),
    "max_pool2d_with_indices": lambda x, **how: max_pool2d_with_indices(x, **how)[0],
    "upsample_nearest2d": upsample_nearest2d,
    "upsample_nearest2d_grad": upsampled_back(upsample_nearest2d),
    "upsample_bilinear2d": upsample_bilinear2d,
    "upsample_bilinear2d_grad": upsampled_back(upsample_bilinear2d),
    "grid_priors": grid_priors,
    "grid_sampler_2d": aten.grid_sampler_2d,
}
