"""Size budgets of pyproject.toml against what is there. Standard library only."""

import argparse
import ast
import tomllib
from pathlib import Path

from .paths import ROOT

SETS = {  # budget: folder, pattern
    "python_file": ("py", "**/*.py"),
    "wgsl_file": ("shaders", "**/*.wgsl"),
    "js_file": ("web", "**/*.js"),
    "python_total": ("py/nibblegrad", "**/*.py"),
    "js_runtime_total": ("web/runtime", "**/*.js"),
    "wgsl_total": ("shaders", "**/*.wgsl"),
}


def main(options: argparse.Namespace) -> int:
    return 1 if report() else 0


def report() -> bool:
    """Prints the table; whether anything is over its budget."""
    over = False
    print(f"{'budget':<18}{'limit':>7}{'used':>7}  where")
    for name, limit in budgets().items():
        used, where = measure(name)
        mark = "  <- over" if used > limit else ""
        over |= used > limit
        print(f"{name:<18}{limit:>7}{used:>7}  {where}{mark}")
    return over


def budgets() -> dict[str, int]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["nibblegrad"]["budgets"]


def measure(name: str) -> tuple[int, str]:
    """What is used of one budget, and by whom most."""
    if name == "function":
        return max(_functions(), default=(0, ""))
    folder, pattern = SETS[name]
    counts = [(_lines(path), _short(path)) for path in (ROOT / folder).glob(pattern)]
    if name.endswith("_total"):
        return sum(count for count, _ in counts), f"{len(counts)} files in {folder}"
    return max(counts, default=(0, ""))


def _functions() -> list[tuple[int, str]]:
    """Every Python function's lines and place."""
    found = []
    for path in (ROOT / "py").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                found.append((lines, f"{_short(path)}:{node.lineno} {node.name}"))
    return found


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
