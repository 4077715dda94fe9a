"""Attention with grouped KV heads, causal or over all there is, and its gradients."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, ceil_div, dyn, grid1
from ..core.lazy import np
from ..core.schema import Dims
from .op import Op, op

QKV = "f[b t h e], f[b s g e], f[b s g e]"


def masked_scores(q: Any, k: Any, pos: int, scale: float, causal: bool) -> tuple[Any, int]:
    """Masked scores [b, h, t, s]: query t sees keys up to pos + t, or up to the last query's."""
    group = q.shape[2] // k.shape[2]
    scores = np.einsum("bthe,bshe->bhts", q, np.repeat(k, group, 2)) * scale
    t, s = scores.shape[2:]
    last = np.arange(t)[:, None] if causal else t - 1
    hidden = np.broadcast_to(np.arange(s)[None, :] > last + pos, (t, s))
    return np.where(hidden, -np.inf, scores), group


@op(f"{QKV} -> f[b t h e], f[b t h]", order=("q", "k", "v", "scale", "pos", "causal"), tol=2e-5)
def attention(q, k, v, *, scale: float, pos: int = 0, causal: bool = True):
    """softmax(scale * q @ k.T) @ v; key heads are shared by h / g query heads.

    q f32 [b, t, h, e], k and v f32 [b, s, g, e]; query t sees keys 0 .. pos + t, or, not causal,
    0 .. pos + the last t. Returns the
    output and each row's log-sum-exp [b, t, h]. Source: arXiv 2305.13245, llama sdpa_with_kv_cache.
    """
    k, v = k[:, : pos + q.shape[1]], v[:, : pos + q.shape[1]]  # a cache's rest may be anything
    scores, group = masked_scores(q, k, pos, scale, causal)
    peak = scores.max(-1, keepdims=True, initial=-np.inf)  # no query may see no key
    weights = np.exp(scores - peak)
    total = weights.sum(-1, keepdims=True)
    out = np.einsum("bhts,bshe->bthe", weights / total, np.repeat(v, group, 2))
    return out, (peak + np.log(total))[..., 0].transpose(0, 2, 1)


def _params(d: Dims) -> tuple[int | float, ...]:
    head = (d.b, d.t, d.h, d.s, d.g, float(d.scale))
    return (*head, *dyn(d.pos, "i"), int(d.causal), 0, 0, 0)


def _blocks(d: Dims, rows: int, heads: int) -> Launch | None:
    """16 rows a workgroup, for more than a few; heads up to 64 wide fit into 16 KiB."""
    narrow = d.caps.software or d.caps.max_invocations < 256
    if narrow or not d.causal or rows < 5 or d.e > 64:
        return None
    return Launch(grid1(d.b * heads * ceil_div(rows, 16), 1), _params(d), const={"E4": d.e // 4})


attention.kernel("attention/block")(lambda d: _blocks(d, d.t, d.h))


@attention.kernel("attention/keys")
def _(d: Dims) -> Launch | None:
    from .attention_parts import MOST, keys_launch

    if d.caps.software or d.t >= 5 or not 0 < d.s <= MOST or d.e > 256:
        return None
    return keys_launch(d, 1)


@attention.kernel("attention/row")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.b * d.t * d.h, 64), _params(d), const={"E4": d.e // 4})


@attention.vjp
def _(g: Any, out: Any, q: Any, k: Any, v: Any, *, scale: float, pos: int, causal: bool):
    y, lse = out
    dq, delta = attention_grad_q(g[0], y, lse, q, k, v, scale=scale, pos=pos, causal=causal)
    dk, dv = attention_grad_kv(g[0], lse, delta, q, k, v, scale=scale, pos=pos, causal=causal)
    return dq, dk, dv


@op("f[b t h e], f[b t h e], f[b t h], f[b t h e], f[b s g e], f[b s g e] -> f[b t h e], f[b t h]",
    tol=5e-5)  # fmt: skip
def attention_grad_q(g, out, lse, q, k, v, *, scale: float, pos: int = 0, causal: bool = True):
    """Gradient of attention to q, and delta = sum(g * out) a row, which the next one needs."""
    scores, group = masked_scores(q, k, pos, scale, causal)
    weights = np.exp(scores - lse.transpose(0, 2, 1)[..., None])
    delta = (g * out).sum(-1)
    inner = np.einsum("bthe,bshe->bhts", g, np.repeat(v, group, 2))
    ds = weights * (inner - delta.transpose(0, 2, 1)[..., None])
    return np.einsum("bhts,bshe->bthe", ds, np.repeat(k, group, 2)) * scale, delta


attention_grad_q.kernel("attention/block_grad_q")(lambda d: _blocks(d, d.t, d.h))


@attention_grad_q.kernel("attention/row_grad_q")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.b * d.t * d.h, 64), _params(d), const={"E4": d.e // 4})


@op("f[b t h e], f[b t h], f[b t h], f[b t h e], f[b s g e], f[b s g e] -> f[b s g e], f[b s g e]",
    tol=5e-5)  # fmt: skip
def attention_grad_kv(g, lse, delta, q, k, v, *, scale: float, pos: int = 0, causal: bool = True):
    """Gradients of attention to k and v; each key sums over the queries and heads that see it."""
    scores, group = masked_scores(q, k, pos, scale, causal)
    weights = np.exp(scores - lse.transpose(0, 2, 1)[..., None])
    b, s, heads, e = k.shape

    def grouped(x: Any) -> Any:
        return x.reshape(b, s, heads, group, e).sum(3)

    inner = np.einsum("bthe,bshe->bhts", g, np.repeat(v, group, 2))
    ds = weights * (inner - delta.transpose(0, 2, 1)[..., None])
    dk = np.einsum("bhts,bthe->bshe", ds, q) * scale
    return grouped(dk), grouped(np.einsum("bhts,bthe->bshe", weights, g))


attention_grad_kv.kernel("attention/block_grad_kv")(lambda d: _blocks(d, d.s, d.g))


@attention_grad_kv.kernel("attention/row_grad_kv")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.b * d.s * d.g, 64), _params(d), const={"E4": d.e // 4})


def _laws(made: Op) -> None:
    made.require("e % 4 == 0 and e > 0", "the head size must be a multiple of 4")
    made.require("pos >= 0", "pos counts from 0")
    made.require("g > 0 and h % g == 0", "query heads must be a multiple of key heads")


for made in (attention, attention_grad_q, attention_grad_kv):
    _laws(made)
for made in (attention_grad_q, attention_grad_kv):
    made.without_gradient("second derivatives of attention are not needed yet")
attention.cases("2x5x6x8 2x5x2x8 2x5x2x8", "1x1x1x4 1x1x1x4 1x1x1x4", scale=0.35)
attention.cases("1x17x4x64 1x17x4x64 1x17x4x64", "0x3x2x4 0x3x1x4 0x3x1x4", scale=0.125)
attention.cases("1x2x4x8 1x9x2x8 1x9x2x8", scale=0.35, pos=5)
attention.cases("2x3x4x8 2x9x2x8 2x9x2x8", "1x3x1x4 1x3x1x4 1x3x1x4", scale=0.35, causal=False)
attention.cases("2x0x3x8 2x3x3x8 2x3x3x8", scale=0.35, causal=False)
attention.cases("1x3x4x8 1x9x2x8 1x9x2x8", scale=0.35, pos=4, causal=False)
attention.cases("2x35x2x12 2x37x1x12 2x37x1x12", scale=0.35, pos=2)
_Q = "2x5x6x8 2x5x6x8 2x5x6 2x5x6x8 2x5x2x8 2x5x2x8"
attention_grad_q.cases(_Q, "1x1x1x4 1x1x1x4 1x1x1 1x1x1x4 1x1x1x4 1x1x1x4", scale=0.35)
attention_grad_q.cases(
    "1x3x4x8 1x3x4x8 1x3x4 1x3x4x8 1x9x2x8 1x9x2x8", scale=0.35, pos=4, causal=False
)
attention_grad_q.cases("0x3x2x4 0x3x2x4 0x3x2 0x3x2x4 0x3x1x4 0x3x1x4", scale=0.5)
_K = "2x5x6x8 2x5x6 2x5x6 2x5x6x8 2x5x2x8 2x5x2x8"
attention_grad_kv.cases(_K, "1x1x1x4 1x1x1 1x1x1 1x1x1x4 1x1x1x4 1x1x1x4", scale=0.35)
attention_grad_kv.cases(
    "1x3x4x8 1x3x4 1x3x4 1x3x4x8 1x9x2x8 1x9x2x8", scale=0.35, pos=4, causal=False
)
_LONG = "1x19x4x12 1x37x2x12 1x37x2x12"
attention_grad_q.cases(f"1x19x4x12 1x19x4x12 1x19x4 {_LONG}", scale=0.3, pos=18)
attention_grad_kv.cases(f"1x19x4x12 1x19x4 1x19x4 {_LONG}", scale=0.3, pos=18)
attention_grad_kv.cases("0x3x2x4 0x3x2 0x3x2 0x3x2x4 0x3x1x4 0x3x1x4", scale=0.5)
_HEADS = ": query heads must be a multiple of key heads, got g=2, h=3"
attention.refuses("1x2x3x4 1x2x2x4 1x2x2x4", "attention" + _HEADS, scale=1.0)
attention.refuses("1x2x2x3 1x2x2x3 1x2x2x3",
    "attention: the head size must be a multiple of 4, got e=3", scale=1.0)  # fmt: skip
attention_grad_q.refuses("1x2x3x4 1x2x3x4 1x2x3 1x2x3x4 1x2x2x4 1x2x2x4",
    "attention_grad_q" + _HEADS, scale=1.0)  # fmt: skip
attention_grad_kv.refuses("1x2x3x4 1x2x3 1x2x3 1x2x3x4 1x2x2x4 1x2x2x4",
    "attention_grad_kv" + _HEADS, scale=1.0)  # fmt: skip
