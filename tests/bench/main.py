"""Runs the bench in the page: limits first, then each case, ours and the peers' in turn."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibblegrad as ng

from . import cases, model, probes, table
from .clock import Clock, Times, load_passes
from .others import Peers

Options = dict[str, Any]
Row = dict[str, Any]


async def run(options: Options, tell: Callable[[str], Any] = print) -> dict[str, Any]:
    """The whole report: adapter, limits, rows; `tell` gets each line of the table as it comes.

    options: only (patterns for --only), routes, model (a path of the page or None), peers (their
    modules' URLs by name; {} for none), tokens (of the model's sequence).
    """
    passes = await load_passes((Path(__file__).parent / "passes.js").read_text())
    dev = await ng.device("webgpu")
    clock = Clock(dev, passes)
    about = dev.info["description"] or f"{dev.info['vendor']} {dev.info['architecture']}"
    report: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()), "adapter": dict(dev.info),
        "software": clock.software, "timestamps": "timestamp-query" in dev.info["features"],
    }  # fmt: skip
    tell(f"bench: {about}{' (software)' * clock.software}, {ng.__version__}")
    report["limits"] = limits = await probes.measure(clock)
    tell("limits: " + ", ".join(f"{k} {table.number(v)}" for k, v in limits.items())
         + " (GFLOP/s; copy GB/s)")  # fmt: skip
    peers = Peers(passes, clock, options["peers"])
    for problem in await peers.open():
        tell(f"peers: {problem}")
    tell(table.header())
    bench = Bench(clock, limits, peers, options, tell)
    await bench.cases()
    report["rows"] = bench.rows
    report["model"] = await model.measure(clock, options, bench.wanted, tell)
    return report


class Bench:
    """The rows of one run."""

    def __init__(self, clock: Clock, limits: dict[str, float], peers: Peers, options: Options,
                 tell: Callable[[str], Any]):  # fmt: skip
        self.clock, self.limits, self.peers, self.tell = clock, limits, peers, tell
        self.options = options
        self.rows: list[Row] = []

    def wanted(self, name: str) -> bool:
        """Whether one of --only's patterns is found in the name; no pattern wants all."""
        patterns = self.options["only"]
        return not patterns or any(re.search(p, name) for p in patterns)

    async def cases(self) -> None:
        """Each case that is asked for and not too much for this adapter."""
        part = ""
        for case in cases.every():
            if not self.wanted(case.name):
                continue
            if self.clock.software and case.flop > cases.SOFTWARE_FLOP:
                continue
            if case.what != part:
                part = case.what
                await self.clock.part()
            await self.case(case)
            self.clock.dev.trim()

    async def case(self, case: cases.Case) -> None:
        """The route that runs, or each route; then the peers."""
        try:
            call = case.make()
            if self.options["routes"] and case.one_op:
                await self._routes(case, call)
                return
            row = self.row(case, await self.clock.call(call))
        except Exception as error:
            row = {"what": case.what, "shape": case.shape, "error": str(error)}
        else:
            row["peers"] = await self.peers.measure(case.peer)
        self.add(row)

    async def _routes(self, case: cases.Case, call: Callable[[], Any]) -> None:
        """A row for every kernel that takes this call."""
        dev, number, seen = self.clock.dev, 0, set()
        try:
            while True:
                dev.force = number
                row = self.row(case, await self.clock.call(call))
                if row["route"] not in seen:
                    self.add(row)
                seen.add(row["route"])
                number += 1
        except IndexError:  # no further route
            pass
        finally:
            dev.force = None

    def add(self, row: Row) -> None:
        """Keep it and show it."""
        self.rows.append(row)
        self.tell(table.line(row))

    def row(self, case: cases.Case, times: Times) -> Row:
        """The time, and what it is worth against this run's limits."""
        s = times.ms / 1e3
        rate, moved = case.flop / s / 1e9, case.nbytes / s / 1e9
        limits = self.limits
        share = max(rate / limits["multiply_add"], moved / limits["copy"])
        return {
            "what": case.what, "shape": case.shape, "gpu_ms": times.gpu_ms,
            "wall_ms": times.wall_ms, "first_ms": times.first_ms, "gflops": rate or None,
            "gbs": moved, "of_limit": share, "of_tile": rate / limits["tile"] if rate else None,
            "route": times.route,
        }  # fmt: skip
