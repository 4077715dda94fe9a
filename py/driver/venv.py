"""Makes .cache/venv, or another, and installs the pinned tools a command needs.

Standard library only.
"""

import hashlib
import importlib.util
import os
import sys
from pathlib import Path

from .paths import CACHE, fresh, lock, replace
from .process import apt_install, run_quiet
from .say import DriverError, say

PINS = Path(__file__).parent / "pins"  # one file a stage: the only place with Python versions
VENV = CACHE / "venv"
EXECUTORCH = CACHE / "venv-executorch"  # 1.5 GB that only conformance needs
ONLINE = "check the network, then run it again"
WHY = {
    "base": "browser driver and wheel builder",
    "check": "linter, pytest, numpy",
    "torch": "torch for the CPU, the tests' oracle: about 200 MB, some minutes",
    "test": "the tests' other oracles: transformers, peft, gguf, tokenizers",
    "executorch": "executorch and torchao, which export programs: about 1 GB, some minutes",
    "node": "node and npm, since this machine has none",
}


def python(venv: Path = VENV) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def ensure(stages: list[str], venv: Path = VENV) -> Path:
    """The venv's Python, with these stages installed; does nothing where the stamps agree."""
    todo = [stage for stage in stages if not fresh(_stamp(stage, venv), _pins(stage))]
    if not todo and python(venv).exists():
        return python(venv)
    with lock():
        if not python(venv).exists():
            _make(venv)
        for stage in todo:
            _install(stage, venv)
    return python(venv)


def _stamp(stage: str, venv: Path) -> Path:
    return venv / f"installed-{stage}"


def _pins(stage: str) -> str:
    return hashlib.sha256((PINS / f"{stage}.txt").read_bytes()).hexdigest()


def _make(venv: Path) -> None:
    if importlib.util.find_spec("ensurepip") is None and not apt_install("python3-venv"):
        raise DriverError(
            f"venv: {sys.executable} has no ensurepip; install python3-venv "
            "(apt install python3-venv) or use another Python, then run it again"
        )
    say(f"build: making .cache/{venv.name} (once)")
    run_quiet("venv", [sys.executable, "-m", "venv", "--clear", venv], "look at its last lines")


def _install(stage: str, venv: Path) -> None:
    if fresh(_stamp(stage, venv), _pins(stage)):  # by another build.py while this one waited
        return
    say(f"build: installing {WHY[stage]} (once)")
    command = [python(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run_quiet("pip", [*command, "-r", PINS / f"{stage}.txt"], ONLINE)
    replace(_stamp(stage, venv), _pins(stage).encode())
