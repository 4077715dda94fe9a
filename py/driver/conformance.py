"""build.py conformance: upstream's op tests through load_pte in the page, by upstream's rule."""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from . import docs, program, site, upstream
from .agree import Agreement, agree
from .programs import Answer, Job, Runner
from .say import Mistake, say
from .session import Session
from .verdicts import Progress, table

Row = dict[str, Any]


def main(options: argparse.Namespace) -> int:
    check(options)
    if options.program:
        return program.main(options)
    rows = chosen(upstream.rows(), options.only)
    if options.list:
        for row in rows:
            print(f"{row['op']}/{row['case']}  {' '.join(map(str, row['inputs']))}")
        return 0
    with Progress("exported") as progress:
        unmade = upstream.make(rows, progress.show)
    site.build()
    say("conformance: starting the browser")
    with Runner(lambda: Session(headed=options.headed)) as runner:
        adapter = runner.adapter()
        verdicts = judged(runner, rows, unmade)
    return _report(options, adapter, verdicts)


def check(options: argparse.Namespace) -> None:
    """Refuses what cannot work before anything is started."""
    if options.record and (options.only or options.list or options.program):
        raise Mistake("conformance: --record keeps a whole run; leave out what makes it a part")
    if options.program is None:
        if options.inputs or options.out:
            raise Mistake("conformance: --inputs and --out are for a --program; name one")
        return
    if options.only or options.list:
        raise Mistake("conformance: --only and --list choose upstream's cases, not a --program")
    if options.inputs is None:
        raise Mistake("conformance: --program needs --inputs FILE.npz with in/0, in/1, ...")
    for path in (options.program, options.inputs):
        if not path.is_file():
            raise Mistake(f"conformance: {path} is not a file")


def chosen(rows: list[Row], only: list[str]) -> list[Row]:
    """The rows of these ops, or OP/CASE; of all when none is named."""
    named = {
        word: [r for r in rows if word in (r["op"], f"{r['op']}/{r['case']}")] for word in only
    }
    unknown = [word for word, found in named.items() if not found]
    if unknown:
        raise Mistake(f"conformance: upstream has no {', '.join(unknown)}; --list tells all")
    return [row for row in rows if not only or any(row in found for found in named.values())]


def judged(runner: Runner, rows: list[Row], unmade: dict[str, str]) -> list[Row]:
    """Each row with how it went."""
    found = {name: _failed(f"export: {why}") for name, why in unmade.items()}
    jobs = {name: job for row in rows if (name := upstream.stem(row)) not in found
            and (job := _job(name))}  # fmt: skip
    bounds = {upstream.stem(row): (row["atol"], row["rtol"]) for row in rows}
    with Progress("ran") as progress:
        for done, (job, answer) in enumerate(runner.run([*jobs.values()]), 1):
            found[job.name] = verdict(answer, goldens(upstream.FOLDER / f"{job.name}.npz"),
                                      *bounds[job.name])  # fmt: skip
            progress.show(done, len(jobs), job.name)
    return [row | found[upstream.stem(row)] for row in rows]


def _job(name: str) -> Job:
    with np.load(upstream.FOLDER / f"{name}.npz") as arrays:
        inputs = [arrays[f"in/{i}"] for i in range(sum(k.startswith("in/") for k in arrays))]
    return Job(name, upstream.FOLDER / f"{name}.pte", [("forward", inputs)])


def goldens(path: Path) -> list[Any]:
    """What each call must give; of upstream's cases there is one call."""
    with np.load(path) as arrays:
        return [[arrays[f"out/{i}"] for i in range(sum(k.startswith("out/") for k in arrays))]]


def verdict(answer: Answer, wanted: list[list[Any]], atol: float, rtol: float) -> Row:
    """How a case went: all outputs of all calls agree, or the first that does not."""
    if answer.error:
        return _failed(answer.error)
    each: list[Agreement] = []
    for got, want in zip(answer.outs, wanted, strict=True):
        if len(got) != len(want):
            return _failed(f"{len(got)} outputs, where {len(want)} are wanted")
        each += [agree(a, b, atol, rtol) for a, b in zip(got, want, strict=True)]
    return {
        "passed": all(a.passed for a in each),
        "error": max((a.error for a in each), default=0.0),
        "share": _finite(max((a.share for a in each), default=0.0)),
        "why": next((a.why for a in each if not a.passed), ""),
        "load_s": round(answer.load_s, 4),
        "run_s": round(answer.run_s, 4),
    }


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None  # JSON has no infinity


def _failed(why: str) -> Row:
    return {"passed": False, "error": None, "share": None, "why": why}


def _report(options: argparse.Namespace, adapter: Row, verdicts: list[Row]) -> int:
    passed = sum(row["passed"] for row in verdicts)
    totals = {
        "suites": len({row["op"] for row in verdicts}),
        "cases": len(verdicts),
        "passed": passed,
        "failed": len(verdicts) - passed,
        "skipped": 0,
        "adapter": adapter,
    }
    if options.record:
        docs.record(totals, verdicts)
    if options.json:
        print(json.dumps(totals | {"rows": verdicts}))
    else:
        table(totals, verdicts)
    return 0 if passed == len(verdicts) else 1
