"""Upstream's op-test cases in the page, as build.py conformance runs them, from the fixture."""

import pytest
from upstream_fixture import arrays, program, rows

from driver import conformance, programs, upstream

ROWS = {upstream.stem(row): row for row in rows()}


@pytest.fixture(scope="session")
def verdicts(page, tmp_path_factory) -> dict:
    """All cases, in a few calls; the page is the tests' own, so it isn't closed after a fault."""
    folder = tmp_path_factory.mktemp("programs")
    jobs = [
        programs.Job(name, program(name, folder), [("forward", arrays(name, "in"))])
        for name in ROWS
    ]
    found = {}
    with programs.Runner(lambda: page, close=False) as runner:
        for job, answer in runner.run(jobs):
            bounds = ROWS[job.name]["atol"], ROWS[job.name]["rtol"]
            found[job.name] = conformance.verdict(answer, [arrays(job.name, "out")], *bounds)
    return found


@pytest.mark.parametrize("name", ROWS)
def test_page_agrees_with_upstream(verdicts, name: str):
    assert verdicts[name]["passed"], verdicts[name]["why"]
