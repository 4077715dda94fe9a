"""Random calls of every op on the host: the guards hold, and the bodies equal torch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
from random_judge import agree, trials
from sampling import expected
from torch_twins import NO_TWIN, TWINS

from nibblegrad.ops.op import CATALOGUE


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


def test_every_op_has_a_twin_or_a_reason():
    assert CATALOGUE.keys() == TWINS.keys() | NO_TWIN.keys(), "add torch's function to torch_twins"
    assert not TWINS.keys() & NO_TWIN.keys()
