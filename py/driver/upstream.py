"""Upstream's op-test cases, made once by tests/oracle/upstream_cases.py and kept in .cache."""

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from . import venv
from .paths import CACHE, ROOT, fresh, lock, replace
from .process import run_quiet
from .say import DriverError, say

GENERATOR = ROOT / "tests/oracle/upstream_cases.py"
FOLDER = CACHE / "conformance"
STAGES = ["torch", "executorch"]
Row = dict[str, Any]


def stem(row: Row) -> str:
    return f"{row['op']}__{row['case']}"


def rows() -> list[Row]:
    """Every case of the wheel, made or not."""
    with lock("conformance"):
        _begin()
        manifest = FOLDER / "manifest.json"
        if not manifest.exists():
            run_quiet("conformance", [_python(), GENERATOR, FOLDER, "--list"], "see its last lines")
    return json.loads(manifest.read_text(encoding="utf-8"))


def make(wanted: list[Row], tell: Callable[[int, int, str], None]) -> dict[str, str]:
    """Makes those that are not there; what went wrong, by stem. tell(done, of, what)."""
    with lock("conformance"):
        missing = [row for row in wanted if not _made(row)]
        if not missing:
            return {}
        ops = sorted({row["op"] for row in missing})
        say(f"conformance: exporting {len(missing)} of upstream's cases (once)")
        only = [word for op in ops for word in ("--only", op)]
        return dict(_watch([_python(), GENERATOR, FOLDER, *only], tell))


def _made(row: Row) -> bool:
    return all((FOLDER / f"{stem(row)}.{end}").exists() for end in ("pte", "npz"))


def _python() -> Path:
    return venv.ensure(STAGES, venv.EXECUTORCH)


def _begin() -> None:
    """Forgets what another generator or another wheel made."""
    parts = [GENERATOR, *(venv.PINS / f"{stage}.txt" for stage in STAGES)]
    value = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()
    stamp = FOLDER / "stamp"
    if fresh(stamp, value):
        return
    for old in FOLDER.glob("*"):
        old.unlink()
    replace(stamp, value.encode())


def _watch(
    command: list[str | Path], tell: Callable[[int, int, str], None]
) -> Iterable[tuple[str, str]]:
    """Runs the generator, tells each case it is through with, gives the failures."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    with (
        tempfile.TemporaryFile("w+", errors="replace") as problems,
        subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT, env=environment, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=problems,
        ) as work,
    ):  # fmt: skip
        for line in work.stdout or ():
            done, of, name, _, _, *error = line.rstrip("\n").split(" ", 5)
            tell(int(done), int(of), name)
            if error and error[0]:
                yield name, error[0]
        if work.wait():
            problems.seek(0)
            tail = "\n".join("    " + text for text in problems.read().strip().splitlines()[-12:])
            raise DriverError(f"conformance: the generator ended with {work.returncode}\n{tail}")
