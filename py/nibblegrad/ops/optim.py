"""What an optimiser does to flat buffers of parameters, in place."""

from __future__ import annotations

from ..core.launch import Launch, dyn, grid1, size
from ..core.lazy import np
from ..core.schema import Dims
from .op import op

ADAM = ("param", "m", "v", "grad", "lr", "beta1", "beta2", "eps", "weight_decay",
        "bias_correction1", "bias_correction2")  # fmt: skip


@op("f[*b], f[*b], f[*b], f[*b] ->", mutates=("param", "m", "v"), order=ADAM)
def adamw_step(
    param, m, v, grad, *, lr: float, beta1: float, beta2: float, eps: float,
    weight_decay: float, bias_correction1: float, bias_correction2: float,
):  # fmt: skip
    """One AdamW step with decoupled weight decay, param, m and v in place.

    All f32 of one shape; bias_correction_i = 1 - beta_i ** t, t from 1. Source: arXiv 1711.05101,
    et_vk.adamw_step, torch.optim.AdamW.
    """
    f = param.dtype.type
    param -= f(lr * weight_decay) * param
    m[...] = f(beta1) * m + f(1 - beta1) * grad
    v[...] = f(beta2) * v + f(1 - beta2) * grad * grad
    step = f(lr) * (m / f(bias_correction1))
    param -= step / (np.sqrt(v / f(bias_correction2)) + f(eps))


@adamw_step.kernel("optim/adamw")
def _(d: Dims) -> Launch:
    n = size(d.b)
    numbers = (d.lr, d.bias_correction1, d.bias_correction2)
    moving = tuple(word for number in numbers for word in dyn(number))
    fixed = (d.beta1, 1 - d.beta1, d.beta2, 1 - d.beta2, d.eps, d.weight_decay)
    return Launch(grid1(n, 64), (n, *moving, *map(float, fixed)))


@op("f[*b], f[#b] ->", mutates=("acc",))
def accumulate(acc, x):
    """acc += x, in place: gradients of micro-batches add up."""
    acc += x


@accumulate.kernel("optim/accumulate")
def _(d: Dims) -> Launch:
    return Launch(grid1(size(d.b), 64), (size(d.b), 0, 0, 0))


@op("f[*b] ->", mutates=("x",), order=("x", "value"))
def fill(x, *, value: float):
    """Every element of x becomes value, in place. Source: aten::fill_."""
    x[...] = value


@fill.kernel("optim/fill")
def _(d: Dims) -> Launch:
    return Launch(grid1(size(d.x.shape), 64), (size(d.x.shape), *dyn(d.value), 0))


@op("f[*b], f[] ->", mutates=("grads",), order=("grads", "total", "max_norm"))
def clip_grad_norm(grads, total, *, max_norm: float):
    """Scale grads in place so that their norm is at most max_norm; total is their squared norm.

    Source: torch.nn.utils.clip_grad_norm_ (the same 1e-6).
    """
    f = grads.dtype.type
    grads *= np.minimum(f(1), f(max_norm) / (np.sqrt(total) + f(1e-6)))


@clip_grad_norm.kernel("optim/clip_grad_norm")
def _(d: Dims) -> Launch:
    return Launch(grid1(size(d.b), 64), (size(d.b), float(d.max_norm), 0, 0))


for made in (adamw_step, accumulate, fill, clip_grad_norm):
    made.without_gradient("it updates in place, outside the tape")
accumulate.require("acc.shape == x.shape", "acc and x must have one shape")
_HYPER = {"lr": 1e-2, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01,
          "bias_correction1": 0.1, "bias_correction2": 0.001}  # fmt: skip
adamw_step.cases("3x5 3x5 3x5 3x5", "1 1 1 1", "257 257 257 257", "0 0 0 0", **_HYPER)
accumulate.cases("3x5 3x5", "1 1", "257 257", "0 0")
fill.cases("3x5", "1", "257", "0", value=1.5)
clip_grad_norm.cases("3x5 []", "1 []", "257 []", "0 []", max_norm=0.5)
adamw_step.refuses("4 4 4 5", "adamw_step: grad has b=[5] but param has b=[4]", **_HYPER)
accumulate.refuses("4 1", "accumulate: acc and x must have one shape, got acc=[4], x=[1]")
fill.refuses("i:3", "fill: x must be f32, got i32", value=1.0)
clip_grad_norm.refuses("4 1", "clip_grad_norm: total must be f[], got [1]", max_norm=1.0)
