"""The WebGPU kernels against ExecuTorch's own outputs, every case in one call an op."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path

import et_vk
import numpy as np
import pytest
from upstream import CASES, check, narrowed, wanted

HERE = Path(__file__).parent
PAGE = (
    (HERE.parent / "catalogue" / "upstream_calls.py").read_text()
    + """
import base64
import nibblegrad as ng
from nibblegrad.tensor.tensor import empty

await ng.device("webgpu")


def made(a):
    return empty(a["shape"], a["dtype"]).write_(base64.b64decode(a["data"]))


answer = []
for case in data:
    inputs = {name: made(a) for name, a in case["inputs"].items()}
    outs = CALLS[case["op"]](ng.ops, inputs, case["attrs"])
    answer.append([base64.b64encode(await out.tobytes()).decode() for out in outs])
answer
"""
)
DTYPES = {"float32": "f32", "int32": "i32", "uint8": "u8", "int8": "i8"}


def packed(case: et_vk.Case) -> dict:
    inputs = {}
    for name, value in case.inputs.items():
        value = narrowed(value)
        text = base64.b64encode(value.tobytes()).decode()
        inputs[name] = {"shape": value.shape, "dtype": DTYPES[value.dtype.name], "data": text}
    return {"op": case.name.split("/")[0], "attrs": case.attrs, "inputs": inputs}


@cache
def answers(session, op: str) -> list:
    return session.evaluate_python(PAGE, [packed(c) for c in et_vk.cases(op)])


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_kernel_equals_upstream(page, case: et_vk.Case):
    op = case.name.split("/")[0]
    number = [c.name for c in et_vk.cases(op)].index(case.name)
    got = []
    for text, theirs in zip(answers(page, op)[number], wanted(case), strict=True):
        flat = np.frombuffer(base64.b64decode(text), theirs.dtype)
        rows = theirs.shape[0] if theirs.ndim else 1
        got.append(flat.reshape(rows, -1) if op in ("pack_q4gsw", "q4gsw_requant") else flat)
    check(case, got)
