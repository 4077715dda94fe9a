"""Where things lie, and the versions of Pyodide. Standard library only."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .say import say

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
SITE = CACHE / "site"
MODELS = CACHE / "models"
NODE_MODULES = ROOT / "node_modules"

PYODIDE = "314.0.7"  # the main version
PYODIDE_NUMPY = "0.27.7"  # the oldest supported; the one with numpy
PYODIDE_FOLDER = {PYODIDE: "pyodide", PYODIDE_NUMPY: "pyodide-0.27.7"}  # npm's name and ours

_held: set[str] = set()


@contextlib.contextmanager
def lock(name: str = "prepare") -> Iterator[None]:
    """One preparation at a time; another build.py waits here, this one may enter twice."""
    if name in _held:
        yield
        return
    CACHE.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack, open(CACHE / f"{name}.lock", "w") as file:
        with contextlib.suppress(ImportError):  # Windows has none: two at once are on their own
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("build: another build.py is preparing; waiting for it")
                fcntl.flock(file, fcntl.LOCK_EX)
        _held.add(name)
        stack.callback(_held.discard, name)
        yield


def replace(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing, also beside a reader."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(path)


def fresh(stamp: Path, value: str) -> bool:
    """Whether the work that ends in this stamp was done for this very input."""
    return stamp.is_file() and stamp.read_text() == value
