"""The numpy bodies against ExecuTorch's own outputs."""

from __future__ import annotations

import asyncio

import et_vk
import pytest
from upstream import CALLS, CASES, check, narrowed

import nibblegrad as ng
from nibblegrad.gpu.host import HostDevice
from nibblegrad.tensor.tensor import set_default_device


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_body_equals_upstream(case: et_vk.Case):
    async def run():
        set_default_device(HostDevice())
        inputs = {k: ng.tensor(narrowed(v)) for k, v in case.inputs.items()}
        outs = CALLS[case.name.split("/")[0]](ng.ops, inputs, case.attrs)
        return [await out.numpy() for out in outs]

    check(case, asyncio.run(run()))
