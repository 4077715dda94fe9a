"""Programs on the GPU: torch's answers, twice from each recorded plan, without numpy."""

from __future__ import annotations

import numpy as np
import pytest
from program_cases import NAMES, cases
from pte_files import DATA

PAGE = """
import nibblegrad as ng
await ng.device("webgpu")
model = await ng.load_pte(data["file"])


async def value(x):
    return await x.tolist() if isinstance(x, ng.Tensor) else x


answer = []
for method, inputs in data["calls"]:
    outs = await model.method(method)(*inputs)
    answer.append([await value(x) for x in outs])
answer
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_torchs_answers(page, name: str):
    found = list(cases(name))
    repeated = found if "state" in name else [case for case in found for _ in range(2)]
    calls = [[method, [x.tolist() for x in inputs]] for method, inputs, _ in repeated]
    data = {"file": page.add_file(DATA / f"{name}.pte"), "calls": calls}
    for got, (_, _, wanted) in zip(page.evaluate_python(PAGE, data), repeated, strict=True):
        for x, want in zip(got, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(x), want, rtol=1e-4, atol=1e-5)
