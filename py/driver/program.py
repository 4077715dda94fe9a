"""build.py conformance --program: one program of one's own, on inputs from an .npz."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from .agree import agree
from .programs import Job, Runner
from .say import DriverError, Mistake
from .session import Session

CALL = re.compile(r"(?P<prefix>(?P<method>.+)/(?P<call>\d+)/)?(?P<side>in|out)/(?P<index>\d+)")
Row = dict[str, Any]


def main(options: argparse.Namespace) -> int:
    """Runs it and tells its outputs; the status is 0 unless one disagrees."""
    names, inputs, wanted = calls(options.inputs)
    who = f"conformance: {options.program}"
    job = Job(options.program.stem, options.program, inputs)
    with Runner(lambda: Session(headed=options.headed)) as runner:
        [(_, answer)] = runner.run([job])
    if answer.error:
        raise DriverError(f"{who}: {answer.error}")
    rows, keep = [], {}
    for name, got, want in zip(names, answer.outs, wanted, strict=True):
        if want and len(want) != len(got):
            raise DriverError(f"{who}: gave {len(got)} outputs, but the file has {len(want)}")
        for i, x in enumerate(got):
            keep[f"{name}out/{i}"] = x
            rows.append(_output(f"{name}out/{i}", x, want[i] if want else None))
    if options.out:
        np.savez_compressed(options.out, **keep)
    print(json.dumps({"program": str(options.program), "outputs": rows}) if options.json
          else "\n".join(map(_line, rows)))  # fmt: skip
    return 0 if all(row.get("passed", True) for row in rows) else 1


def calls(path: Path) -> tuple[list[str], list[tuple[str, list[Any]]], list[list[Any]]]:
    """Of each call in a file: its name there, its method and inputs, what outputs it wants."""
    found: dict[tuple[str, int, str], dict[str, dict[int, Any]]] = {}
    with np.load(path) as arrays:
        for key in arrays:
            match = CALL.fullmatch(key)
            if match is None:
                raise Mistake(f"conformance: {path} has '{key}'; arrays are in/0, out/0, ...")
            call = (match["method"] or "forward", int(match["call"] or 0), match["prefix"] or "")
            sides = found.setdefault(call, {"in": {}, "out": {}})
            sides[match["side"]][int(match["index"])] = arrays[key]
    ordered = sorted(found)
    ins, outs = ([_row(path, call, found[call][side], side) for call in ordered]
                 for side in ("in", "out"))  # fmt: skip
    inputs = [(call[0], row) for call, row in zip(ordered, ins, strict=True)]
    return [call[2] for call in ordered], inputs, outs


def _row(path: Path, call: tuple[str, int, str], row: dict[int, Any], side: str) -> list[Any]:
    if sorted(row) != [*range(len(row))]:
        raise Mistake(f"conformance: {path} has {call[2]}{side}/ {sorted(row)}; number them from 0")
    return [row[i] for i in range(len(row))]


def _output(name: str, x: Any, want: Any) -> Row:
    row = {"output": name, "shape": list(x.shape), "dtype": x.dtype.name}
    if want is None:
        return row
    found = agree(x, want, nan=True)
    return row | {"passed": found.passed, "error": found.error, "why": found.why}


def _line(row: Row) -> str:
    text = f"{row['output']}  {row['dtype']} {row['shape']}"
    if "passed" not in row:
        return text
    return f"{text}  " + (f"agrees, error {row['error']:.3g}" if row["passed"] else row["why"])
