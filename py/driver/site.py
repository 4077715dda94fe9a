"""Builds the wheel and the page into .cache/site/, each only when its sources changed."""

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import fetch, npm
from .paths import (
    CACHE,
    NODE_MODULES,
    PYODIDE,
    PYODIDE_FOLDER,
    PYODIDE_NUMPY,
    ROOT,
    SITE,
    fresh,
    lock,
    replace,
)
from .process import run_quiet
from .say import DriverError, say

PYODIDE_FILES = ["pyodide.mjs", "pyodide.asm.*", "python_stdlib.zip", "pyodide-lock.json"]
LOOK = "see the lines below"


def build(numpy: bool = False) -> Path:
    """The wheel and all the page needs; numpy's wheel too where asked."""
    npm.ensure()
    wheel = build_wheel()
    with lock():
        _page()
        _pyodide(numpy)
    return wheel


def build_wheel() -> Path:
    """The wheel, in .cache/site/."""
    value = _hash([ROOT / "pyproject.toml", ROOT / "py/nibblegrad", ROOT / "shaders"])
    with lock():
        stamp = CACHE / "wheel.stamp"
        if not fresh(stamp, value) or _wheel() is None:
            _make_wheel()
            replace(stamp, value.encode())
    wheel = _wheel()
    if wheel is None:
        raise DriverError(f"wheel: none in {SITE}; remove .cache/wheel.stamp and run it again")
    return wheel


def _wheel() -> Path | None:
    return next(SITE.glob("nibblegrad-*.whl"), None)


def _make_wheel() -> None:
    say("build: making the wheel")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        hatch = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        run_quiet("wheel", hatch, LOOK)
        new = next(Path(folder).glob("*.whl"))
        for old in SITE.glob("nibblegrad-*.whl"):
            if old.name != new.name:
                old.unlink()
        replace(SITE / new.name, new.read_bytes())


def _page() -> None:
    """esbuild's bundles of web/: page.js with its page.css, and worker.js."""
    stamp = CACHE / "page.stamp"
    value = _hash([ROOT / "web", ROOT / "package-lock.json", Path(__file__)])
    if fresh(stamp, value) and (SITE / "worker.js").exists():
        return
    say("build: bundling the page")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        npm.tool("page", "esbuild", "web/demo/page.js", "web/runtime/worker.js", "--bundle",
            "--format=esm", "--target=es2022", "--entry-names=[name]", "--loader:.py=text",
            "--sourcemap", "--log-level=warning", f"--outdir={folder}")  # fmt: skip
        shutil.copy(ROOT / "web/demo/index.html", folder)
        for file in Path(folder).iterdir():
            replace(SITE / file.name, file.read_bytes())
    replace(stamp, value.encode())


def _pyodide(numpy: bool) -> None:
    for version, name in PYODIDE_FOLDER.items():
        folder = SITE / name
        for pattern in PYODIDE_FILES:
            for file in (NODE_MODULES / name).glob(pattern):
                _copy(file, folder / file.name)
        found = json.loads((NODE_MODULES / name / "package.json").read_text())["version"]
        if found != version:
            raise DriverError(f"pyodide: node_modules has {found}, not {version}; remove it")
    if numpy:
        wheel = fetch.numpy()
        _copy(wheel, SITE / PYODIDE_FOLDER[PYODIDE_NUMPY] / wheel.name)


def _copy(source: Path, target: Path) -> None:
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _hash(roots: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for root in roots:
        files = [root] if root.is_file() else sorted(root.rglob("*"))
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                data = file.read_bytes()
                digest.update(f"{file.relative_to(ROOT)} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def config(wheel: Path, version: str = PYODIDE, model: Path | None = None) -> dict[str, Any]:
    """What the page reads from /config.json: the boot's options and the default model."""
    about = None
    if model:
        size = model.stat().st_size
        about = {"name": model.name, "about": fetch.MODEL_ABOUT, "bytes": size}
    return {
        "wheelUrl": f"/{wheel.name}",
        "pyodideUrl": f"/{PYODIDE_FOLDER[version]}/",
        "packages": ["numpy"] if version == PYODIDE_NUMPY else [],
        "model": about,
    }
