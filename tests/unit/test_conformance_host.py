"""Upstream's op-test cases on the host device: load_pte and numpy bodies, by upstream's rule."""

import asyncio
from pathlib import Path

import pytest
from upstream_fixture import arrays, program, rows

from driver import conformance, program_page, programs, upstream
from nibblegrad.gpu.host import HostDevice
from nibblegrad.tensor.tensor import set_default_device

ROWS = {upstream.stem(row): row for row in rows()}


def test_every_suite_and_case_of_the_wheel_is_there():
    assert (len({row["op"] for row in ROWS.values()}), len(ROWS)) == (87, 380)
    assert all(arrays(name, "out") for name in ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_host_agrees_with_upstream(name: str, tmp_path: Path):
    set_default_device(HostDevice())
    job = programs.Job(name, program(name, tmp_path), [("forward", arrays(name, "in"))])
    case = {"pte": str(job.program), "data": str(tmp_path / "in"), "out": str(tmp_path / "out")}
    case["runs"] = programs.written(job, tmp_path / "in")
    [answer] = asyncio.run(program_page.run_cases([case]))
    bounds = ROWS[name]["atol"], ROWS[name]["rtol"]
    found = programs.read(answer, tmp_path / "out")
    row = conformance.verdict(found, [arrays(name, "out")], *bounds)
    assert row["passed"], row["why"]
