"""build.py bench --site: a folder of plain files that runs the bench where there is no network.

Serve it at an address's root with COOP/COEP headers and open bench.html: it POSTs its lines to
/__log and the report to /__result. Query: only=PATTERN (may be repeated), routes=1, tokens=N,
model=0, peers=0.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from . import bench_peers, fetch, npm, site
from .paths import PYODIDE, PYODIDE_FOLDER, ROOT, SITE
from .say import say

PART = 40_000_000  # bytes of one file, for transfers that have a limit


def write(
    folder: Path, start: str, files: dict[str, str], told: dict[str, Any], peers: bool
) -> int:
    """The folder: page, worker, wheel, Pyodide, the bench, and where asked model and peers."""
    wheel = site.build()
    folder.mkdir(parents=True, exist_ok=True)
    python = PYODIDE_FOLDER[PYODIDE]
    shutil.copytree(SITE / python, folder / python, dirs_exist_ok=True)
    for name in (wheel.name, "worker.js"):
        shutil.copy(SITE / name, folder / name)
    npm.tool("bench", "esbuild", ROOT / "tests/bench/page/bench.js", "--bundle", "--format=esm",
        "--target=es2022", "--log-level=warning", f"--outdir={folder}")  # fmt: skip
    shutil.copy(ROOT / "tests/bench/page/bench.html", folder)
    model = _parts(fetch.model(), folder / "model") if told["model"] else None
    urls = _peers(folder / "peers") if peers else {}
    about = {"boot": site.config(wheel), "start": start, "files": files, "model": model,
             "options": told | {"peers": urls}}  # fmt: skip
    (folder / "bench.json").write_text(json.dumps(about))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    say(f"bench: {folder}/bench.html and all it needs, {size / 1e6:.0f} MB")
    return 0


def _parts(path: Path, folder: Path) -> dict[str, Any]:
    """The file in pieces; the page puts them together again."""
    folder.mkdir(exist_ok=True)
    data, names = path.read_bytes(), []
    for at in range(0, len(data), PART):
        names.append(f"{folder.name}/{path.name}.{len(names)}")
        (folder.parent / names[-1]).write_bytes(data[at : at + PART])
    return {"name": path.name, "parts": names}


def _peers(folder: Path) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    built = bench_peers.build()
    for path in built.values():
        shutil.copy(path, folder)
    return {name: f"/{folder.name}/{path.name}" for name, path in built.items()}
