"""Makes .cache/venv and installs the pinned tools a command needs. Standard library only."""

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
ONLINE = "check the network, then run it again"
WHY = {
    "base": "browser driver and wheel builder",
    "check": "linter, pytest, numpy",
    "torch": "torch for the CPU, the tests' oracle: about 200 MB, some minutes",
    "test": "the tests' other oracles: transformers, peft, gguf, tokenizers",
    "node": "node and npm, since this machine has none",
}


def python() -> Path:
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def ensure(stages: list[str]) -> Path:
    """The venv's Python, with these stages installed; does nothing where the stamps agree."""
    todo = [stage for stage in stages if not fresh(_stamp(stage), _pins(stage))]
    if not todo and python().exists():
        return python()
    with lock():
        if not python().exists():
            _make()
        for stage in todo:
            _install(stage)
    return python()


def _stamp(stage: str) -> Path:
    return VENV / f"installed-{stage}"


def _pins(stage: str) -> str:
    return hashlib.sha256((PINS / f"{stage}.txt").read_bytes()).hexdigest()


def _make() -> None:
    if importlib.util.find_spec("ensurepip") is None and not apt_install("python3-venv"):
        raise DriverError(
            f"venv: {sys.executable} has no ensurepip; install python3-venv "
            "(apt install python3-venv) or use another Python, then run it again"
        )
    say("build: making .cache/venv (once)")
    run_quiet("venv", [sys.executable, "-m", "venv", "--clear", VENV], "look at its last lines")


def _install(stage: str) -> None:
    if fresh(_stamp(stage), _pins(stage)):  # by another build.py while this one waited
        return
    say(f"build: installing {WHY[stage]} (once)")
    command = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run_quiet("pip", [*command, "-r", PINS / f"{stage}.txt"], ONLINE)
    replace(_stamp(stage), _pins(stage).encode())
