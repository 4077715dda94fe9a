# build.py conformance --list && .cache/venv-executorch/bin/python tests/oracle/upstream_cases.py \
#   .cache/conformance && .cache/venv-executorch/bin/python tests/oracle/make_upstream.py
"""Packs .cache/conformance into tests/data/upstream.tar.xz: build.py test proves the same by it.

OP__CASE.pte, OP__CASE/in/0.npy, OP__CASE/out/0.npy, and manifest.json: what upstream_cases.py
tells of each case; "small" tells the inputs' shapes where a smaller one stands for a large case.
"""

import dataclasses
import io
import json
import lzma
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import upstream_cases

ROOT = Path(__file__).parents[2]
MADE = ROOT / ".cache/conformance"
FIXTURE = ROOT / "tests/data/upstream.tar.xz"
LIMIT = 300_000  # bytes of a case, compressed
SMALL = {  # of a large case: the shapes of its inputs, what differs in its construction
    "gelu__erf_dispatch_2d_boundary": [(4099,)],
    "et_vk_sdpa__selfattn_siglip": [(1, 2, 67, 64)] * 3,
    "et_vk_sdpa__chattn_davit": [(1, 2, 8, 64), (1, 2, 65, 64), (1, 2, 65, 64)],
    "relu__decoder_mlp": [(1, 27, 48)],
    "addmm__bart": [(16, 96), (96, 80), {"n": 80}],
    "linear_fp32__rank3": [(1, 16, 96), {"in_features": 96, "out_features": 96}],
    "linear_fp32__bart_proj": [(1, 8, 128), {"in_features": 128, "out_features": 128}],
    "embedding__bart_tok": [(1, 5), {"embed_dim": 24}],
    "expand_copy__dispatch_2d_boundary": [(1,), {"shape": (4099,)}],
}


def smaller(op, suite, case, shapes, out):
    """The same case with other sizes, through upstream's own generator."""
    changed = shapes[-1] if isinstance(shapes[-1], dict) else {}
    shapes = [shape for shape in shapes if shape is not changed]
    inputs = tuple(
        dataclasses.replace(spec, shape=shape) if hasattr(spec, "shape") else shape
        for spec, shape in zip(case.inputs, shapes, strict=True)
    )
    construct = {**case.construct, **changed}
    small = dataclasses.replace(case, inputs=inputs, construct=construct)
    upstream_cases.write(op, suite, small, out)
    return [list(shape) for shape in shapes]


def members(name, folder):
    """(name in the archive, bytes) of a case."""
    yield f"{name}.pte", (folder / f"{name}.pte").read_bytes()
    with np.load(folder / f"{name}.npz") as arrays:
        for key in arrays:
            file = io.BytesIO()
            np.save(file, arrays[key])
            yield f"{name}/{key}.npy", file.getvalue()


def add(archive, name, data):
    about = tarfile.TarInfo(name)
    about.size = len(data)
    archive.addfile(about, io.BytesIO(data))


def main():
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(FIXTURE, "w:xz", preset=9 | lzma.PRESET_EXTREME) as archive,
    ):
        for op, suite, case in upstream_cases.cases():
            name = upstream_cases.name_of(op, case)
            row, place = upstream_cases.facts(op, suite, case), MADE
            if name in SMALL:
                row["small"] = smaller(op, suite, case, SMALL[name], Path(folder))
                place = Path(folder)
            found = dict(members(name, place))
            size = len(lzma.compress(b"".join(found.values())))
            if size > LIMIT:
                sys.exit(f"{name}: {size} bytes, more than {LIMIT}; give SMALL shapes for it")
            for member, data in found.items():
                add(archive, member, data)
            rows.append(row)
        add(archive, "manifest.json", json.dumps(rows, indent=1).encode())
    print(f"{len(rows)} cases, {FIXTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
