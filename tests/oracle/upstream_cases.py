# python3 -m venv /tmp/et && /tmp/et/bin/pip install torch==2.13.0 executorch==1.5.1 \
#   torchao==0.18.0 && /tmp/et/bin/python tests/oracle/upstream_cases.py --list
"""Upstream's own op-test cases, from the wheel, as programs with inputs and goldens.

executorch/backends/webgpu/test/op_tests holds them: cases.py (87 suites, 380 cases, registered by
a decorator), generate_op_tests.py (export and golden). The programs and goldens are upstream's to
the byte; here they only get another wrapping: OUT/OP__CASE.pte, OUT/OP__CASE.npz with in/0.. and
out/0.., OUT/manifest.json with a row a case. What is there already is not made again.
"""

import argparse
import json
import logging
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")

import torch  # noqa: E402
from executorch.backends.webgpu.test.op_tests import generate_op_tests as upstream  # noqa: E402
from executorch.backends.webgpu.test.op_tests.test_suite import op_test_registry  # noqa: E402

STORED = {"float32": "<f4", "int32": "<i4", "int64": "<i8", "int8": "i1", "bool": "i1"}


def cases(only=(), heavy=False):
    """(op, suite, case) of every case that is asked for, in upstream's order."""
    for op, suite in op_test_registry.items():
        for case in suite.cases:
            if (not only or op in only) and (heavy or not case.heavy):
                yield op, suite, case


def name_of(op, case):
    return f"{op}__{case.name or 'case'}"


def facts(op, suite, case):
    """What a case is, without making it; an element passes by either bound, atol or rtol."""
    return {
        "op": op,
        "case": case.name or "case",
        "atol": suite.atol if case.atol is None else case.atol,
        "rtol": suite.rtol if case.rtol is None else case.rtol,
        "golden": "given" if case.golden_fn else suite.golden_dtype,
        "required": case.required,
        "heavy": case.heavy,
        "dynamic": case.dynamic_shapes is not None,
        "inputs": [list(getattr(spec, "shape", spec)) for spec in case.inputs],
    }


def array(entry, folder):
    """One of upstream's raw files; bools are bytes there."""
    raw = np.fromfile(Path(folder) / entry["path"], STORED[entry["dtype"]])
    return raw.reshape(entry["shape"]).astype(entry["dtype"])


def make(op, suite, case, out):
    """Let upstream export one case and compute its golden, then wrap both."""
    name = name_of(op, case)
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)  # weights too: upstream seeds the inputs only
        entries = upstream.generate_case(op, suite, case, folder)
        arrays = {f"in/{i}": array(e, folder) for i, e in enumerate(entries[0]["inputs"])}
        arrays |= {
            f"out/{e['golden']['output_index']}": array(e["golden"], folder) for e in entries
        }
        np.savez_compressed(out / f"{name}.npz", **arrays)
        (out / f"{name}.pte").write_bytes((Path(folder) / entries[0]["pte"]).read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--heavy", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many")
    args = parser.parse_args()
    rows, end = [], time.monotonic() + args.seconds
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    for op, suite, case in cases(args.only, args.heavy):
        row = facts(op, suite, case)
        if args.list or not args.out:
            print(json.dumps(row))
            continue
        args.out.mkdir(parents=True, exist_ok=True)
        if time.monotonic() < end and not (args.out / f"{name_of(op, case)}.pte").exists():
            try:
                make(op, suite, case, args.out)
            except Exception as e:
                row["error"] = f"{type(e).__name__}: {e!s:.300}"
                traceback.print_exc(limit=3, file=sys.stderr)
        rows.append(row)
        (args.out / "manifest.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
