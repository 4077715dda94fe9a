"""build.py bench: tests/bench in the page, its table here; or a folder that runs it elsewhere."""

import argparse
import json
import os
import re
import sys
from typing import Any

from . import bench_peers, bench_site, fetch
from .paths import ROOT
from .say import Mistake
from .session import Session

BENCH = ROOT / "tests/bench"
SCRIPTS = BENCH / "scripts"
# Chromium rounds timestamps to 0.1 ms unless it is asked not to
FLAGS = "--enable-webgpu-developer-features --disable-dawn-features=timestamp_quantization"
START = """
import pathlib, sys
folder = pathlib.Path("/tmp/nibblebench/bench")
for name, text in data["files"].items():
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
sys.path.insert(0, str(folder.parent))
from bench.main import run
await run(data["options"])
"""


def main(options: argparse.Namespace) -> int:
    check(options)
    if options.site:
        return bench_site.write(options.site, START, files(), settings(options), options.peers)
    environment = "NIBBLEGRAD_BROWSER_FLAGS"
    os.environ[environment] = f"{FLAGS} {os.environ.get(environment, '')}"
    stream = sys.stderr if options.json else sys.stdout
    with Session(headed=options.headed, on_event=lambda event: _show(event, stream)) as session:
        if options.rest:
            return _scripts(session, options.rest)
        report = measure(session, settings(options), options.peers)
    if options.json:
        print(json.dumps(report))
    return int(any("error" in row for row in report["rows"]))


def check(options: argparse.Namespace) -> None:
    """Refuses what cannot work before anything is fetched or started."""
    known = sorted(path.stem for path in SCRIPTS.glob("*.py"))
    unknown = [name for name in options.rest if name not in known]
    if unknown:
        raise Mistake(
            f"bench: no script {', '.join(unknown)}; after -- may stand {', '.join(known)}"
        )
    if options.rest and (options.json or options.only or options.peers or options.site):
        raise Mistake("bench: scripts after -- print tables of their own; leave the options out")
    for pattern in options.only:
        try:
            re.compile(pattern)
        except re.error as problem:
            raise Mistake(
                f"bench: --only {pattern}: {problem}; give a pattern of Python's re"
            ) from None
    if options.tokens is not None and not 2 <= options.tokens <= 1024:
        raise Mistake(f"bench: --tokens must be 2 to 1024, got {options.tokens}")
    if options.site and options.site.exists() and not options.site.is_dir():
        raise Mistake(f"bench: --site {options.site} is a file; name a folder")


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the page's half is told, but for where things are."""
    return {"only": options.only, "routes": options.routes, "tokens": options.tokens,
            "model": None if options.no_model else fetch.MODEL_FILE}  # fmt: skip


def files() -> dict[str, str]:
    """The page's half: Python, probes and the timestamps, by name."""
    found = [*BENCH.glob("*.py"), *BENCH.glob("probes/*.wgsl"), BENCH / "passes.js"]
    return {str(path.relative_to(BENCH)): path.read_text(encoding="utf-8") for path in found}


def measure(session: Session, told: dict[str, Any], peers: bool = False) -> dict[str, Any]:
    """The report of one run in a booted page."""
    told = told | {"peers": {}}
    if told["model"]:
        told["model"] = session.add_file(fetch.model())
    if peers:
        built = bench_peers.build()
        session.server.files.update({path.name: path for path in built.values()})
        told["peers"] = {name: f"/files/{path.name}" for name, path in built.items()}
    return session.evaluate_python(START, {"files": files(), "options": told})


def _scripts(session: Session, names: list[str]) -> int:
    """Each script prints its own table."""
    status = 0
    for name in names:
        path = SCRIPTS / f"{name}.py"
        end = session.run_python(path.read_text(encoding="utf-8"), filename=path.name)
        sys.stderr.write(end.error)
        status = status or end.status
    return status


def _show(event: dict[str, str], stream: Any) -> None:
    target = {"stdout": stream, "stderr": sys.stderr}.get(event["type"])
    if target:
        print(event["text"], end="", file=target, flush=True)
