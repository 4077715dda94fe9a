"""Programs with random changes: an error for people or an answer, never a traceback or a hang."""

import asyncio
import random
import time

import pytest
from program_cases import cases
from pte_files import RAW, rebuilt, tables, thawed

import nibblegrad as ng
from nibblegrad.core.errors import NibblegradError
from nibblegrad.program.bindings import bindings

BOUND = sorted(name.rpartition(".") for name in bindings())
NUMBERS = [0, 1, -1, 2, 3, 7]


def leaves(x, path=()):
    """Where a number, a text or a list is."""
    if isinstance(x, (dict, list)):
        if x and isinstance(x, list):
            yield path
        for key, value in x.items() if isinstance(x, dict) else enumerate(x):
            if key != "is":
                yield from leaves(value, (*path, key))
    elif isinstance(x, (int, float, str)):
        yield path


def change(root, rng):
    """One value becomes another, one list loses, gains or reorders its entries."""
    path = rng.choice([p for p in leaves(root) if "execution_plan" in p] or [("version",)])
    holder = root
    for key in path[:-1]:
        holder = holder[key]
    key, value = path[-1], holder[path[-1]]
    if isinstance(value, list):
        {0: value.pop, 1: lambda: value.append(value[0]), 2: value.reverse}[rng.randrange(3)]()
    elif path[-1] in ("name", "overload") and "operators" in path:
        name, _, holder["overload"] = rng.choice(BOUND)
        holder["name"] = name.replace(".", "::")
    elif isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = rng.choice([*NUMBERS, value + 1])
    elif isinstance(value, float):
        holder[key] = rng.choice([0.0, -1.5, 1e308, float("nan")])


@pytest.mark.parametrize("seed", range(8))
def test_changed_programs_are_refused_or_run(seed, tmp_path):
    rng, path, ran = random.Random(seed), tmp_path / "changed.pte", 0

    async def one(name, raw):
        path.write_bytes(raw)
        model = await ng.load_pte(str(path))
        for method, inputs, _ in cases(name):
            await model.method(method)(*inputs)

    async def all_of_them():
        await ng.device("host")
        for _ in range(40):
            name = rng.choice(sorted(RAW))
            root = thawed(tables(RAW[name]))
            for _ in range(rng.choice([1, 1, 2, 4])):
                change(root, rng)
            try:
                raw = rebuilt(RAW[name], root)
            except Exception:  # a number that its field cannot hold
                continue
            started = time.monotonic()
            try:
                await one(name, raw)
            except NibblegradError as error:
                assert str(error)
            assert time.monotonic() - started < 60
            nonlocal ran
            ran += 1

    asyncio.run(all_of_them())
    assert ran > 20
