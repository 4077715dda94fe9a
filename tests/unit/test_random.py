"""Random calls of every op on the host: the guards hold, and the bodies equal torch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
from double import DoubleHost, as_double, ordered, to_tensor
from random_judge import agree, learning, slopes_agree, trials
from sampling import expected
from torch_twins import NO_TWIN, TWINS

from nibblegrad.ops.op import CATALOGUE
from nibblegrad.tensor.tensor import set_default_device


@pytest.mark.parametrize("name", CATALOGUE)
def test_random_calls_equal_torch(name: str):
    for trial in trials(name):
        op, draw = trial.op, trial.draw
        try:
            found = [np.asarray(o) for o in expected(op, draw.infos, trial.values, draw.attrs)]
        except Exception as error:
            raise AssertionError(f"the guards took, the body did not: {trial}") from error
        shapes = [i.shape for i in op.infer(draw.infos, draw.attrs).out]
        assert [o.shape for o in found[: len(shapes)]] == shapes, trial
        if name in TWINS:
            agree(trial, found, "host")


@pytest.mark.parametrize("name", [n for n, op in CATALOGUE.items() if op.gradient])
def test_random_gradients_equal_torch(name: str):
    for trial in learning(name):
        dev = DoubleHost()
        set_default_device(dev)
        infos = trial.draw.infos
        wide = as_double(trial.op, infos, trial.values)
        given = [to_tensor(dev, v, i) for v, i in zip(wide, infos, strict=True)]
        for t in given:
            if t is not None and t.dtype.kind == "f":
                t.requires_grad = True
        out = trial.op(*ordered(trial.op, given, trial.draw.attrs))
        out = out[0] if isinstance(out, tuple) else out
        seed = to_tensor(dev, trial.seed.astype(np.float64), out._view.info)
        out.backward(seed)
        found = [None if t is None or t.grad is None else dev.array(t.grad._view) for t in given]
        slopes_agree(trial, found, "host", 1e-8)


def test_every_op_has_a_twin_or_a_reason():
    assert CATALOGUE.keys() == TWINS.keys() | NO_TWIN.keys(), "add torch's function to torch_twins"
    assert not TWINS.keys() & NO_TWIN.keys()
