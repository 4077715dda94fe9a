"""Random calls of every op on the GPU against torch: values, and gradients by torch's autograd."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import NUMPY

pytest.importorskip("torch")
from random_judge import Trial, agree, trials
from torch_twins import TWINS

PAGE = Path(__file__).with_name("random_page.py").read_text()
ALIGN = 256  # of a buffer's offset in a binding


def packed(name: str, calls: list[Trial]) -> dict[str, Any]:
    """All calls of an op, their arrays in one buffer."""
    blob, made = bytearray(), []

    def put(value: np.ndarray, shape: tuple, dtype: str) -> dict[str, Any]:
        at = len(blob)
        blob.extend(value.tobytes())
        blob.extend(bytes(-len(blob) % ALIGN))
        return {"shape": shape, "dtype": dtype, "at": at}

    for trial in calls:
        rows = zip(trial.values, trial.draw.infos, strict=True)
        args = [None if i is None else put(v, i.shape, i.dtype.name) for v, i in rows]
        made.append({"args": args, "attrs": trial.draw.attrs, "seed": None})
    return {"op": name, "blob": base64.b64encode(blob + bytes(ALIGN)).decode(), "calls": made}


@pytest.mark.parametrize("name", TWINS)
def test_random_calls_on_the_gpu(page, name: str):
    calls = trials(name)
    for trial, answer in zip(calls, page.evaluate_python(PAGE, packed(name, calls)), strict=True):
        assert not isinstance(answer, str), f"{answer}: {trial}"
        op, draw = trial.op, trial.draw
        infos = list(op.infer(draw.infos, draw.attrs).out)
        infos += [draw.infos[op.names.index(n)] for n in op.mutates]
        raw = zip(answer, infos, strict=True)
        found = [np.frombuffer(base64.b64decode(t), NUMPY[i.dtype.name]).reshape(i.shape)
                 for t, i in raw]  # fmt: skip
        agree(trial, found, "gpu")
