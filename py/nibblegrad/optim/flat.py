"""Parameters gathered into one buffer, their gradients into another: one dispatch serves all."""

from __future__ import annotations

from math import prod

from .. import ops
from ..core.errors import DTypeError, ShapeError
from ..core.schema import Info
from ..gpu.device import View
from ..tensor import Tensor, no_grad, zeros

ALIGN = 64  # elements: 256 bytes, what a binding's offset needs


class Flat:
    """`params` moved, values kept, into `.data`; each `.grad` a slice of `.grads`. The padding
    between them is zero and stays so."""

    def __init__(self, params: list[Tensor]):
        if not params:
            raise ShapeError("optim: there are no parameters to train; attach LoRA first")
        for p in params:
            if p.dtype.name != "f32":
                raise DTypeError(f"optim: a parameter is {p.dtype}; only f32 can be trained")
        self.params = params
        self.starts: list[int] = []
        total = 0
        for p in params:
            self.starts.append(total)
            total += -(-prod(p.shape) // ALIGN) * ALIGN
        self.data, self.grads = zeros((total,)), zeros((total,))
        with no_grad():
            for p, start in zip(params, self.starts, strict=True):
                self._adopt(p, start)

    def _adopt(self, p: Tensor, start: int) -> None:
        info = Info(p.shape, p.dtype)
        slot = View(self.data._view.storage, 4 * start, info)
        ops.accumulate(Tensor(slot), p.detach())
        p._view = slot
        p.grad = Tensor(View(self.grads._view.storage, 4 * start, info))
        p._grad_in_place = True  # type: ignore[attr-defined]

    def zero_grad(self) -> None:
        """Every gradient to zero."""
        ops.fill(self.grads, value=0.0)

    def squared_norm(self) -> Tensor:
        """The squared norm of all gradients together, rank 0."""
        return ops.sum_squares(self.grads)

    def clip(self, squared: Tensor, max_norm: float) -> None:
        """Scale all gradients in place so that their norm is at most max_norm."""
        ops.clip_grad_norm(self.grads, squared, max_norm=max_norm)
