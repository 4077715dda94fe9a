"""Shows how cases went: a line of progress on stderr, then a table. Knows no programs."""

import sys
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from .say import say

LINES = 20  # where there is no terminal: so many lines of progress
Row = dict[str, Any]


class Progress:
    """show(done, of, name), inside `with`; nothing is shown where nothing is done."""

    def __init__(self, verb: str):
        self._verb, self._task, self._shown = verb, None, 0
        self._bar = Bar(
            TextColumn(f"{verb:<9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.fields[name]}"), console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )  # fmt: skip

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, done: int, of: int, name: str) -> None:
        if self._task is None:
            self._task = self._bar.add_task(self._verb, total=of, name=name)
        self._bar.update(self._task, completed=done, total=of, name=name)
        if not sys.stderr.isatty() and (done == of or done * LINES // of > self._shown):
            self._shown = done * LINES // of
            say(f"conformance: {self._verb} {done}/{of}  {name}")


def table(totals: Row, verdicts: list[Row]) -> None:
    """A line an op: its worst element's error, and that as a share of its tolerance."""
    adapter = totals["adapter"]
    print(f"adapter  {adapter.get('description') or adapter.get('architecture')}")
    print(f"{'op':<30}{'cases':>6}{'passed':>8}{'worst error':>13}{'of bound':>10}")
    for op, rows in groupby(verdicts, key=lambda row: row["op"]):
        line = [*rows]
        passed = sum(row["passed"] for row in line)
        mark = "" if passed == len(line) else "  <- fails"
        print(f"{op:<30}{len(line):>6}{passed:>8}{_worst(line, 'error'):>13}"
              f"{_worst(line, 'share'):>10}{mark}")  # fmt: skip
    for row in verdicts:
        if not row["passed"]:
            print(f"failed  {row['op']}/{row['case']}: {row['why']}")
    print(f"{totals['suites']} suites, {totals['cases']} cases: {totals['passed']} passed, "
          f"{totals['failed']} failed, 0 skipped")  # fmt: skip


def _worst(rows: list[Row], key: str) -> str:
    known = [row[key] for row in rows if row[key] is not None]
    return f"{max(known):.2g}" if known else "-"
