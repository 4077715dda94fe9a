"""One booted page a Pyodide version, shared by all tests that ask for it, started at first use; the
seed of this run's random calls, told first and last."""

from collections.abc import Iterator

import pytest
from draws import DRAWS, SEED

from driver.paths import PYODIDE_NUMPY
from driver.session import Session
from nibblegrad.tensor.tensor import _current


@pytest.fixture(autouse=True)
def own_device() -> Iterator[None]:
    """The default device that a test sets is its own: the next one starts with what was there."""
    before = list(_current)
    yield
    _current[:] = before


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
