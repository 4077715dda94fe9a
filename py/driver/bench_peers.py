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
WASM = "onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify"


def build() -> dict[str, Path]:
    """Each peer's module, bundled, and what it loads beside it, by name."""
    npm.ensure()
    inputs = sorted(path for path in SOURCE.iterdir() if path.is_file())
    value = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()
    stamp = PLACE / "built.stamp"
    with lock("peers"):
        if not fresh(stamp, value):
            _install()
            _bundle()
            replace(stamp, value.encode())
    return {path.stem if path.suffix == ".js" else path.name: path for path in BUILT.iterdir()}


def _install() -> None:
    say("bench: installing the peers from npm (once): jax-js, tfjs, onnxruntime-web")
    PLACE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SOURCE / name, PLACE / name)
    npm.install(PLACE)


def _bundle() -> None:
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        for path in SOURCE.glob("*.js"):  # beside node_modules, where esbuild looks for packages
            shutil.copy(path, folder)
        names = [f"{folder}/{path.name}" for path in SOURCE.glob("*.js")]
        npm.tool("bench", "esbuild", *names, "--bundle", "--format=esm", "--target=es2022",
            "--minify", "--log-level=error", f"--outdir={BUILT}")  # fmt: skip
    for suffix in (".mjs", ".wasm"):
        shutil.copy(PLACE / f"node_modules/{WASM}{suffix}", BUILT)
