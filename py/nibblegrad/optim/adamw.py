"""AdamW, decoupled weight decay (arXiv 1711.05101), with torch.optim.AdamW's defaults."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..tensor import Tensor, no_grad, zeros
from .flat import Flat


class AdamW:
    """Trains `params` in place. The learning rate and step may be a plan's step symbols."""

    def __init__(
        self,
        params: list[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ):
        self.flat = Flat(params)
        self.lr, self.betas, self.eps, self.weight_decay = lr, betas, eps, weight_decay
        self.m, self.v = zeros(self.flat.data.shape), zeros(self.flat.data.shape)
        self.t = 0

    def zero_grad(self) -> None:
        """Every gradient to zero."""
        self.flat.zero_grad()

    def corrections(self, t: int) -> tuple[float, float]:
        """1 - beta ** t of both betas, t from 1."""
        return 1 - self.betas[0] ** t, 1 - self.betas[1] ** t

    def step(self) -> None:
        """One eager step with self.lr."""
        self.t += 1
        self.apply(self.lr, *self.corrections(self.t))

    def apply(self, lr: Any, correction1: Any, correction2: Any) -> None:
        """One step with these numbers or step symbols."""
        with no_grad():
            ops.adamw_step(
                self.flat.data, self.m, self.v, self.flat.grads, lr, *self.betas, self.eps,
                self.weight_decay, correction1, correction2,
            )  # fmt: skip
