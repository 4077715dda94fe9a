"""set_float32_matmul_precision: torch's words, and which routes they open."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

import nibblegrad as ng
from nibblegrad.core.dtype import DTYPES
from nibblegrad.core.schema import Info
from nibblegrad.ops.op import CATALOGUE, Caps
from nibblegrad.tensor.tensor import caps_of

INFO = {"vendor": "nvidia", "architecture": "", "description": "", "fallback": False,
        "language": [], "subgroups": True, "matrix": True,
        "limits": {"maxComputeInvocationsPerWorkgroup": 256,
                   "maxComputeWorkgroupStorageSize": 32768}}  # fmt: skip


@pytest.fixture(autouse=True)
def restored():
    yield
    ng.set_float32_matmul_precision("highest")


def kernel(caps: Caps) -> str:
    op = CATALOGUE["linear"]
    x, w = Info((512, 64), DTYPES["f32"]), Info((256, 64), DTYPES["q4_1"])
    return op.select(op.infer([x, w, None], {}), caps).kernel


@pytest.mark.parametrize("word", ["highest", "high"])
def test_exact_words_keep_f32(word: str):
    ng.set_float32_matmul_precision(word)
    assert ng.get_float32_matmul_precision() == word
    assert kernel(caps_of(INFO)) == "matmul/linear_shared"


def test_medium_takes_matrices_where_there_are_some():
    ng.set_float32_matmul_precision("medium")
    assert kernel(caps_of(INFO)) == "matmul/linear_matrix"
    assert kernel(caps_of({**INFO, "matrix": False})) == "matmul/linear_shared"
    small = {**INFO["limits"], "maxComputeWorkgroupStorageSize": 16384}
    assert kernel(caps_of({**INFO, "limits": small})) == "matmul/linear_shared"


def test_an_open_device_hears_of_it():
    dev = asyncio.run(ng.device("host"))
    dev.caps = Caps(matrix=True)
    try:
        ng.set_float32_matmul_precision("medium")
        assert dev.caps == replace(Caps(matrix=True), precision="medium")
    finally:
        del dev.caps


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="must be 'highest', 'high' or 'medium', got 'low'"):
        ng.set_float32_matmul_precision("low")
    assert ng.get_float32_matmul_precision() == "highest"
