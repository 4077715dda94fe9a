"""Torch autograd as the judge of what a Llama layer needs, forward and backward, computed live.

Arrays in, float64 arrays out: first the result, then the gradient of each input for `g`.
"""

import numpy as np
import torch
import torch.nn.functional as F


def grads(f, g, *arrays, dtype=torch.float64):
    """f of the arrays, and what g at its output gives back to each."""
    xs = [torch.tensor(np.asarray(a), dtype=dtype, requires_grad=True) for a in arrays]
    y = f(*xs)
    y.backward(torch.tensor(np.asarray(g), dtype=dtype).reshape(y.shape))
    return [t.detach().double().numpy() for t in (y, *(x.grad for x in xs))]


def attention(q, k, v, g, *, pos=0, scale=None, causal=True, dtype=torch.float64):
    """q, g [b, t, h, d]; k, v [b, s, kv heads, d]; row t sees keys up to t + pos: y, dq, dk, dv."""
    per_kv = q.shape[2] // k.shape[2]

    def f(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # [b, h, t, d]
        k, v = (x.repeat_interleave(per_kv, 1) for x in (k, v))
        t, s = q.shape[2], k.shape[2]
        seen = torch.ones(t, s, dtype=torch.bool)
        seen = seen.tril(pos) if causal else seen
        return F.scaled_dot_product_attention(q, k, v, seen, scale=scale).transpose(1, 2)

    return grads(f, g, q, k, v, dtype=dtype)


def rms_norm(x, w, g, *, eps=1e-6, dtype=torch.float64):
    """y, dx, dw."""
    return grads(lambda x, w: F.rms_norm(x, w.shape, w, eps), g, x, w, dtype=dtype)


def silu_mul(gate, up, g, *, dtype=torch.float64):
    """silu(gate) * up: y, d gate, d up."""
    return grads(lambda a, b: F.silu(a) * b, g, gate, up, dtype=dtype)


def rotary(x, cos, sin, g, *, adjacent=False, dtype=torch.float64):
    """x, g [b, t, h, d]; cos, sin [t, d / 2]; pairs (i, i + d/2), or (2i, 2i+1): y, dx."""
    c, s = (torch.tensor(np.asarray(a), dtype=dtype)[None, :, None] for a in (cos, sin))

    def f(x):
        a, b = (x[..., 0::2], x[..., 1::2]) if adjacent else x.chunk(2, -1)
        turned = (a * c - b * s, a * s + b * c)
        return torch.stack(turned, -1).flatten(-2) if adjacent else torch.cat(turned, -1)

    return grads(f, g, x, dtype=dtype)


def cos_sin(positions, d, theta=10000.0):
    """The float64 rotary tables [t, d / 2] of a Llama without scaling."""
    turns = np.outer(positions, theta ** (-np.arange(0, d, 2) / d))
    return np.cos(turns), np.sin(turns)


def cross_entropy(logits, labels, n, *, dtype=torch.float64):
    """Summed over labels >= 0, divided by n: loss, d logits."""
    y = torch.tensor(np.where(np.asarray(labels) < 0, -100, labels))
    return grads(lambda x: F.cross_entropy(x, y, reduction="sum") / n, 1.0, logits, dtype=dtype)


def linear(x, w, g, *, bias=None, dtype=torch.float64):
    """x @ w.T (+ bias): y, dx, dw (, d bias)."""
    return grads(F.linear, g, *((x, w) if bias is None else (x, w, bias)), dtype=dtype)
