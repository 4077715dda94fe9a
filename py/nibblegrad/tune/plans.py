"""The recorded plans of training: a micro-batch forward and back, its evaluation, the update."""

from __future__ import annotations

from array import array
from typing import Any

from .. import ops
from ..core.dtype import f32
from ..core.schema import Info
from ..gpu.device import View
from ..nn import head_loss
from ..optim import AdamW
from ..tensor import Tensor, no_grad, record, zeros
from .batch import Batch, rounded
from .lora import layers

KEPT = 8  # plans of different shapes kept at once


class Plans:
    """Every plan of one training run. Shapes recur, so each is recorded once and kept."""

    def __init__(self, model: Any, optimizer: AdamW, max_grad_norm: float,
                 checkpointing: bool = False):  # fmt: skip
        self.model, self.optimizer, self.checkpointing = model, optimizer, checkpointing
        self.activations = 0  # bytes that the tape keeps from the way forward for the way back
        stats = zeros((128,))  # the loss at 0, the squared gradient norm at 64: one read for both
        self.stats = stats
        self.loss, self.norm = (
            Tensor(View(stats._view.storage, at, Info((), f32))) for at in (0, 256)
        )
        self._micro: dict[Any, Any] = {}
        self._start = self._record_start()
        self._norm = self._record_norm()
        self._update = self._record_update(max_grad_norm)

    def start(self) -> None:
        """Zero gradients and loss."""
        self._start.replay()

    def micro(self, batch: Batch, n_valid: int, train: bool = True, seed: int = 0) -> None:
        """Add one micro-batch's loss (over n_valid) and, when training, its gradients."""
        size = rounded(batch.count)
        plan, ids, places, labels = self.prepare(batch.rows, batch.width, size, train)
        ids.write_(batch.ids)
        places.write_(_filled(batch.places, size))
        labels.write_(_filled(batch.labels, size))
        plan.replay(n_valid=float(n_valid), seed=seed)

    def prepare(self, rows: int, width: int, places: int, train: bool = True) -> Any:
        """The plan of micro-batches of this shape, and its inputs: recorded now, or before."""
        key = (rows, width, places, train)
        if key not in self._micro:
            while len(self._micro) >= KEPT:
                self._micro.pop(next(iter(self._micro)))[0].drop()
            self._micro[key] = self._record_micro(*key)
        return self._micro[key]

    async def read(self) -> tuple[float, float]:
        """(loss, gradient norm) since start."""
        self._norm.replay()
        numbers = array("f")
        numbers.frombytes(await self.stats.tobytes())
        return numbers[0], max(0.0, numbers[64]) ** 0.5

    def update(self, lr: float, t: int) -> None:
        """Clip and step."""
        first, second = self.optimizer.corrections(t)
        self._update.replay(lr=lr, correction1=first, correction2=second)

    def _record_start(self) -> Any:
        with no_grad(), record() as plan:
            self.optimizer.zero_grad()
            ops.fill(self.stats, value=0.0)
        return plan

    def _record_norm(self) -> Any:
        with no_grad(), record() as plan:
            ops.fill(self.norm, value=0.0)
            ops.accumulate(self.norm, self.optimizer.flat.squared_norm())
        return plan

    def _record_update(self, max_grad_norm: float) -> Any:
        with no_grad(), record(lr="f", correction1="f", correction2="f") as plan:
            if max_grad_norm:
                self.optimizer.flat.clip(self.norm, max_grad_norm)
            self.optimizer.apply(plan["lr"], plan["correction1"], plan["correction2"])
        return plan

    def _record_micro(self, rows: int, width: int, size: int, train: bool) -> Any:
        ids, places, labels = (zeros(s, "i32") for s in ((rows, width), (size,), (size,)))
        self.model.rope.reserve(width)
        with record(n_valid="f", seed="i") as plan:
            self._dropout(plan["seed"] if train else None)
            if train:
                self._train(ids, places, labels, plan["n_valid"])
            else:
                with no_grad():
                    x = self.model.normed_at(self.model.hidden(ids), places)
                    loss, _ = head_loss(self.model.lm_head, x, labels, plan["n_valid"])
                    ops.accumulate(self.loss, loss)
            self._dropout(None)
        return plan, ids, places, labels

    def _train(self, ids: Tensor, places: Tensor, labels: Tensor, n_valid: Any) -> None:
        before = self._held()
        hidden = self.model.hidden(ids, checkpointing=self.checkpointing)
        x = self.model.normed_at(hidden, places)
        del hidden
        self.activations = max(self.activations, self._held() - before)
        loss, grad = head_loss(self.model.lm_head, x.detach(), labels, n_valid)
        with no_grad():
            ops.accumulate(self.loss, loss)
        x.backward(grad)

    def _held(self) -> int:
        return getattr(self.stats.device, "held", int)()

    def _dropout(self, seed: Any) -> None:
        for _, layer in layers(self.model):
            layer._dropout_seed = seed


def _filled(values: array[int], size: int) -> array[int]:
    """Padded with -1, which every kernel takes for nothing."""
    return values + array("i", [-1]) * (size - len(values))
