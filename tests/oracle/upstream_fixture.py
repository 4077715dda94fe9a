"""Reads tests/data/upstream.tar.xz, which make_upstream.py packs: upstream's cases, all of them."""

import io
import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FIXTURE = Path(__file__).parents[1] / "data/upstream.tar.xz"


@cache
def members() -> dict[str, bytes]:
    with tarfile.open(FIXTURE) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]


def rows() -> list[dict[str, Any]]:
    return json.loads(members()["manifest.json"])


def program(name: str, folder: Path) -> Path:
    """The case's program as a file there."""
    path = folder / f"{name}.pte"
    path.write_bytes(members()[path.name])
    return path


def arrays(name: str, side: str) -> list[Any]:
    """The case's inputs ("in") or what it must give ("out")."""
    keys = sorted(key for key in members() if key.startswith(f"{name}/{side}/"))
    return [np.load(io.BytesIO(members()[key])) for key in keys]
