"""Runs a tool quietly and shows its last lines only when it fails. Standard library only."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .paths import ROOT
from .say import DriverError


def run_quiet(
    who: str, command: Sequence[str | Path], todo: str, lines: int = 12, **extra_env: str
) -> str:
    """The tool's output; DriverError with its last lines if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=os.environ | extra_env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        tail = "\n".join("    " + line for line in done.stdout.strip().splitlines()[-lines:])
        name = Path(str(command[0])).name
        raise DriverError(f"{who}: {name} ended with status {done.returncode}; {todo}\n{tail}")
    return done.stdout


def as_root(command: list[str]) -> list[str] | None:
    """The command as root would run it, or None where nobody here is root."""
    if os.name != "posix":
        return None
    if os.geteuid() == 0:
        return command
    try:
        allowed = subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return None
    return ["sudo", "-n", *command] if allowed else None


def apt_install(package: str) -> bool:
    """Installs a Debian package if this is Debian and we may; says whether it went well."""
    if not Path("/usr/bin/apt-get").exists():
        return False
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y"]
    install = as_root([*quiet, "install", "--no-install-recommends", package])
    update = as_root([*quiet, "update"])
    if install is None or update is None:
        return False
    subprocess.run(update, capture_output=True)
    return subprocess.run(install, capture_output=True).returncode == 0
