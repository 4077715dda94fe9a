"""Random calls of every op on the GPU against torch (where it has none, our body): values, and
gradients against torch's autograd."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import NUMPY

pytest.importorskip("torch")
from random_judge import Trial, agree, learning, slopes_agree, trials

from nibblegrad.ops.op import CATALOGUE

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
        seed = trial.seed
        given = None if seed is None else put(seed, seed.shape, "f32")
        made.append({"args": args, "attrs": trial.draw.attrs, "seed": given})
    return {"op": name, "blob": base64.b64encode(blob + bytes(ALIGN)).decode(), "calls": made}


def array(text: str, dtype: str, shape: tuple) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), NUMPY[dtype]).reshape(shape)


@pytest.mark.parametrize("name", CATALOGUE)
def test_random_calls_on_the_gpu(page, name: str):
    calls = trials(name)
    for trial, answer in zip(calls, page.evaluate_python(PAGE, packed(name, calls)), strict=True):
        assert not isinstance(answer, str), f"{answer}: {trial}"
        op, draw = trial.op, trial.draw
        infos = list(op.infer(draw.infos, draw.attrs).out)
        infos += [draw.infos[op.names.index(n)] for n in op.mutates]
        rows = zip(answer, infos, strict=True)
        found = [array(text, i.dtype.name, i.shape) for text, i in rows]
        agree(trial, found, "gpu")


@pytest.mark.parametrize("name", [n for n, op in CATALOGUE.items() if op.gradient])
def test_random_gradients_on_the_gpu(page, name: str):
    calls = learning(name)
    for trial, answer in zip(calls, page.evaluate_python(PAGE, packed(name, calls)), strict=True):
        assert not isinstance(answer, str), f"{answer}: {trial}"
        rows = zip(answer, trial.values, strict=True)
        found = [None if t is None else array(t, "f32", v.shape) for t, v in rows]
        slopes_agree(trial, found, "gpu")
