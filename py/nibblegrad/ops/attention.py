"""Causal attention with grouped KV heads, rotary embeddings, the KV cache."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, Sym, dyn, grid1
from ..core.lazy import np
from ..core.schema import Dims
from .op import Op, op

QKV = "f[b t h e], f[b s g e], f[b s g e]"


def _scores(q: Any, k: Any, pos: int, scale: float) -> tuple[Any, int]:
    """Masked scores [b, h, t, s]: query t sees keys up to pos + t."""
    group = q.shape[2] // k.shape[2]
    scores = np.einsum("bthe,bshe->bhts", q, np.repeat(k, group, 2)) * scale
    t, s = scores.shape[2:]
    hidden = np.arange(s)[None, :] > np.arange(t)[:, None] + pos
    return np.where(hidden, -np.inf, scores), group


@op(f"{QKV} -> f[b t h e], f[b t h]", order=("q", "k", "v", "scale", "pos"), tol=2e-5)
def attention(q, k, v, *, scale: float, pos: int = 0):
    """Causal softmax(scale * q @ k.T) @ v; key heads are shared by h / g query heads.

    q f32 [b, t, h, e], k and v f32 [b, s, g, e]; query t sees keys 0 .. pos + t. Returns the
    output and each row's log-sum-exp [b, t, h]. Source: arXiv 2305.13245, llama sdpa_with_kv_cache.
    """
    scores, group = _scores(q, k, pos, scale)
    peak = scores.max(-1, keepdims=True)
    weights = np.exp(scores - peak)
    total = weights.sum(-1, keepdims=True)
    out = np.einsum("bhts,bshe->bthe", weights / total, np.repeat(v, group, 2))
    return out, (peak + np.log(total))[..., 0].transpose(0, 2, 1)


def _params(d: Dims, with_pos: bool = True) -> tuple[int | float, ...]:
    head = (d.b, d.t, d.h, d.s, d.g, float(d.scale))
    return (*head, *dyn(d.pos, "i")) if with_pos else head


@attention.kernel("attention/row")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.b * d.t * d.h, 64), _params(d), const={"E4": d.e // 4})


@attention.vjp
def _(g: Any, out: Any, q: Any, k: Any, v: Any, *, scale: float, pos: int):
    y, lse = out
    dq, delta = attention_grad_q(g[0], y, lse, q, k, v, scale=scale, pos=pos)
    dk, dv = attention_grad_kv(g[0], lse, delta, q, k, v, scale=scale, pos=pos)
    return dq, dk, dv


@op("f[b t h e], f[b t h e], f[b t h], f[b t h e], f[b s g e], f[b s g e] -> f[b t h e], f[b t h]",
    tol=5e-5)  # fmt: skip
def attention_grad_q(g, out, lse, q, k, v, *, scale: float, pos: int = 0):
    """Gradient of attention to q, and delta = sum(g * out) a row, which the next one needs."""
    scores, group = _scores(q, k, pos, scale)
    weights = np.exp(scores - lse.transpose(0, 2, 1)[..., None])
    delta = (g * out).sum(-1)
    inner = np.einsum("bthe,bshe->bhts", g, np.repeat(v, group, 2))
    ds = weights * (inner - delta.transpose(0, 2, 1)[..., None])
    return np.einsum("bhts,bshe->bthe", ds, np.repeat(k, group, 2)) * scale, delta


@attention_grad_q.kernel("attention/row_grad_q")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.b * d.t * d.h, 64), _params(d), const={"E4": d.e // 4})


@op("f[b t h e], f[b t h], f[b t h], f[b t h e], f[b s g e], f[b s g e] -> f[b s g e], f[b s g e]",
    tol=5e-5)  # fmt: skip
def attention_grad_kv(g, lse, delta, q, k, v, *, scale: float, pos: int = 0):
    """Gradients of attention to k and v; each key sums over the queries and heads that see it."""
    scores, group = _scores(q, k, pos, scale)
    weights = np.exp(scores - lse.transpose(0, 2, 1)[..., None])
    b, s, heads, e = k.shape

    def grouped(x: Any) -> Any:
        return x.reshape(b, s, heads, group, e).sum(3)

    inner = np.einsum("bthe,bshe->bhts", g, np.repeat(v, group, 2))
    ds = weights * (inner - delta.transpose(0, 2, 1)[..., None])
    dk = np.einsum("bhts,bthe->bshe", ds, q) * scale
    return grouped(dk), grouped(np.einsum("bhts,bthe->bshe", weights, g))


@attention_grad_kv.kernel("attention/row_grad_kv")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.b * d.s * d.g, 64), _params(d), const={"E4": d.e // 4})


def _laws(made: Op) -> None:
    made.require("e % 4 == 0 and e > 0", "the head size must be a multiple of 4")
    made.require("g > 0 and h % g == 0", "query heads must be a multiple of key heads")


for made in (attention, attention_grad_q, attention_grad_kv):
    _laws(made)
for made in (attention_grad_q, attention_grad_kv):
    made.without_gradient("second derivatives of attention are not needed yet")
attention.cases("2x5x6x8 2x5x2x8 2x5x2x8", "1x1x1x4 1x1x1x4 1x1x1x4", scale=0.35)
attention.cases("1x17x4x64 1x17x4x64 1x17x4x64", "0x3x2x4 0x3x1x4 0x3x1x4", scale=0.125)
attention.cases("1x2x4x8 1x9x2x8 1x9x2x8", scale=0.35, pos=5)
_Q = "2x5x6x8 2x5x6x8 2x5x6 2x5x6x8 2x5x2x8 2x5x2x8"
attention_grad_q.cases(_Q, "1x1x1x4 1x1x1x4 1x1x1 1x1x1x4 1x1x1x4 1x1x1x4", scale=0.35)
attention_grad_q.cases("0x3x2x4 0x3x2x4 0x3x2 0x3x2x4 0x3x1x4 0x3x1x4", scale=0.5)
_K = "2x5x6x8 2x5x6 2x5x6 2x5x6x8 2x5x2x8 2x5x2x8"
attention_grad_kv.cases(_K, "1x1x1x4 1x1x1 1x1x1 1x1x1x4 1x1x1x4 1x1x1x4", scale=0.35)
attention_grad_kv.cases("0x3x2x4 0x3x2 0x3x2 0x3x2x4 0x3x1x4 0x3x1x4", scale=0.5)
_HEADS = ": query heads must be a multiple of key heads, got g=2, h=3"
attention.refuses("1x2x3x4 1x2x2x4 1x2x2x4", "attention" + _HEADS, scale=1.0)
attention.refuses("1x2x2x3 1x2x2x3 1x2x2x3",
    "attention: the head size must be a multiple of 4, got e=3", scale=1.0)  # fmt: skip
attention_grad_q.refuses("1x2x3x4 1x2x3x4 1x2x3 1x2x3x4 1x2x2x4 1x2x2x4",
    "attention_grad_q" + _HEADS, scale=1.0)  # fmt: skip
attention_grad_kv.refuses("1x2x3x4 1x2x3 1x2x3 1x2x3x4 1x2x2x4 1x2x2x4",
    "attention_grad_kv" + _HEADS, scale=1.0)  # fmt: skip


@op("f[b t h e], f[s r], f[s r] -> f[b t h e]", order=("x", "cos", "sin", "pos", "inverse"))
def rotary(x, cos, sin, *, pos: int = 0, inverse: bool = False):
    """Rotate adjacent pairs (x[2i], x[2i+1]) by the angles of row pos + t.

    x f32 [b, t, h, e], cos and sin f32 [rows, e/2]. Source: et_vk.apply_rotary_emb, and GGUF's
    llama. `inverse` rotates back, which is the gradient.
    """
    t, half = x.shape[1], x.shape[3] // 2
    c = cos[pos : pos + t, None, :half]
    s = sin[pos : pos + t, None, :half] * (-1 if inverse else 1)
    a, b = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2], out[..., 1::2] = a * c - b * s, a * s + b * c
    return out


@op("f[b t h e], f[s r], f[s r] -> f[b t h e]", order=("x", "cos", "sin", "pos", "inverse"))
def rotary_hf(x, cos, sin, *, pos: int = 0, inverse: bool = False):
    """Rotate the pairs (x[i], x[i + e/2]) by the angles of row pos + t; each half its own columns.

    x f32 [b, t, h, e], cos and sin f32 [rows, e]. Source: et_vk.apply_rotary_emb_hf, transformers.
    """
    t, half = x.shape[1], x.shape[3] // 2
    c, s = cos[pos : pos + t, None], sin[pos : pos + t, None]
    a, b = x[..., :half], x[..., half:]
    c1, c2, s1, s2 = c[..., :half], c[..., half:], s[..., :half], s[..., half:]
    if inverse:
        return np.concatenate([a * c1 + b * s2, b * c2 - a * s1], -1)
    return np.concatenate([a * c1 - b * s1, b * c2 + a * s2], -1)


def _rotate(made: Op, kernel: str) -> None:
    @made.kernel(kernel)
    def _(d: Dims) -> Launch:
        pairs = d.b * d.t * d.h * d.e // 2
        params = (pairs, d.t, d.h, d.e, *dyn(d.pos, "i"), int(d.inverse), d.r)
        return Launch(grid1(pairs, 64), params)

    @made.vjp
    def _(g: Any, out: Any, x: Any, cos: Any, sin: Any, *, pos: int, inverse: bool):
        return (lambda: made(g, cos, sin, pos=pos, inverse=not inverse), None, None)

    made.saves(x="cos sin")
    made.require("e % 2 == 0", "the head size must be even")


_rotate(rotary, "attention/rotary")
_rotate(rotary_hf, "attention/rotary_hf")
rotary.require("2 * r == e", "cos and sin must hold half the head size")
rotary_hf.require("r == e", "cos and sin must hold the whole head size")
for made, wide in ((rotary, 4), (rotary_hf, 8)):
    rows = f"9x{wide} 9x{wide}"
    one = f"9x{wide // 4} 9x{wide // 4}"
    made.cases(f"2x5x3x8 {rows}", f"1x1x1x2 {one}", f"0x5x3x8 {rows}")
    made.cases(f"2x5x3x8 {rows}", pos=4)
    made.cases(f"2x5x3x8 {rows}", inverse=True)
rotary.refuses("1x2x3x8 9x3 9x3",
    "rotary: cos and sin must hold half the head size, got r=3, e=8")  # fmt: skip
rotary_hf.refuses("1x2x3x8 9x4 9x4",
    "rotary_hf: cos and sin must hold the whole head size, got r=4, e=8")  # fmt: skip


@op("f[b t h e], f[b s h e] ->", mutates=("cache",), order=("value", "cache", "pos"))
def update_cache(value, cache, *, pos: int = 0):
    """Write value's rows into cache from row pos on, in place. Source: llama update_cache."""
    cache[:, pos : pos + value.shape[1]] = value


@update_cache.kernel("attention/update_cache")
def _(d: Dims) -> Launch:
    n = d.b * d.t * d.h * d.e
    return Launch(grid1(n, 64), (n, d.t, d.s, d.h * d.e, *dyn(d.pos, "i")))


update_cache.without_gradient("a cache serves inference only")
update_cache.require("t <= s", "value has more rows than cache")
update_cache.cases("1x2x3x4 1x9x3x4", "1x1x1x1 1x1x1x1", "0x2x3x4 0x9x3x4")
update_cache.cases("2x2x3x4 2x9x3x4", pos=7)
update_cache.refuses(
    "1x3x1x4 1x2x1x4", "update_cache: value has more rows than cache, got t=3, s=2"
)


def sdpa_with_kv_cache(
    query: Any, key: Any, value: Any, key_cache: Any, value_cache: Any,
    start_pos: int | Sym, seq_len: int, scale: float | None = None,
) -> Any:  # fmt: skip
    """Write key and value into the caches from start_pos on, in place; causal attention over them.

    query f32 [1, s, hq, e], key and value [1, s, hkv, e], caches [1, length, hkv, e]; scale
    defaults to 1 / sqrt(e). seq_len is query's, as upstream takes it. Source: llama
    sdpa_with_kv_cache.
    """
    update_cache(key, key_cache, start_pos)
    update_cache(value, value_cache, start_pos)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return attention(query, key_cache, value_cache, scale, start_pos)[0]


def apply_rotary_emb(xq: Any, xk: Any, freqs_cos: Any, freqs_sin: Any) -> tuple[Any, Any]:
    """Both query and key through `rotary`. Source: et_vk.apply_rotary_emb."""
    return rotary(xq, freqs_cos, freqs_sin), rotary(xk, freqs_cos, freqs_sin)


def apply_rotary_emb_hf(
    xq: Any, xk: Any, freqs_cos: Any, freqs_sin: Any, start_pos: int | Sym = 0
) -> tuple[Any, Any]:
    """Both query and key through `rotary_hf`. Source: et_vk.apply_rotary_emb_hf."""
    return (
        rotary_hf(xq, freqs_cos, freqs_sin, start_pos),
        rotary_hf(xk, freqs_cos, freqs_sin, start_pos),
    )
