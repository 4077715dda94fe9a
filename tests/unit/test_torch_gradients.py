"""Every gradient that torch has too: our vjp on the host, in float64, equals torch's autograd.

Each case of the catalogue, each format a weight may be stored in; the forward on the way.
"""

from __future__ import annotations

import numpy as np
import pytest
from double import DoubleHost, as_double, ordered, to_tensor
from sampling import arrays, cases, infos, learns, weights
from torch_elementwise import SMOOTH
from torch_shapes import SHAPED
from torch_spatial import SPATIAL

import nibblegrad as ng
from nibblegrad.core.dtype import DTYPES
from nibblegrad.core.schema import Info
from nibblegrad.ops.formats import dequantise
from nibblegrad.ops.op import CATALOGUE, Op
from nibblegrad.tensor.tensor import set_default_device

torch = pytest.importorskip("torch")
F = torch.nn.functional
NO_TWIN = {"dropout": "torch draws another mask"}
TOLERANCE = 1e-9  # of the largest value


def attention(q, k, v, scale, pos, causal):
    t, s, group = q.shape[1], k.shape[1], q.shape[2] // k.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # [b, h, t, e]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    seen = torch.ones(t, s, dtype=torch.bool).tril(pos)
    seen = seen if causal else seen[-1:].expand(t, s)
    return F.scaled_dot_product_attention(q, k, v, seen, scale=scale).transpose(1, 2)


def rotary(x, cos, sin, pos, inverse):
    """Adjacent pairs are complex numbers; the angles turn them."""
    turn = torch.complex(cos, -sin if inverse else sin)[pos : pos + x.shape[1], None]
    x, rest = x[..., : 2 * cos.shape[1]], x[..., 2 * cos.shape[1] :]
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.cat([torch.view_as_real(pairs * turn).flatten(-2), rest], -1)


def rotary_hf(x, cos, sin, pos, inverse):
    """transformers' rotate_half; the inverse is its transpose."""
    c, s = (a[pos : pos + x.shape[1], None] for a in (cos, sin))
    x, rest = x[..., : cos.shape[1]], x[..., cos.shape[1] :]
    a, b = (x * s if inverse else x).chunk(2, -1)
    half = torch.cat((b, -a) if inverse else (-b, a), -1)
    return torch.cat([x * c + (half if inverse else half * s), rest], -1)


def cross_entropy(logits, labels, n_valid):
    labels = torch.where((labels >= 0) & (labels < logits.shape[1]), labels, -100)
    return F.cross_entropy(logits, labels, ignore_index=-100, reduction="none") / n_valid


def embedding(weight, indices):
    if not len(weight):
        return weight.sum() + torch.zeros(*indices.shape, weight.shape[1], dtype=weight.dtype)
    inside = (indices >= 0) & (indices < len(weight))
    rows = F.embedding(torch.where(inside, indices, 0), weight)
    return torch.where(inside[..., None], rows, 0.0)


def flat(x):
    """[*b, n] as rows."""
    return x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])


def index_add(g, indices, n):
    inside = ((indices >= 0) & (indices < n)).flatten()
    rows = flat(g)[inside]
    return torch.zeros(n, g.shape[-1], dtype=g.dtype).index_add(0, indices.flatten()[inside], rows)


def q4gsw(weights, scales, group_size, k):
    """The floats of a packed weight: low nibble first, code 8 is zero, a scale row a group."""
    codes = torch.stack([weights & 15, weights >> 4], -1).flatten(1)[:, :k] - 8.0
    return codes.double() * scales[torch.arange(k) // group_size, : len(weights)].T


def linear_q4gsw(x, weights, scales, bias, group_size):
    return F.linear(x, q4gsw(weights, scales, group_size, x.shape[-1]), bias)


def linear_q4gsw_backward(d_out, weights, scales, group_size, k):
    return d_out @ q4gsw(weights, scales, group_size, k or 2 * weights.shape[1])


def linear_qcs4w(x, weight, scales, bias):
    """High nibble first; a scale an output."""
    codes = torch.stack([weight >> 4, weight & 15], -1).flatten(1)[:, : x.shape[-1]] - 8.0
    y = (x @ codes.double().T) * scales
    return y if bias is None else y + bias


TORCH = {
    "scale": lambda x, s: x * s,
    "silu": F.silu,
    "silu_mul": lambda gate, up: F.silu(gate) * up,
    "sum_to": lambda x, shape: x.sum_to_size(shape),
    "expand": lambda x, shape: x.expand(shape),
    "sum_all": torch.sum,
    "column_sum": lambda g: flat(g).sum(0),
    "linear": F.linear,
    "linear_add": lambda y, x, w, alpha: y + alpha * (x @ w.T),
    "linear_grad_x": torch.matmul,
    "linear_dW": lambda d_out, x: flat(d_out).T @ flat(x),
    "linear_q4gsw": linear_q4gsw,
    "linear_q4gsw_backward": linear_q4gsw_backward,
    "linear_qcs4w": linear_qcs4w,
    "rms_norm": lambda x, weight, eps: F.rms_norm(x, weight.shape, weight, eps),
    "attention": attention,
    "rotary": rotary,
    "rotary_hf": rotary_hf,
    "rotary_pair": lambda q, k, cos, sin, pos, inverse, halves: (rotary_hf if halves else rotary)(
        q, cos, sin, pos, inverse
    ),
    "embedding": embedding,
    "index_add": index_add,
    "fused_ce_rows": cross_entropy,
    **SMOOTH,
    **SHAPED,
    **SPATIAL,
}
CASES = [
    pytest.param(op, words, attrs, weight, id=f"{name} {weight}")
    for op in CATALOGUE.values()
    if op.gradient and op.name in TORCH
    for name, words, attrs in cases(op)
    for weight in weights(op, words)
    if learns(op, words, attrs) and any(i and i.dtype.kind == "f" for i in infos(op, words, weight))
]


def to_torch(value: np.ndarray | None, info: Info | None):
    """float64 that learns where ours does; integers as torch's indices; weights as their floats."""
    if value is None or info is None:
        return None
    if info.dtype.kind == "w":
        return torch.from_numpy(np.array(dequantise(value, info.dtype, info.shape))).double()
    if info.dtype.kind != "f":
        return torch.from_numpy(value) if info.dtype.kind == "b" else torch.from_numpy(value).long()
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def close(ours: np.ndarray, theirs: np.ndarray, what: str) -> None:
    scale = np.abs(theirs).max(initial=0)
    atol = 1e-15 if np.isnan(scale) else TOLERANCE * scale + 1e-15
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol, err_msg=what, strict=True)


@pytest.mark.parametrize(("op", "words", "attrs", "weight"), CASES)
def test_gradient_equals_torch(op: Op, words: str, attrs: dict, weight: str):
    dev = DoubleHost()
    set_default_device(dev)
    found = infos(op, words, weight)
    values = as_double(op, found, arrays(op, found, words + weight))
    ours = [to_tensor(dev, v, i) for v, i in zip(values, found, strict=True)]
    theirs = [to_torch(v, i) for v, i in zip(values, found, strict=True)]
    for t in ours:
        if t is not None and t.dtype.kind == "f":
            t.requires_grad = True
    out = op(*ordered(op, ours, attrs))
    out = out[0] if isinstance(out, tuple) else out
    want = TORCH[op.name](*theirs, **attrs)
    close(dev.array(out._view), want.detach().numpy(), f"{op.name}: forward")
    seed = np.random.default_rng(2).standard_normal(out.shape)
    out.backward(to_tensor(dev, seed, out._view.info))
    want.backward(torch.tensor(seed))
    compared = 0
    if 0 in out.shape:  # torch's gradients of nothing are 0 / 0 here and there
        return
    for name, a, b in zip(op.names, ours, theirs, strict=True):
        if a is not None and a.grad is not None:
            close(dev.array(a.grad._view), b.grad.numpy(), f"{op.name}: d {name}")
            compared += 1
    assert compared


def test_every_gradient_has_a_judge():
    unjudged = {op.name for op in CATALOGUE.values() if op.gradient} - TORCH.keys() - NO_TWIN.keys()
    assert not unjudged, "add torch's function to TORCH, or to NO_TWIN why there is none"


def test_fused_ce_is_torchs_mean():
    """The loss, its own gradient, and the one that backward gives, with masked labels."""
    dev = DoubleHost()
    set_default_device(dev)
    rng = np.random.default_rng(3)
    logits, labels = rng.standard_normal((7, 33)), np.array([3, -100, 0, 32, -100, 8, 8], np.int32)
    x = to_tensor(dev, logits, Info((7, 33), DTYPES["f32"]))
    assert x is not None
    x.requires_grad = True
    marks = to_tensor(dev, labels, Info((7,), DTYPES["i32"]))
    loss, dlogits = ng.ops.fused_ce(x, marks, 5.0)
    loss.backward(to_tensor(dev, np.array(1.0), Info((), DTYPES["f32"])))
    theirs = torch.tensor(logits, requires_grad=True)
    want = F.cross_entropy(theirs, torch.from_numpy(labels).long(), ignore_index=-100)
    want.backward()
    close(dev.array(loss._view), want.detach().numpy(), "loss")
    for ours in (dlogits, x.grad):
        assert ours is not None
        close(dev.array(ours._view), theirs.grad.numpy(), "d logits")
