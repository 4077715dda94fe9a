"""Constants as they arrive on the device: shared, converted, or refused."""

import asyncio

import numpy as np
import pytest
from pte_files import DATA

import nibblegrad as ng
from nibblegrad.io.flatbuffer import Span
from nibblegrad.program import constants
from nibblegrad.program.constants import Constants

NUMBERS = [0, 1, -1, 2.5, -70, 126, 3]


def load(path, asked, monkeypatch=None):
    """Tensors of (offset, bytes, dtype, shape), as numpy, and where they lie."""

    async def work():
        dev = await ng.device("host")
        found = Constants(dev, await dev.open_source(str(path)), None, 0)
        made = [await found.load(Span(*a[:2]), *a[2:], "value 7") for a in asked]
        return [await t.numpy() for t in made], [id(t._view.storage) for t in made]

    return asyncio.run(work())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32",
                                   "int64", "uint8", "uint16", "uint32", "bool"])  # fmt: skip
def test_every_dtype_arrives(dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "PIECE", 16)  # several pieces
    want = np.abs(NUMBERS).astype(dtype) if dtype[0] == "u" else np.array(NUMBERS).astype(dtype)
    (tmp_path / "file").write_bytes(b"\0" * 8 + want.tobytes())
    (got,), _ = load(tmp_path / "file", [(8, want.nbytes, dtype, (7,))])
    np.testing.assert_array_equal(got, want)


def test_bfloat16_arrives(tmp_path):
    words = np.array([1.5, -2.0, 0.25], np.float32).view(np.uint32) >> 16
    (tmp_path / "file").write_bytes(words.astype(np.uint16).tobytes())
    (got,), _ = load(tmp_path / "file", [(0, 6, "bfloat16", (3,))])
    np.testing.assert_array_equal(got, [1.5, -2.0, 0.25])


def test_a_number_that_no_gpu_holds_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(np.array([5, 2**31], np.int64).tobytes())
    assert load(tmp_path / "file", [(0, 8, "int64", (1,))])[0][0] == 5
    with pytest.raises(ng.FormatError, match="pte: value 7 holds 2147483648"):
        load(tmp_path / "file", [(0, 16, "int64", (2,))])


def test_a_dtype_without_a_place_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(bytes(8))
    with pytest.raises(ng.FormatError, match="value 7 is uint64; supported: bool uint8"):
        load(tmp_path / "file", [(0, 8, "uint64", (1,))])


def test_equal_parts_of_the_file_are_one(tmp_path):
    (tmp_path / "file").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    asked = [(0, 24, "float32", shape) for shape in ((6,), (2, 3), ())]
    (a, b, c), where = load(tmp_path / "file", asked)
    assert len(set(where)) == 1
    assert (a.shape, b.shape, c.shape) == ((6,), (2, 3), ())


def test_progress_counts_up_to_all_of_it():
    told = []

    async def work():
        await ng.device("host")
        await ng.load_pte(str(DATA / "worked.pte"), progress=lambda n, m: told.append((n, m)))

    asyncio.run(work())
    assert told == sorted(told)
    assert told[-1] == (576, 576)  # two linear constants and one for both equal parameters
