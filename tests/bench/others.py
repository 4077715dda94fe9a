"""The other libraries: JavaScript modules of peers/, timed by the same clock in the same thread."""

from __future__ import annotations

import json
from typing import Any

from pyodide.code import run_js

from .clock import Clock


class Peers:
    """Those that opened. Each module says which variants it has of a workload."""

    def __init__(self, passes: Any, clock: Clock, urls: dict[str, str]):
        self.passes, self.clock, self.urls = passes, clock, urls
        self.modules: dict[str, Any] = {}

    async def open(self) -> list[str]:
        """Start them; what did not start, and why."""
        problems = []
        for name, url in self.urls.items():
            if "." in name:  # what a module loads by itself
                continue
            try:
                module = await run_js("(url) => import(url)")(url)
                await module.open(json.dumps(self.urls))
                self.modules[name] = module
            except Exception as error:
                problems.append(f"{name}: {_text(error)}")
        return problems

    async def measure(self, workload: tuple[Any, ...]) -> dict[str, Any]:
        """{variant: {gpu_ms, wall_ms, dispatches} or {error}} of those that know the workload."""
        found: dict[str, Any] = {}
        for module in self.modules.values() if workload else ():
            for variant in json.loads(module.variants(workload[0])):
                found[variant] = await self._one(module, variant, workload)
        return found

    async def _one(self, module: Any, variant: str, workload: tuple[Any, ...]) -> dict[str, Any]:
        try:
            task = await module.make(variant, json.dumps(workload))
            try:
                how = run_js("JSON.parse")(json.dumps(self.clock.how))
                return json.loads(await self.passes.measure(task, how))
            finally:
                task.free()
        except Exception as error:
            return {"error": _text(error)}


def _text(error: Exception) -> str:
    return str(error).removeprefix("Error: ")[:300]
