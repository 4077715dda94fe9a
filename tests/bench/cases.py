"""The bench's cases: what is called, at which size, and what it costs at least."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import nibblegrad as ng
from nibblegrad.core.dtype import DTYPES
from nibblegrad.ops.op import CATALOGUE
from nibblegrad.tensor.tensor import empty

# m x k x n of a product [m, k] @ [k, n]
SHAPES = [
    (1, 576, 1536), (1, 2048, 8192), (1, 8192, 8192), (64, 576, 1536), (128, 576, 49152),
    (256, 2048, 2048), (512, 512, 512), (512, 2048, 2048), (512, 4096, 4096), (1024, 1024, 1024),
]  # fmt: skip
SOFTWARE_FLOP = 1.1e9  # beyond it a software adapter needs seconds
Call = Callable[[], Any]
BLOCKS = {"q4_0": (18, "<e"), "q4_1": (20, "<ee"), "q8_0": (34, "<e")}


@dataclass(frozen=True)
class Case:
    """`make()` gives what is called again and again; `op` is set where that is one operator."""

    what: str
    shape: str
    make: Callable[[], Call]
    flop: float = 0.0
    nbytes: float = 0.0
    peer: tuple[Any, ...] = ()  # a peer's function and its arguments
    one_op: bool = True

    @property
    def name(self) -> str:
        """What --only is matched with."""
        return f"{self.what} {self.shape}"


def uniform(*shape: int) -> Any:
    """f32, random in (-1, 1)."""
    made = empty(shape)
    ng.ops.uniform(made, -1.0, 1.0, 7, math.prod(shape) % 1009)
    return made


def weight(n: int, k: int, kind: str) -> Any:
    """[n, k] in a stored format, of random codes whose values are small."""
    if kind == "f32":
        return uniform(n, k)
    size, head = BLOCKS[kind]
    draw = random.Random(5)
    scales = struct.pack(head, *(0.01, -0.08)[: len(head) - 1])
    some = b"".join(scales + draw.randbytes(size - len(scales)) for _ in range(4096))
    nbytes = DTYPES[kind].nbytes((n, k))
    return empty((n, k), kind).write_((some * (-(-nbytes // len(some))))[:nbytes])


def call(name: str, *args: Any, **attrs: Any) -> Call:
    """One operator of the catalogue on these tensors."""
    op = CATALOGUE[name]
    return lambda: op(*args, **attrs)


def products() -> Iterator[Case]:
    """mm and its gradients, linear by 4-bit weights and its input gradient."""
    for m, k, n in SHAPES:
        shape, flop = f"{m}x{k}x{n}", 2.0 * m * k * n
        wide = 4.0 * (m * k + k * n + m * n)
        q4 = 4.0 * (m * k + m * n) + DTYPES["q4_1"].nbytes((n, k))
        yield Case("mm", shape, partial(_mm, m, k, n), flop, wide, ("matmul", m, k, n))
        yield Case("mm grad a", shape, partial(_grad_a, m, k, n), flop, wide)
        yield Case("dW", shape, partial(_weight_grad, m, k, n), flop, wide)
        yield Case("q4_1", shape, partial(_linear, m, k, n), flop, q4, ("q4", m, k, n))
        yield Case("q4_1 grad x", shape, partial(_grad_x, m, k, n), flop, q4)


def _mm(m: int, k: int, n: int) -> Call:
    return call("mm", uniform(m, k), uniform(k, n))


def _grad_a(m: int, k: int, n: int) -> Call:
    return call("linear", uniform(m, n), uniform(k, n))  # as mm's gradient calls it


def _weight_grad(m: int, k: int, n: int) -> Call:
    return call("linear_dW", uniform(m, n), uniform(m, k))


def _linear(m: int, k: int, n: int) -> Call:
    return call("linear", uniform(m, k), weight(n, k, "q4_1"))


def _grad_x(m: int, k: int, n: int) -> Call:
    return call("linear_grad_x", uniform(m, n), weight(n, k, "q4_1"))


def losses() -> Iterator[Case]:
    """Cross-entropy and its gradient, in one pass over each row."""
    rows, classes = 128, 49152

    def make() -> Call:
        labels = ng.tensor([(i * 7919) % classes for i in range(rows)], "i32")
        return call("fused_ce_rows", uniform(rows, classes), labels, n_valid=float(rows))

    moved = 2 * 4.0 * rows * classes
    yield Case("cross-entropy", f"{rows}x{classes}", make, 0.0, moved, ("loss", rows, classes))


def attentions() -> Iterator[Case]:
    """Causal attention of SmolLM2-135M's head count and size, three key heads."""
    b, t, h, e, g = 1, 512, 9, 64, 3
    shape, flop = f"{b}x{t}x{h}x{e}", 2.0 * b * h * t * t * e  # two products, half of it masked
    scale = 1 / math.sqrt(e)

    def forward() -> Call:
        q, k, v = uniform(b, t, h, e), uniform(b, t, g, e), uniform(b, t, g, e)
        return call("attention", q, k, v, scale=scale)

    def backward() -> Call:
        q, k, v = uniform(b, t, h, e), uniform(b, t, g, e), uniform(b, t, g, e)
        out, lse = CATALOGUE["attention"](q, k, v, scale=scale)
        grad = uniform(b, t, h, e)

        def run() -> Any:
            dq, delta = CATALOGUE["attention_grad_q"](grad, out, lse, q, k, v, scale=scale)
            return dq, CATALOGUE["attention_grad_kv"](grad, lse, delta, q, k, v, scale=scale)

        return run

    moved = 4.0 * b * t * e
    yield Case("attention", shape, forward, flop, moved * (2 * h + 2 * g))
    yield Case("attention grad", shape, backward, 3.5 * flop, moved * (4 * h + 4 * g),
               one_op=False)  # fmt: skip


def steps() -> Iterator[Case]:
    """A step of Adam on a two-layer perceptron: forward, mean squared error, back, update."""
    from .mlp import SIZES, step

    batch, wide, hidden, out = SIZES
    weights = wide * hidden + hidden * out
    yield Case("mlp step", f"{batch}x{wide}-{hidden}-{out}", step,
               2.0 * batch * (2 * weights + hidden * out), 7 * 4.0 * weights, ("mlp", *SIZES),
               one_op=False)  # fmt: skip


def every() -> list[Case]:
    """All of them, in the order they run."""
    return [*products(), *losses(), *attentions(), *steps()]
