"""The head's cross-entropy in runs of rows: a long text's logits never lie there whole."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.launch import Sym
from ..core.schema import Info
from ..gpu.device import View
from ..tensor import Tensor, no_grad

LOGITS_BYTES = 96 << 20  # 512 rows of 49,152 classes; any WebGPU device binds 128 MiB at once
RUN = 64  # rows a run is a multiple of: its first then lies where a binding may start


def head_loss(
    head: Any, x: Tensor, labels: Tensor, n_valid: float | Sym, most: int = LOGITS_BYTES
) -> tuple[Tensor, Tensor | None]:
    """(loss, dx): fused_ce of head(x), its rows summed, and the gradient to x; None under no_grad.

    x f32 [r, k], head a frozen layer from k to v features, labels i32 [r], negative where there is
    no loss. At most `most` bytes of logits (or RUN rows) are alive at a time, and as many of their
    gradient. Source: et_vk.fused_ce in runs, as Liger's FusedLinearCrossEntropy (arXiv 2410.10989).
    """
    rows = x.shape[0]
    per = RUN * max(1, most // (4 * RUN * head.out_features))
    found = [
        _run(head, _rows(x, at, per), _rows(labels, at, per), n_valid) for at in range(0, rows, per)
    ]
    with no_grad():
        loss = found[0][0]
        for more, _ in found[1:]:
            loss = loss + more
        grads = [g for _, g in found if g is not None]
        return loss, grads[0] if len(grads) == 1 else ops.cat(grads) if grads else None


def _run(head: Any, x: Tensor, labels: Tensor, n_valid: Any) -> tuple[Tensor, Tensor | None]:
    x.requires_grad = True
    logits = head(x)
    with no_grad():
        loss, grad = ops.fused_ce(logits.detach(), labels, n_valid)
    if logits.requires_grad:  # not under no_grad
        logits.backward(grad)
    return loss, x.grad


def _rows(x: Tensor, start: int, count: int) -> Tensor:
    """Rows start .. start + count, or to the end, where they lie."""
    count = min(count, x.shape[0] - start)
    info = Info((count, *x.shape[1:]), x.dtype)
    each = x.nbytes // x.shape[0]
    return Tensor(View(x._view.storage, x._view.offset + start * each, info))
