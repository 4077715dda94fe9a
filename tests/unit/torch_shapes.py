"""What torch calls each differentiable op that moves, joins, picks, reduces or normalises."""

from __future__ import annotations

import torch

F = torch.nn.functional
aten = torch.ops.aten


def inside(indices, n):
    """Indices from 0, and which of them lie in 0 .. n - 1: ours reads zero elsewhere."""
    indices = torch.where(indices < 0, indices + n, indices)
    known = (indices >= 0) & (indices < n)
    return torch.where(known, indices, 0), known


def gather(x, indices, dim):
    n = x.shape[dim] if x.ndim else 1
    if not n:
        return x.sum() + torch.zeros(indices.shape, dtype=x.dtype)
    at, known = inside(indices, n)
    return torch.where(known, x.gather(dim, at), 0)


def gather_grad(g, indices, dim, shape):
    n = shape[dim] if shape else 1
    if not n:
        return torch.zeros(shape, dtype=g.dtype) + g.sum() * 0
    at, known = inside(indices, n)
    return torch.zeros(shape, dtype=g.dtype).scatter_add(dim, at, torch.where(known, g, 0))


def index(x, indices, dim=0):
    shape, dim = x.shape, dim % x.ndim
    into = (*shape[:dim], *indices.shape, *shape[dim + 1 :])
    if not shape[dim]:
        return x.sum() + torch.zeros(into, dtype=x.dtype)
    at, known = inside(indices.flatten(), shape[dim])
    rows = x.index_select(dim, at)
    return torch.where(known[(..., *[None] * (x.ndim - 1 - dim))], rows, 0).reshape(into)


def index_grad(g, indices, dim, shape):
    at, known = inside(indices.flatten(), shape[dim])
    dim = dim % len(shape)
    rows = g.reshape(*shape[:dim], at.numel(), *shape[dim + 1 :])
    rows = torch.where(known[(..., *[None] * (len(shape) - 1 - dim))], rows, 0)
    return torch.zeros(shape, dtype=g.dtype).index_add(dim, at, rows)


def index_select(x, indices, dim):
    found = index(x.reshape(x.shape or (1,)), indices.reshape(-1), dim)
    return found if x.ndim else found.reshape(())


def group_norm(x, weight, bias, N, C, HxW, group, eps):
    if weight is None and bias is not None:  # torch: "tensor does not have a device"
        weight = torch.ones(C, dtype=x.dtype)
    return torch.group_norm(x, group, weight, bias, eps)  # F refuses groups of one


def batch_norm(x, weight, bias, mean, variance, eps):
    if not len(variance):  # torch: "index 0 out of range"
        return x * 1
    mean = torch.zeros_like(variance) if mean is None else mean.detach()
    return F.batch_norm(x, mean, variance.detach(), weight, bias, False, 0.1, eps)


def addmm(input, a, b, beta, alpha):
    return torch.addmm(input, a, b, beta=beta, alpha=alpha)


def pixel_shuffle(x, upscale_factor):
    """torch's, but of no elements, where its backward gives another shape."""
    *b, c, h, w = x.shape
    r = upscale_factor
    if x.numel():
        return F.pixel_shuffle(x, r)
    return x.reshape(*b, c // r**2, h * r, w * r)


def pixel_unshuffle(x, downscale_factor):
    """torch's, but of no elements, which it leaves in their shape."""
    *b, c, h, w = x.shape
    r = downscale_factor
    return F.pixel_unshuffle(x, r) if x.numel() else x.reshape(*b, c * r**2, h // r, w // r)


def slice_backward(g, shape, dim, start, end, step):
    start, end, step = slice(start, end, step).indices(shape[dim])
    return aten.slice_backward(g, shape, dim, start, max(start, end), step)


def over(reduce):
    """torch's name for all dims is () or leaving it out."""
    return lambda x, dim, keepdim: reduce(x, () if dim is None else dim, keepdim)


SHAPED = {
    "clone": torch.clone,
    "permute": lambda x, dims: x.permute(dims),
    "flip": lambda x, dims: x.flip(dims),
    "repeat": lambda x, repeats: x.repeat(repeats),
    "unfold": lambda x, dim, size, step: x.unfold(dim, size, step),
    "slice": aten.slice,
    "slice_backward": slice_backward,
    "select": torch.select,
    "constant_pad_nd": lambda x, pad, value: aten.constant_pad_nd(x, pad, value),
    "cat": lambda *xs, dim: torch.cat([x for x in xs if x is not None], dim),
    "gather": gather,
    "gather_grad": gather_grad,
    "index": index,
    "index_grad": index_grad,
    "index_select": index_select,
    "sum": over(torch.sum),
    "mean": over(torch.mean),
    "amax": over(torch.amax),
    "amin": over(torch.amin),
    "native_layer_norm": lambda x, weight, bias, normalized_shape, eps: F.layer_norm(
        x, normalized_shape, weight, bias, 2.0**-23 if eps is None else eps
    ),
    "native_group_norm": group_norm,
    "batch_norm": batch_norm,
    "mm": torch.mm,
    "bmm": torch.bmm,
    "addmm": addmm,
    "view": lambda x, shape: x.reshape(shape),
    "squeeze": lambda x, dim: x.squeeze() if dim is None else x.squeeze(dim),
    "unsqueeze": lambda x, dim: x.unsqueeze(dim),
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "sort": lambda x, dim, descending: torch.sort(x, dim, descending)[0],
    "cumsum": torch.cumsum,
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
}
