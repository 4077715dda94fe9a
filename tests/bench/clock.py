"""Times of what the page's GPU runs: timestamps round many repeats, under a steady load.

An idle GPU lowers its clocks and needs a second of work to raise them, so each part of a run starts
with 1.5 s of arithmetic and each timing with 0.3 s of its own work; a software adapter needs none.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyodide.code import run_js

import nibblegrad as ng

PART_SECONDS, TIMING_SECONDS = 1.5, 0.3
PLAN_SECONDS, MOST_REPEATS, RUNS = 0.02, 400, 5


@dataclass
class Times:
    """Of one call: GPU time by timestamps (None where the device has none) and wall time, ms."""

    gpu_ms: float | None
    wall_ms: float
    first_ms: float  # with compilation
    route: str

    @property
    def ms(self) -> float:
        """GPU time, else wall time."""
        return self.wall_ms if self.gpu_ms is None else self.gpu_ms


class Clock:
    """Measures on one device. `passes` is the JavaScript module that puts the timestamps."""

    def __init__(self, dev: Any, passes: Any):
        self.dev, self.passes = dev, passes
        self.software = dev.caps.software
        self.wake: Callable[[], Any] = lambda: None  # some ms of arithmetic

    @property
    def how(self) -> dict[str, Any]:
        """What a peer's timing is given: milliseconds and counts."""
        if self.software:
            return {"warm": 0, "target": 1, "runs": 2, "most": 1}
        warm, target = TIMING_SECONDS * 1e3, PLAN_SECONDS * 1e3
        return {"warm": warm, "target": target, "runs": RUNS, "most": MOST_REPEATS}

    async def part(self) -> None:
        """Before a part: clocks up."""
        until = time.perf_counter() + (0 if self.software else PART_SECONDS)
        while time.perf_counter() < until:
            await self.wake()

    async def spans(self, work: Callable[[], Any]) -> tuple[float | None, int, float]:
        """GPU ms of everything queued by the work, its dispatches, and wall ms until done."""
        self.passes.start()
        start = time.perf_counter()
        found = work()
        if hasattr(found, "__await__"):
            await found
        await self.passes.idle()
        wall = 1e3 * (time.perf_counter() - start)
        told = json.loads(await self.passes.stop())
        return told["ms"], told["dispatches"], wall

    async def plan(self, plan: Any, repeats: int, **step: float) -> tuple[float | None, float]:
        """Median (GPU ms, wall ms) of one of the plan's `repeats` calls."""
        gpu, wall = [], []
        for _ in range(self.how["runs"]):
            until = time.perf_counter() + self.how["warm"] / 1e3
            while time.perf_counter() < until:
                plan.replay(**step)
                await self.passes.idle()
            spent, _, waited = await self.spans(lambda: plan.replay(**step))
            wall.append(waited / repeats)
            if spent is not None:
                gpu.append(spent / repeats)
        return (statistics.median(gpu) if gpu else None), statistics.median(wall)

    async def call(self, call: Callable[[], Any]) -> Times:
        """A call recorded as a plan, as often as fills PLAN_SECONDS, each after the one before."""
        start = time.perf_counter()
        plan = recorded(call, 1)
        plan.replay()
        await self.passes.idle()
        first = 1e3 * (time.perf_counter() - start)
        route = routes(plan)
        gpu, wall = await self.plan_once(plan)
        plan.drop()
        target = PLAN_SECONDS if not self.software else 0.0
        repeats = max(1, min(MOST_REPEATS, math.ceil(1e3 * target / max(gpu or wall, 1e-3))))
        plan = recorded(call, repeats)
        found = await self.plan(plan, repeats)
        plan.drop()
        return Times(*found, first, route)

    async def plan_once(self, plan: Any) -> tuple[float | None, float]:
        """(GPU ms, wall ms) of a plan that was compiled before."""
        gpu, _, wall = await self.spans(plan.replay)
        return gpu, wall


def recorded(call: Callable[[], Any], repeats: int) -> Any:
    """A plan of that many calls; the next takes the bytes of the last, so each waits for it."""
    with ng.record() as plan:
        for _ in range(repeats):
            out = call()
            del out
    return plan


def routes(plan: Any) -> str:
    """The kernels of a plan's lines, in order; more than three are counted."""
    labels = [text[21:].split(" (")[0].strip() for text in str(plan).splitlines()]
    kernels = list(dict.fromkeys(label.split()[0] for label in labels))
    if len(labels) == 1:
        return labels[0]
    if len(labels) <= 3:
        return " + ".join(kernels)
    return f"{len(labels)} dispatches of {len(kernels)} kernels"


async def load_passes(text: str) -> Any:
    """passes.js as a module of this thread; before any device is opened."""
    source = (
        """(text) => import(URL.createObjectURL(new Blob([text], {type: "text/javascript"})))"""
    )
    return await run_js(source)(text)
