"""Attention of few queries over many keys: the keys in parts, side by side, then put together."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, ceil_div, dyn, grid1
from ..core.lazy import np
from ..core.schema import Dims
from .attention import QKV, attention, masked_scores
from .op import op

PER = 128  # keys a part: as many workgroups as the keys give
MOST = 2048  # scores in workgroup memory
LEAST = -3.4e38


def keys_launch(d: Dims, parts: int) -> Launch:
    """A workgroup a row and part."""
    head = (d.b, d.t, d.h, d.s, d.g, float(d.scale))
    params = (*head, *dyn(d.pos, "i"), int(d.causal), parts, 0, 0)
    numbers: dict[str, int | float] = {"ROWS": 1, "LANES": 64, "PER": max(1, ceil_div(d.s, parts))}
    return Launch(grid1(parts * d.b * d.t * d.h, 1), params, numbers, {"E4": d.e // 4})


@op(f"{QKV} -> f[*x], f[*y]", tol=2e-5,
    shape=lambda d: ((d.parts, d.b, d.t, d.h, d.e), (d.parts, d.b, d.t, d.h)))  # fmt: skip
def attention_parts(q, k, v, *, scale: float, pos: int = 0, causal: bool = True, parts: int):
    """`attention` over each of `parts` equal runs of keys: outputs [parts, b, t, h, e] and
    log-sum-exps [parts, b, t, h]; a run that a query does not see gives 0 and -3.4e38.

    q f32 [b, t, h, e], k and v f32 [b, s, g, e]. Source: Flash-Decoding (arXiv 2311.01282).
    """
    seen = pos + q.shape[1]
    b, t, h, e = q.shape
    per = -(-k.shape[1] // parts)
    outs = np.zeros((parts, b, t, h, e), q.dtype)
    lses = np.full((parts, b, t, h), LEAST, q.dtype)
    for p in range(parts):
        run = slice(p * per, min((p + 1) * per, seen))
        if run.start >= min(seen, k.shape[1]):
            break
        found, group = masked_scores(q, k[:, run], pos - run.start, scale, causal)
        peak = found.max(-1, keepdims=True, initial=LEAST)
        weights = np.exp(found - peak)
        total = weights.sum(-1, keepdims=True)
        there = total > 0
        weights = np.divide(weights, total, where=there, out=np.zeros_like(weights))
        outs[p] = np.einsum("bhts,bshe->bthe", weights, np.repeat(v[:, run], group, 2))
        lse = np.where(there, peak + np.log(np.where(there, total, 1)), LEAST)
        lses[p] = lse[..., 0].transpose(0, 2, 1)
    return outs, lses


attention_parts.kernel("attention/keys")(lambda d: keys_launch(d, d.parts))


@op("f[p b t h e], f[p b t h] -> f[b t h e], f[b t h]", tol=2e-5)
def attention_join(outs, lses):
    """The attention that parts give together, and its log-sum-exp."""
    weights = np.exp(lses - lses.max(0))
    total = weights.sum(0)
    return (outs * weights[..., None]).sum(0) / total[..., None], lses.max(0) + np.log(total)


@attention_join.kernel("attention/join")
def _(d: Dims) -> Launch:
    n = d.b * d.t * d.h * d.e // 4
    return Launch(grid1(n, 64), (n, d.p, d.e // 4, 0))


def attend(q: Any, k: Any, v: Any, scale: float, pos: Any = 0, causal: bool = True) -> Any:
    """attention's output; in parts where few queries would leave a GPU idle over many keys."""
    caps = getattr(q.device, "caps", None)  # the host has none
    few = q.shape[1] < 5 and k.shape[1] >= 2 * PER and q.shape[-1] <= 256
    learning = q.requires_grad or k.requires_grad or v.requires_grad
    parts = ceil_div(k.shape[1], PER)
    if not few or learning or caps is None or caps.software or parts > 1024:
        return attention(q, k, v, scale, pos, causal)[0]
    found = attention_parts(q, k, v, scale=scale, pos=pos, causal=causal, parts=parts)
    return attention_join(*found)[0]


for made in (attention_parts, attention_join):
    made.require("e % 4 == 0 and e > 0", "the head size must be a multiple of 4")
    made.without_gradient("it serves inference; attention has gradients")
attention_parts.require("e <= 256", "a head has at most 64 vec4")
attention_parts.require("pos >= 0", "pos counts from 0")
attention_parts.require("g > 0 and h % g == 0", "query heads must be a multiple of key heads")
attention_parts.require("parts > 0 and s <= 2048 * parts", "a part has at most 2048 keys")
attention_join.require("p > 0", "there is nothing to join")
_CACHE = "1x1x4x8 1x21x2x8 1x21x2x8"
attention_parts.cases(_CACHE, "2x3x6x12 2x300x2x12 2x300x2x12", scale=0.35, pos=13, parts=3)
attention_parts.cases("1x1x1x4 1x1x1x4 1x1x1x4", "0x1x2x4 0x5x1x4 0x5x1x4", scale=0.35, parts=1)
attention_parts.cases("1x1x3x64 1x257x3x64 1x257x3x64", scale=0.125, pos=256, parts=2)
attention_parts.cases("1x2x2x4 1x9x1x4 1x9x1x4", scale=0.35, pos=4, causal=False, parts=2)
attention_join.cases("3x2x1x3x8 3x2x1x3", "1x1x1x1x4 1x1x1x1", "2x0x1x3x4 2x0x1x3")
attention_parts.refuses("1x1x3x4 1x2x2x4 1x2x2x4", "attention_parts: query heads must be a "
                        "multiple of key heads, got g=2, h=3", scale=1.0, parts=1)  # fmt: skip
attention_join.refuses("2x1x1x2x4 3x1x1x2", "attention_join: lses has p=3 but outs has p=2")
