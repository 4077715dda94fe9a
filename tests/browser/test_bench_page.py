"""A row of build.py bench comes out of the page, with limits, times by timestamps and shares."""

import json

import pytest

from driver import bench
from driver.session import Session

TOLD = {"only": ["^(mm|q4_1) 1x576x1536$"], "routes": False, "tokens": 16, "model": None}


def test_rows_come_out():
    with Session() as session:  # its own page: timestamps are put by wrapping WebGPU's classes
        report = bench.measure(session, TOLD)
    assert json.loads(json.dumps(report)) == report
    assert set(report["limits"]) == {"multiply_add", "tile", "copy"}
    assert all(value > 0 for value in report["limits"].values())
    assert [(row["what"], row["shape"]) for row in report["rows"]] == [
        ("mm", "1x576x1536"), ("q4_1", "1x576x1536"),
    ]  # fmt: skip
    for row in report["rows"]:
        assert "error" not in row
        assert (row["gpu_ms"] is not None) == report["timestamps"]
        assert row["wall_ms"] > 0 and row["route"].startswith("matmul/") and row["peers"] == {}
        ms = row["gpu_ms"] or row["wall_ms"]
        assert row["gflops"] == pytest.approx(2 * 576 * 1536 / ms / 1e6)
        assert row["of_limit"] >= row["gflops"] / report["limits"]["multiply_add"]
