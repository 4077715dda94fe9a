# python3 -m venv /tmp/et && /tmp/et/bin/pip install torch==2.13.0 executorch==1.5.1 \
#   torchao==0.18.0 && /tmp/et/bin/python tests/oracle/upstream_cases.py --list
"""Upstream's own op-test cases, from the wheel, as programs with inputs and goldens.

executorch/backends/webgpu/test/op_tests holds them: cases.py (87 suites, 380 cases, registered by
a decorator), generate_op_tests.py (export and golden). The programs and goldens are upstream's to
the byte; here they only get another wrapping: OUT/OP__CASE.pte, OUT/OP__CASE.npz with in/0.. and
out/0.., OUT/manifest.json with a row a case, of all cases whatever is made. What is there already
is not made again.
"""

import argparse
import functools
import json
import logging
import os
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")

import torch  # noqa: E402
from executorch.backends.vulkan.patterns import fusable_patterns  # noqa: E402
from executorch.backends.webgpu.test.op_tests import generate_op_tests as upstream  # noqa: E402
from executorch.backends.webgpu.test.op_tests.test_suite import op_test_registry  # noqa: E402

for pattern in fusable_patterns.values():  # upstream's own cache is registered past
    if pattern.get_graphs_fn:
        pattern.get_graphs_fn = functools.cache(pattern.get_graphs_fn)

STORED = {"float32": "<f4", "int32": "<i4", "int64": "<i8", "int8": "i1", "bool": "i1"}


def cases(only=(), heavy=True):
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


def write(op, suite, case, out):
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
        part = out / f".{name}.part"  # the program comes last and whole: it says that both are here
        part.write_bytes((Path(folder) / entries[0]["pte"]).read_bytes())
        part.replace(out / f"{name}.pte")


def make(name, out):
    """One case by its name, in a worker; (seconds, what went wrong)."""
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    start = time.monotonic()
    found = next(c for c in cases() if name_of(c[0], c[2]) == name)
    try:
        write(*found, out)
    except Exception as e:
        return time.monotonic() - start, f"{type(e).__name__}: {e!s:.300}"
    return time.monotonic() - start, ""


def make_all(rows, todo, out, jobs):
    """What is missing, some at a time; a line each for whoever watches."""
    with ProcessPoolExecutor(jobs) as pool:
        works = {pool.submit(make, name, out): name for name in todo}
        for done, work in enumerate(as_completed(works), 1):
            seconds, error = work.result()
            if error:
                rows[works[work]]["error"] = error
            print(f"{done} {len(todo)} {works[work]} {seconds:.1f} s {error}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="OP")
    parser.add_argument("--light", action="store_true", help="leave out the two heavy cases")
    parser.add_argument("--list", action="store_true", help="write the manifest, make nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    rows = {name_of(op, case): facts(op, suite, case) for op, suite, case in cases()}
    if args.out is None:
        print("\n".join(json.dumps(row) for row in rows.values()))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    names = [name_of(op, case) for op, _, case in cases(args.only, not args.light)]
    if not args.list:
        todo = [name for name in names if not (args.out / f"{name}.pte").exists()]
        make_all(rows, todo, args.out, args.jobs)
    (args.out / "manifest.json").write_text(json.dumps(list(rows.values()), indent=1) + "\n")


if __name__ == "__main__":
    main()
