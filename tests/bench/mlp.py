"""The MLP's train step, as each peer's: relu, biases, mean squared error, Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nibblegrad as ng
from nibblegrad.tensor.tensor import empty

SIZES = (64, 512, 2048, 512)  # batch, in, hidden, out


def parameter(*shape: int, bound: float) -> Any:
    """f32, random in (-bound, bound), trained."""
    made = empty(shape)
    ng.ops.uniform(made, -bound, bound, 3, shape[-1])
    made.requires_grad = True
    return made


def step() -> Callable[[], Any]:
    """One train step; call it inside a recording or not."""
    batch, wide, hidden, out = SIZES
    w1, b1 = parameter(hidden, wide, bound=wide**-0.5), parameter(hidden, bound=wide**-0.5)
    w2, b2 = parameter(out, hidden, bound=hidden**-0.5), parameter(out, bound=hidden**-0.5)
    adam = ng.optim.AdamW([w1, b1, w2, b2], lr=1e-3, weight_decay=0.0)
    x, y = empty((batch, wide)), empty((batch, out))
    ng.ops.uniform(x, -1.0, 1.0, 1, 1)
    ng.ops.uniform(y, -1.0, 1.0, 2, 2)

    def run() -> Any:
        adam.zero_grad()
        found = ng.ops.linear(ng.ops.relu(ng.ops.linear(x, w1, b1)), w2, b2)
        with ng.no_grad():
            error = found.detach() - y
            loss = ng.ops.mean(error * error)
            slope = ng.ops.scale(error, s=2 / (batch * out))
        found.backward(slope)
        adam.apply(adam.lr, *adam.corrections(1))
        return loss

    return run
