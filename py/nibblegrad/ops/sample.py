"""The next token: repetition penalty, temperature, top-k, top-p, one draw. All on the device."""

from __future__ import annotations

from ..core.launch import Launch, dyn, grid1
from ..core.lazy import np
from ..core.schema import Dims
from .op import op
from .random import uniform01


@op("f[v], i[s] -> f[v]", order=("logits", "seen", "penalty"))
def repetition_penalty(logits, seen, *, penalty: float):
    """Logits of tokens in `seen` divided by penalty where positive, multiplied where negative.

    logits f32 [v], seen i32 [s], negative entries ignored. Source: arXiv 1909.05858.
    """
    out = logits.copy()
    at = np.unique(seen[(seen >= 0) & (seen < len(logits))])
    picked = logits[at]
    f = logits.dtype.type
    out[at] = np.where(picked > 0, picked / f(penalty), picked * f(penalty))
    return out


@repetition_penalty.kernel("index/repetition_penalty")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.v, 64), (d.v, d.s, float(d.penalty), 0))


@op("f[v] -> i[1]", order=("logits", "temperature", "top_k", "top_p", "seed", "stream"))
def sample(
    logits, *, temperature: float, top_k: int = 0, top_p: float = 1.0, seed: int, stream: int = 0
):
    """Draw one index from softmax(logits / temperature), cut to the top_k largest (0: all; ties
    stay), then to the fewest whose probability reaches top_p (ties stay). i32 [1].

    The draw is inverse-CDF over the index order with one counter-based uniform number.
    """
    z = logits / logits.dtype.type(temperature)
    if 0 < top_k < len(z):
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = np.exp(z - z.max())
    order = np.argsort(-p, kind="stable")
    mass = np.cumsum(p[order])
    cut = p[order[min(int(np.searchsorted(mass, top_p * mass[-1])), len(p) - 1)]]
    p = np.where(p >= cut, p, 0)
    mass = np.cumsum(p)
    draw = uniform01(1, seed, stream)[0] * mass[-1]
    chosen = min(int(np.searchsorted(mass, draw, side="right")), int(np.nonzero(p)[0][-1]))
    return np.array([chosen], np.int32)


@sample.kernel("index/sample")
def _(d: Dims) -> Launch:
    numbers = (d.v, d.top_k, float(1 / d.temperature), float(d.top_p), d.seed)
    return Launch((1, 1, 1), (*numbers, *dyn(d.stream, "i"), 0), {"ROWS": 1, "LANES": 64})


repetition_penalty.without_gradient("decoding only")
sample.without_gradient("a drawn index has no derivative")
sample.require("v > 0", "there must be at least one logit")
sample.require("temperature > 0", "temperature must be positive")
sample.require("top_k >= 0", "top_k must not be negative")
sample.require("0 < top_p <= 1", "top_p must be in (0, 1]")
repetition_penalty.cases("9 i:4", "1 i:1", "257 i:0", "0 i:3", penalty=1.3)
sample.cases("9", "1", "257", "1000", temperature=0.8, seed=5, stream=1)
sample.cases("9", "257", temperature=1.5, top_k=5, seed=6)
sample.cases("9", "257", "1000", temperature=0.7, top_p=0.6, seed=7)
repetition_penalty.refuses("9 f:4", "repetition_penalty: seen must be i32, got f32", penalty=1.0)
sample.refuses("0", "sample: there must be at least one logit, got v=0", temperature=1.0, seed=1)
sample.refuses("9", "sample: temperature must be positive, got temperature=0.0",
               temperature=0.0, seed=1)  # fmt: skip
