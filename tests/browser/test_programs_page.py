"""Programs on the GPU: torch's answers, twice from each recorded plan, without numpy."""

from __future__ import annotations

import numpy as np
import pytest
from draws import DRAWS, SEED
from program_cases import NAMES, cases
from pte_files import DATA
from pte_mutations import KINDS, UNKNOWN, mutations

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

DAMAGED = """
import nibblegrad as ng
from nibblegrad.core.errors import NibblegradError
await ng.device("webgpu")


async def end(file, calls):
    try:
        model = await ng.load_pte(file)
    except ng.FormatError as error:
        return f"refused: {error}"
    try:
        for method, inputs in calls:
            for x in await model.method(method)(*inputs):
                x = await x.tolist() if isinstance(x, ng.Tensor) else x
    except NibblegradError as error:
        return f"{type(error).__name__}: {error}"
    return "ran"


answer = [await end(*pair) for pair in data]
answer
"""
EACH = max(DRAWS // 16, 6)  # of each kind of damage


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_torchs_answers(page, name: str):
    found = list(cases(name))
    repeated = found if "state" in name else [case for case in found for _ in range(2)]
    calls = [[method, [x.tolist() for x in inputs]] for method, inputs, _ in repeated]
    data = {"file": page.add_file(DATA / f"{name}.pte"), "calls": calls}
    for got, (_, _, wanted) in zip(page.evaluate_python(PAGE, data), repeated, strict=True):
        for x, want in zip(got, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(x), want, rtol=1e-4, atol=1e-5)


def test_the_page_outlives_damaged_programs(page, tmp_path):
    made = mutations(EACH * len(KINDS), f"{SEED} page")
    data = []
    for number, (_, name, raw) in enumerate(made):
        path = tmp_path / f"damaged{number}.pte"
        path.write_bytes(raw)
        calls = [[method, [x.tolist() for x in inputs]] for method, inputs, _ in cases(name)]
        data.append([page.add_file(path), calls])
    ends = page.evaluate_python(DAMAGED, data, 300)
    for (kind, name, _), end in zip(made, ends, strict=True):
        what = f"{kind} {name}: {end}"
        assert kind not in ("cut", "unknown") or end.startswith("refused: "), what
        assert kind != "unknown" or UNKNOWN in end, what
    test_a_program_gives_torchs_answers(page, "worked")
