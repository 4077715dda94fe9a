"""Waiting from code that is not async, where the interpreter allows it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any


class Done(list[Any]):
    """A finished list that may be awaited all the same."""

    def __await__(self) -> Any:
        yield from ()
        return self


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """The resulting list, if Python may wait here (Pyodide with JSPI); else a task to await."""
    import asyncio

    try:
        from pyodide.ffi import can_run_sync, run_sync  # type: ignore[import-not-found]
    except ImportError:
        return asyncio.ensure_future(work)
    return Done(run_sync(work)) if can_run_sync() else asyncio.ensure_future(work)
