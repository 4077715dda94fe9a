"""build.py check, test and wheel."""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import fetch, npm, site, sizes
from .paths import NODE_MODULES, ROOT
from .say import DriverError, say

LINTED = ["build.py", "py", "tests", "web"]
HOST_TESTS = ["tests/unit", "tests/catalogue"]


def main(options: argparse.Namespace) -> int:
    return {"check": check, "test": test, "wheel": wheel}[options.command](options)


def wheel(_: argparse.Namespace) -> int:
    print(site.build_wheel())
    return 0


def test(options: argparse.Namespace) -> int:
    """Everything, browser included; builds first, so that no test's time is spent on it."""
    site.build(numpy=True)
    fetch.model()
    return _python("-m", "pytest", *options.rest)


def check(options: argparse.Namespace) -> int:
    """The fast gate; every part runs, so that all that is wrong is told at once."""
    npm.ensure()
    if options.fix:
        _python("-m", "ruff", "check", "--fix-only", "--quiet", *LINTED)
        _python("-m", "ruff", "format", "--quiet", *LINTED)
        _npm("prettier", "--write", "--log-level=warn", "web")
    tests = [name for name in HOST_TESTS if (ROOT / name).is_dir()]
    brief = ["--quiet", "--output-format=concise"]
    parts: dict[str, Callable[[], int]] = {
        "format": lambda: _python("-m", "ruff", "format", "--check", *brief, *LINTED),
        "lint": lambda: _python("-m", "ruff", "check", *brief, *LINTED),
        "types": lambda: _npm("pyright", "--pythonpath", sys.executable),
        "js types": lambda: _npm("tsc", "-p", "web/jsconfig.json"),
        "js format": lambda: _npm("prettier", "--check", "--log-level=warn", "web"),
        "sizes": lambda: int(sizes.report()),
        "tests": lambda: _python("-m", "pytest", "-q", "-m", "not slow", *tests),
    }
    failed = [name for name, part in parts.items() if _timed(name, part)]
    if failed:
        say(f"check: failed: {', '.join(failed)}")
    return 1 if failed else 0


def _timed(name: str, part: Callable[[], int]) -> bool:
    start = time.monotonic()
    bad = bool(part())
    print(f"{'FAIL' if bad else 'ok':<5}{name:<10}{time.monotonic() - start:6.1f} s", flush=True)
    return bad


def _python(*arguments: str | Path) -> int:
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=ROOT).returncode


def _npm(name: str, *arguments: str) -> int:
    if not (NODE_MODULES / ".bin" / name).exists():
        raise DriverError(f"check: npm brought no {name}; remove node_modules and run it again")
    try:
        npm.tool(name, name, *arguments, lines=40)
    except DriverError as problem:
        print(problem)
        return 1
    return 0
