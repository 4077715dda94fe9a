"""One booted page a Pyodide version, shared by all tests that ask for it, started at first use."""

from collections.abc import Iterator

import pytest

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
