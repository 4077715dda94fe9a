"""Imports go down only, as docs/architecture.md and the house say."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "py/nibblegrad"
LAYERS = [
    ["core"],
    ["ops", "io"],
    ["gpu"],
    ["tensor"],
    ["nn", "optim"],
    ["models", "tune", "program"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
BROWSER = {"js", "pyodide", "nibblegrad_runtime"}
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, dotted name) of each import, relative ones made whole."""
    package = ("nibblegrad", *path.relative_to(ROOT).parts[:-1])
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join([*base, *filter(None, [node.module])])
            found += [(node.lineno, f"{stem}.{alias.name}") for alias in node.names]
    return found


@pytest.mark.parametrize("file", FILES)
def test_imports_go_down(file: str):
    mine = RANK.get(file.split("/")[0])
    wrong = []
    for line, name in imports(ROOT / file):
        parts = name.split(".")
        theirs = RANK.get(parts[1]) if parts[0] == "nibblegrad" and len(parts) > 1 else None
        up = mine is not None and theirs is not None and theirs > mine
        across = theirs == mine and theirs is not None and parts[1] != file.split("/")[0]
        if up or across:
            wrong.append(f"{file}:{line}: imports {name}, which is not below it")
        if parts[0] in BROWSER and file != "gpu/webgpu.py":
            wrong.append(f"{file}:{line}: imports {name}; only gpu/webgpu.py may")
        if parts[0] == "numpy" and file != "core/lazy.py":
            wrong.append(f"{file}:{line}: imports numpy; go through core.lazy")
    assert not wrong, "\n".join(wrong)
