"""2,000 programs damaged at random, loaded and run: a FormatError or an answer, never a traceback,
never a hang. The seed is that of the random calls, told first and last."""

import asyncio
import time

import pytest
from draws import SEED
from program_cases import cases
from pte_files import RAW
from pte_mutations import NAMES, UNKNOWN, mutations

import nibblegrad as ng
from nibblegrad.core.errors import DeviceError, DTypeError, FormatError, ShapeError
from nibblegrad.io import pte
from nibblegrad.io.pte_tables import JumpFalse

PARTS, EACH = 20, 100
HANG = 20  # seconds of this process' own time
CALLS = {name: [(method, inputs) for method, inputs, _ in cases(name)] for name in NAMES}


def is_fixed(name):
    """No sizes vary, and no number decides what is run."""
    plans = pte.parse(RAW[name], len(RAW[name])).plans.values()
    jumps = any(isinstance(step, JumpFalse) for p in plans for c in p.chains for step in c)
    return not jumps and all(p.values[i].dynamism == "static" for p in plans for i in p.inputs)


FIXED = {name for name in NAMES if is_fixed(name)}


async def ends(name, path):
    """The error that loading and running it ends with."""
    try:
        model = await ng.load_pte(path)
    except FormatError as error:
        return error
    try:
        for method, inputs in CALLS[name]:
            await model.method(method)(*inputs)
    except (FormatError, DeviceError) as error:
        return error
    except (ShapeError, DTypeError) as error:
        # inputs that the program now declares otherwise, or that no longer fit together
        assert ": input " in str(error) or name not in FIXED, error
        return error
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_damaged_program_ends_in_a_format_error_or_runs(part, tmp_path):
    path, refused = tmp_path / "damaged.pte", 0

    async def all_of_them():
        nonlocal refused
        await ng.device("host")
        for number, (kind, name, raw) in enumerate(mutations(EACH, f"{SEED} {part}")):
            path.write_bytes(raw)
            what = f"{kind} of {name}, number {number} of seed {SEED} {part}"
            started = time.process_time()
            try:
                error = await ends(name, str(path))
            except Exception as other:
                raise AssertionError(what) from other
            assert time.process_time() - started < HANG, what
            assert error or kind != "cut", what
            assert kind != "unknown" or UNKNOWN in str(error), f"{what}: {error}"
            refused += isinstance(error, FormatError)

    asyncio.run(all_of_them())
    assert refused > EACH // 2
