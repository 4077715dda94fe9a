"""The fused cross-entropy: loss and gradient of the logits in one pass over each row."""

from __future__ import annotations

from typing import Any

from ..core.launch import Launch, Sym, dyn, grid1
from ..core.lazy import np
from ..core.schema import Dims
from .map import mul
from .op import op
from .reduce import sum_all


@op("f[r v], i[r] -> f[r], f[r v]", order=("logits", "labels", "n_valid"), tol=2e-5)
def fused_ce_rows(logits, labels, *, n_valid: float):
    """Cross-entropy of each row over n_valid, and its gradient to the logits.

    logits f32 [r, v], labels i32 [r] below v; a negative label masks its row: loss and gradient
    are 0. A label of v or more also masks (upstream reads out of bounds).
    """
    ok = (labels >= 0) & (labels < logits.shape[1])
    at = (np.arange(len(labels)), np.where(ok, labels, 0))
    peak = logits.max(1, keepdims=True)
    weights = np.exp(logits - peak)
    total = weights.sum(1, keepdims=True)
    loss = np.where(ok, (np.log(total) - (logits[at][:, None] - peak))[:, 0] / n_valid, 0)
    grad = weights / total
    grad[at] -= 1
    return loss, np.where(ok[:, None], grad / n_valid, 0)


@fused_ce_rows.kernel("reduce/fused_ce")
def _(d: Dims) -> Launch | None:
    if d.caps.software:
        return None
    params = (d.r, d.v, *dyn(d.n_valid))
    return Launch(grid1(d.r, 1), params, {"ROWS": 1, "LANES": 256})


@fused_ce_rows.kernel("reduce/fused_ce")
def _(d: Dims) -> Launch:
    return Launch(grid1(d.r, 4), (d.r, d.v, *dyn(d.n_valid)), {"ROWS": 4, "LANES": 1})


@fused_ce_rows.vjp
def _(g: Any, out: Any, logits: Any, labels: Any, *, n_valid: Any):
    return (lambda: mul(g[0].reshape((-1, 1)), out[1]), None)


def fused_ce(logits: Any, labels: Any, n_valid: float | Sym) -> tuple[Any, Any]:
    """(loss, dlogits): the rows' loss summed, and its gradient to the logits.

    n_valid is the caller's: the number of labels >= 0 gives torch's mean. If every label is
    masked the loss is 0. Source: et_vk.fused_ce.
    """
    partial, grad = fused_ce_rows(logits, labels, n_valid=n_valid)
    return sum_all(partial), grad


fused_ce_rows.saves(logits="out")
fused_ce_rows.require("v > 0", "a row of no classes has no loss")
fused_ce_rows.cases("3x5 i:3", "1x1 i:1", "7x257 i:7", "0x5 i:0", "6x64 i:6", n_valid=3.0)
fused_ce_rows.cases("s:9x5 i:9", n_valid=2.0)
fused_ce_rows.refuses("3x5 i:4", "fused_ce_rows: labels has r=4 but logits has r=3", n_valid=1.0)
