"""The libraries that ours is measured beside: npm's, by a lock of their own, into .cache/peers."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from . import npm
from .paths import CACHE, ROOT, fresh, lock, replace
from .say import say

SOURCE = ROOT / "tests/bench/peers"
PLACE = CACHE / "peers"
BUILT = PLACE / "built"
LIBRARIES = ("jax", "tfjs", "ort")
WASM = "onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify"


def build() -> dict[str, Path]:
    """Each peer's module, bundled, and what it loads beside it, by name."""
    npm.ensure()
    with lock("peers"):
        locked = _hash([SOURCE / "package-lock.json"])
        if not fresh(PLACE / "installed.stamp", locked):
            _install()
            replace(PLACE / "installed.stamp", locked.encode())
        value = _hash(sorted(path for path in SOURCE.iterdir() if path.is_file()))
        if not fresh(PLACE / "built.stamp", value):
            _bundle()
            replace(PLACE / "built.stamp", value.encode())
    return {path.stem if path.suffix == ".js" else path.name: path for path in BUILT.iterdir()}


def _hash(paths: list[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def _install() -> None:
    say("bench: installing the peers from npm (once): jax-js, tfjs, onnxruntime-web")
    PLACE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SOURCE / name, PLACE / name)
    npm.install(PLACE)


def _bundle() -> None:
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        for path in SOURCE.glob("*.js"):  # below node_modules, where esbuild looks for packages
            shutil.copy(path, folder)
        names = [f"{folder}/{name}.js" for name in LIBRARIES]
        npm.tool("bench", "esbuild", *names, "--bundle", "--format=esm", "--target=es2022",
            "--minify", "--log-level=error", f"--outdir={BUILT}")  # fmt: skip
    for suffix in (".mjs", ".wasm"):
        shutil.copy(PLACE / f"node_modules/{WASM}{suffix}", BUILT)
