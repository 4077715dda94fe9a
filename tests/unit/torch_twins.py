"""What torch computes for every op of the catalogue, or why nothing of torch's can judge it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from test_torch_gradients import TORCH
from torch_elementwise import ROUGH, SMOOTH
from upstream_calls import CALLS

from nibblegrad.core.schema import Info
from nibblegrad.ops.formats import dequantise
from nibblegrad.ops.op import CATALOGUE, Op

F = torch.nn.functional
aten = torch.ops.aten


def learned(f: Any, wrt: int, *inputs: Any, g: Any, **attrs: Any) -> Any:
    """The gradient of f to its input `wrt`, by autograd."""
    given = [x.detach().clone().requires_grad_() for x in inputs]
    out = f(*given, **attrs)
    seed = g.expand_as(out) if g.ndim <= out.ndim else g
    (found,) = torch.autograd.grad(out, given[wrt], seed)
    return found


def partial(op: Op, parent: Op) -> Any:
    """An elementwise gradient op: its parent's gradient, everything broadcast first."""
    wrt = parent.names.index(op.name.rpartition("_")[2]) if len(parent.names) > 1 else 0

    def twin(*given: Any, **attrs: Any) -> Any:
        whole = dict(zip(op.names, torch.broadcast_tensors(*given), strict=True))
        missing = torch.ones_like(whole["g"])  # a slope does not read what it does not name
        inputs = [whole.get(n, missing) for n in parent.names]
        full = {**parent.defaults, **attrs}
        return learned(TORCH[parent.name], wrt, *inputs, g=whole["g"], **full)

    return twin


def partials() -> dict[str, Any]:
    """Every op that `elementwise` derived from another."""
    found = {}
    for op in CATALOGUE.values():
        head, mark, _ = op.name.partition("_grad")
        if mark and head in TORCH and op.doc.startswith(f"g times d {head} /"):
            found[op.name] = partial(op, CATALOGUE[head])
    return found


def argued(find: Any) -> Any:
    return lambda x, dim, keepdim: find(x, dim, keepdim)


def extreme_grad(g, x, y, dim):
    """torch shares amax's gradient among equals."""
    equal = (x == y).to(x.dtype)
    return torch.where(x == y, g / equal.sum(dim, keepdim=True).clamp(min=1), 0)


def adamw_step(param, m, v, grad, lr, beta1, beta2, eps, weight_decay, bias_correction1,
               bias_correction2):  # fmt: skip
    """torch/optim/adamw.py's _single_tensor_adamw with its bias corrections given."""
    param = param * (1 - lr * weight_decay)
    m, v = torch.lerp(m, grad, 1 - beta1), v * beta2 + (1 - beta2) * grad * grad
    return param - lr / bias_correction1 * m / ((v / bias_correction2).sqrt() + eps), m, v


def update_cache(value, cache, pos):
    cache = cache.clone()
    cache[:, pos : pos + value.shape[1]] = value
    return cache


def rotary_pair(q, k, cos, sin, pos, inverse, halves):
    turn = TORCH["rotary_hf" if halves else "rotary"]
    return turn(q, cos, sin, pos, inverse), turn(k, cos, sin, pos, inverse)


def rotary_cache(q, k, v, keys, values, cos, sin, pos, halves):
    q, k = rotary_pair(q, k, cos, sin, pos, False, halves)
    return q, update_cache(k, keys, pos), update_cache(v, values, pos)


def assign(to, x, start):
    """to with x's elements in the place of its own from start on."""
    flat = to.flatten()
    return torch.cat([flat[:start], x.flatten(), flat[start + x.numel() :]]).reshape(to.shape)


def embedding_q4gsw(weight, scales, indices, group_size, is_linear_weight):
    """(code - 8) * scale; the even columns' codes in one nibble or the other."""
    halves = [weight & 15, weight >> 4] if is_linear_weight else [weight >> 4, weight & 15]
    table = (torch.stack(halves, -1).flatten(1) - 8.0).to(scales.dtype)
    return TORCH["embedding"](table * scales.repeat_interleave(group_size, 1), indices)


def repetition_penalty(logits, seen, penalty):
    """transformers' RepetitionPenaltyLogitsProcessor, with its padding left out."""
    seen = seen[(seen >= 0) & (seen < len(logits))]
    score = logits[seen]
    return logits.scatter(0, seen, torch.where(score > 0, score / penalty, score * penalty))


def qcs4w_backward(d_out, weight, scales, k):
    codes = torch.stack([weight >> 4, weight & 15], -1).flatten(1) - 8.0
    return (d_out * scales) @ codes[:, : k or 2 * weight.shape[1]].to(d_out.dtype)


def rms_norm(x, weight, eps):
    return F.rms_norm(x, weight.shape, weight, eps)


def silu_mul(gate, up):
    return F.silu(gate) * up


FORWARD = {  # where TORCH has less than every output, or nothing
    "native_layer_norm": lambda x, weight, bias, normalized_shape, eps: torch.native_layer_norm(
        x, normalized_shape, weight, bias, 2.0**-23 if eps is None else eps
    ),
    "native_group_norm": lambda x, weight, bias, N, C, HxW, group, eps: aten.native_group_norm(
        x, weight, bias, N, C, HxW, group, 2.0**-23 if eps is None else eps
    ),
    "argmax": argued(torch.argmax),
    "argmin": argued(torch.argmin),
    "sum_squares": lambda x: x.square().sum(),
    "extreme_grad": extreme_grad,
    "rms_norm_grad": lambda g, x, weight, y, eps: (
        learned(rms_norm, 0, x, weight, g=g, eps=eps) + (0 if y is None else y)
    ),
    "silu_mul_grad": lambda g, gate, up: tuple(learned(silu_mul, i, gate, up, g=g) for i in (0, 1)),
    "linear_grad_x_add": lambda y, g, w: y + g @ w,
    "linear_thin_grad_x": lambda g, w, alpha: alpha * (g @ w),
    "linear_dW_add": lambda acc, d_out, x, alpha: acc + alpha * TORCH["linear_dW"](d_out, x),
    "rms_norm_grad_weight": lambda g, x, eps: learned(
        rms_norm, 1, x, torch.ones(x.shape[-1], dtype=x.dtype), g=g, eps=eps
    ),
    "adamw_step": adamw_step,
    "accumulate": torch.add,
    "fill": lambda x, value: torch.full_like(x, value),
    "clip_grad_norm": lambda grads, total, max_norm: (
        grads * (max_norm / (total.sqrt() + 1e-6)).clamp(max=1)
    ),
    "update_cache": update_cache,
    "rotary_cache": rotary_cache,
    "rotary_pair": rotary_pair,
    "assign": assign,
    "embedding_q4gsw": embedding_q4gsw,
    "repetition_penalty": repetition_penalty,
    "linear_qcs4w_backward": qcs4w_backward,
}
# test_upstream_host has ExecuTorch's recorded outputs of these
RECORDED = [n for n in CALLS if n in CATALOGUE and n not in (*TORCH, *FORWARD)]
NO_TWIN = {
    "uniform": "torch draws other numbers",
    "dropout": "torch draws another mask",
    "sample": "torch draws another token",
    "max_pool2d_grad": "a part of max pooling's gradient, which is judged whole",
    "grid_sampler_2d_grad_input": "a part of grid sampling's gradient, which is judged whole",
    "grid_sampler_2d_grad_grid": "a part of grid sampling's gradient, which is judged whole",
    "linear_grad_x_parts": "terms of linear_grad_x, which is judged whole",
    "attention_parts": "terms of attention, which is judged whole",
    "attention_join": "terms of attention, which is judged whole",
    "attention_grad_q": "a part of attention's gradient, which is judged whole",
    "attention_grad_kv": "a part of attention's gradient, which is judged whole",
    **dict.fromkeys((*RECORDED, "q4gsw_scales", "q4gsw_quantize"), "ExecuTorch's outputs judge it"),
}
PARTIALS = partials()
TWINS = {**TORCH, **ROUGH, **PARTIALS, **FORWARD}
FINITE = {
    *PARTIALS, "extreme_grad", "rms_norm_grad", "rms_norm_grad_weight", "silu_mul_grad",
    "adamw_step",
    # between two places f32 and float64 may round to either side of one: 0 * infinity, or not
    "upsample_bilinear2d", "upsample_bilinear2d_grad",
}  # fmt: skip
TERMS = {  # how large what cancels is, where |inputs| do not show it
    "fused_ce_rows": lambda logits, labels, n_valid: (torch.tensor(1 / n_valid),) * 2,
    "rms_norm_grad": lambda g, x, weight, y, eps: (
        (g * weight) * (x.square().mean(-1, keepdim=True) + eps).rsqrt()
    ),
}
# judged in f32, as torch rounds; the rest by float64
EAGER = {*SMOOTH, *ROUGH, "scale", "silu", "silu_mul"}


def to_torch(value: np.ndarray | None, info: Info | None, letter: str, double: bool) -> Any:
    """An argument as torch takes it: floats in one width, weights as their floats."""
    if value is None or info is None:
        return None
    width = torch.float64 if double else torch.float32
    if info.dtype.kind == "w":
        return torch.from_numpy(np.array(dequantise(value, info.dtype, info.shape))).to(width)
    if letter == "i" or info.dtype.name == "u32":  # torch's indices; it barely knows u32
        return torch.from_numpy(value.astype(np.int64))
    made = torch.from_numpy(value)
    return made.to(width) if info.dtype.kind == "f" else made


def answers(
    op: Op, infos: list, values: list, attrs: dict, double: bool, of: dict[str, Any] = TWINS
) -> list[np.ndarray]:
    """The twin's outputs."""
    rows = zip(values, infos, op.schema.inputs, strict=True)
    given = [to_torch(v, i, t.kind, double) for v, i, t in rows]
    found = of[op.name](*given, **attrs)
    return [t.detach().numpy() for t in (found if isinstance(found, tuple) else (found,))]
