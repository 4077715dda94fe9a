"""One booted page a Pyodide version, shared by all tests that ask for it, started at first use; the
seed of this run's random calls, told first and last."""

from collections.abc import Iterator

import pytest
from draws import DRAWS, SEED

from driver.paths import PYODIDE_NUMPY
from driver.session import Session


@pytest.fixture(scope="session")
def page() -> Iterator[Session]:
    """The main Pyodide, without numpy."""
    with Session() as session:
        yield session


@pytest.fixture(scope="session")
def page_numpy() -> Iterator[Session]:
    """The oldest supported Pyodide, with its numpy."""
    with Session(pyodide=PYODIDE_NUMPY) as session:
        yield session


def _again() -> str:
    return f"random calls: NIBBLEGRAD_SEED={SEED} NIBBLEGRAD_DRAWS={DRAWS} draw them again"


def pytest_report_header() -> str:
    return _again()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(_again())
