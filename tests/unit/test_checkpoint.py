"""checkpoint: the plain call's gradients to the last bit, less kept; the head's loss in runs."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import nibblegrad as ng
from nibblegrad import ops
from nibblegrad.gpu.counting import CountingDevice
from nibblegrad.gpu.host import HostDevice
from nibblegrad.nn import Linear, head_loss
from nibblegrad.nn.loss import LOGITS_BYTES
from nibblegrad.tensor import checkpoint
from nibblegrad.tensor.tensor import set_default_device


@pytest.fixture(autouse=True)
def host():
    set_default_device(HostDevice())


def bits(t: ng.Tensor) -> bytes:
    return asyncio.run(t.tobytes())


def leaf(shape: tuple[int, ...], seed: int) -> ng.Tensor:
    rng = np.random.default_rng(seed)
    return ng.tensor(rng.standard_normal(shape).astype(np.float32), requires_grad=True)


def block(x, w, seed):
    """A residual step with dropout: x is used twice, w is a parameter."""
    return x + ops.dropout(ops.silu(ops.linear(x, w)), 0.25, seed, 3)


def plain(fn, *args):
    return fn(*args)


def walked(run, weights, x, seed) -> ng.Tensor:
    y = x
    for w in weights:
        y = run(block, y, w, seed)
    y.backward(leaf((5, 8), 4).detach())
    return y


def gradients(run, learn_x: bool, seed: int = 7) -> list[bytes]:
    weights, x = [leaf((8, 8), 2), leaf((8, 8), 3)], leaf((5, 8), 1)
    x.requires_grad = learn_x
    y = walked(run, weights, x, seed)
    return [bits(y), *(bits(t.grad) for t in [*weights, *([x] if learn_x else [])])]


@pytest.mark.parametrize("learn_x", [True, False])
def test_gradients_are_the_plain_calls(learn_x: bool):
    assert gradients(checkpoint, learn_x) == gradients(plain, learn_x)


def test_recorded_and_replayed():
    """In a plan, with a dropout seed that moves: each replay equals the plain eager run."""
    weights, x, g = [leaf((8, 8), 2), leaf((8, 8), 3)], leaf((5, 8), 1), leaf((5, 8), 4).detach()
    with ng.record(seed="i") as plan:
        y = x
        for w in weights:
            y = checkpoint(block, y, w, plan["seed"])
        y.backward(g)
    for seed in (5, 6):
        plan.replay(seed=seed)
        got = [bits(y), *(bits(t.grad) for t in [*weights, x])]
        assert got == gradients(plain, True, seed)


def test_several_outputs_and_other_arguments():
    """A tuple of outputs of which one is unused, None and numbers passed through."""

    def pair(x, nothing, k):
        assert nothing is None
        return ops.scale(x, s=k), x * x

    x = leaf((3,), 1)
    _, square = checkpoint(pair, x, None, 2.0)
    square.backward(ng.tensor([1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(asyncio.run(x.grad.numpy()), 2 * asyncio.run(x.numpy()))


def test_nothing_to_learn_stays_off_the_tape():
    x = leaf((3,), 1).detach()
    assert not checkpoint(ops.silu, x).requires_grad
    with ng.no_grad():
        assert not checkpoint(ops.silu, leaf((3,), 1)).requires_grad


def test_walked_back_once():
    x = leaf((3,), 1)
    y = checkpoint(ops.silu, x)
    y.backward(x.detach())
    with pytest.raises(ng.PlanError, match="already walked back"):
        y.backward(x.detach())


def test_less_is_kept():
    """Counted while recording: of four blocks the tape keeps the inputs, one [5, 8] each."""

    def kept(run) -> int:
        dev = CountingDevice({"maxBufferSize": 1 << 30}, None)
        set_default_device(dev)
        weights, x = [leaf((8, 8), i) for i in range(4)], leaf((5, 8), 9)
        with ng.record():
            y = x
            for w in weights:
                y = run(block, y, w, 7)
            held = dev.held()
        assert y.requires_grad
        return held

    assert kept(checkpoint) == 4 * 256 < kept(plain)


@pytest.mark.parametrize("most", [1 << 20, 64 * 9 * 4, 1])
def test_head_in_runs_of_rows(most: int):
    """150 rows at once, and in runs of 64: loss and gradient as numpy has them."""
    rng = np.random.default_rng(3)
    w = rng.standard_normal((9, 16)).astype(np.float32)
    x = rng.standard_normal((150, 16)).astype(np.float32)
    labels = rng.integers(-1, 9, 150).astype(np.int32)
    head = Linear(ng.tensor(w))
    loss, dx = head_loss(head, ng.tensor(x), ng.tensor(labels), 11.0, most)
    logits = (x @ w.T).astype(np.float64)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    ok = labels >= 0
    want = -np.log(p[np.arange(150), labels])[ok].sum() / 11
    p[np.arange(150), labels] -= 1
    assert abs(asyncio.run(loss.item()) - want) < 1e-5 * want
    np.testing.assert_allclose(
        asyncio.run(dx.numpy()), (p * ok[:, None] / 11) @ w, rtol=1e-4, atol=1e-6
    )
    with ng.no_grad():
        assert head_loss(head, ng.tensor(x), ng.tensor(labels), 11.0, most)[1] is None


def test_logits_are_never_whole():
    """No buffer of a head's loss over 4,096 rows of 50,000 classes is above the bound."""
    dev = CountingDevice({"maxBufferSize": 1 << 40}, None)
    set_default_device(dev)
    head = Linear(ng.tensor(np.zeros((50000, 8), np.float32)))
    x, labels = ng.tensor(np.zeros((4096, 8), np.float32)), ng.tensor([0] * 4096)
    with ng.record(n_valid="f") as plan:
        head_loss(head, x, labels, plan["n_valid"])
    assert max(dev.arena()) <= LOGITS_BYTES < 4096 * 50000 * 4
    assert sum(dev.arena()) < 2.5 * LOGITS_BYTES
