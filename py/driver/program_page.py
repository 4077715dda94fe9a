"""Runs in the page: programs over files of inputs; the tests run it on the host device too.

A case is {"pte", "data", "out", "runs": [{"method", "inputs": [{"shape", "dtype"}, ...]}, ...]}:
`data` is a file with the inputs of all runs in a row, `out` gets the outputs in a row.
"""

import time
from math import prod

import nibblegrad as ng
from nibblegrad.io.pte_tables import Tensor as Declared
from nibblegrad.tensor.tensor import empty


async def given(file, about, declared):
    """The next input of the file: a tensor, or a number where the program takes one."""
    made = empty(about["shape"], about["dtype"])
    made.write_(file.read(made.nbytes))
    return made if isinstance(declared, Declared) else await made.item()


async def written(file, value):
    """Puts an output into the file and tells what it is."""
    if not isinstance(value, ng.Tensor):
        return {"shape": [], "dtype": "value", "value": value}
    if prod(value.shape):
        file.write(await value.tobytes())
    return {"shape": list(value.shape), "dtype": value.dtype.name}


async def run_case(case):
    """What each run gave, and the seconds of the loading and of all runs."""
    start = time.monotonic()
    program = await ng.load_pte(case["pte"])
    loaded, answers = time.monotonic(), []
    with open(case["data"], "rb") as source, open(case["out"], "wb") as sink:
        for run in case["runs"]:
            method = program.method(run["method"])
            takes = [method.plan.values[i] for i in method.plan.inputs]
            if len(takes) != len(run["inputs"]):
                raise ValueError(f"takes {len(takes)} inputs, got {len(run['inputs'])}")
            inputs = [await given(source, about, declared)
                      for about, declared in zip(run["inputs"], takes, strict=True)]  # fmt: skip
            outs = await method(*inputs)
            answers.append([await written(sink, value) for value in outs])
    return {"outs": answers, "load_s": loaded - start, "run_s": time.monotonic() - loaded}


async def run_cases(cases):
    """Each case by itself: what one cannot do is told in its place."""
    answers = []
    for case in cases:
        try:
            answers.append(await run_case(case))
        except Exception as problem:
            answers.append({"error": f"{type(problem).__name__}: {problem}"})
    return answers
