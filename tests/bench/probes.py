"""What this GPU gives at most, measured in the same run: a copy, multiply-adds from registers, and
a plain f32 product by 128 x 128 tiles. The kernels are this bench's own, in probes/."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

from nibblegrad.gpu.records import Records
from nibblegrad.gpu.webgpu import to_js_bytes

from .clock import Clock

WORKGROUP, ACROSS = 256, 32768


class Probe:
    """One kernel over buffers of its own, installed as a plan of `repeats` dispatches."""

    def __init__(self, dev: Any, name: str, sizes: list[int], grid: tuple[int, int, int],
                 repeats: int, **override: int):  # fmt: skip
        self.dev, self.repeats = dev, repeats
        self.buffers = [int(dev.rt.alloc(size)) for size in sizes]
        text = (Path(__file__).parent / f"probes/{name}.wgsl").read_text()
        letters = "r" * (len(sizes) - 1) + "w"
        label = f"probe {name}"
        pipeline = int(dev.rt.pipeline(label, text, f"{letters}|uu", json.dumps(override)))
        words = [w for b, size in zip(self.buffers, sizes, strict=True) for w in (b, 0, size)]
        group = int(dev.rt.bind(pipeline, to_js_bytes(array("I", words))))
        records = Records()
        for _ in range(repeats):
            records.dispatch(pipeline, group, b"", grid)
        self.plan = int(
            dev.rt.install(to_js_bytes(records.words), to_js_bytes(bytes(records.params)))
        )
        self._step = to_js_bytes(bytes(256))

    def replay(self) -> None:
        """As a Plan's."""
        self.dev.rt.replay(self.plan, self._step)

    def drop(self) -> None:
        """Its plan and its bytes go."""
        self.dev.rt.drop(self.plan)
        for buffer in self.buffers:
            self.dev.rt.release(buffer)
        self.dev.trim()


def copy(dev: Any) -> tuple[Probe, float]:
    """The probe and the bytes one dispatch moves: 512 MiB read and written where a binding may."""
    most = 16 << 20 if dev.caps.software else 512 << 20
    size = min(most, dev.limits["maxStorageBufferBindingSize"] >> 20 << 20)
    groups = size // 16 // WORKGROUP
    across = min(groups, ACROSS)
    size = groups // across * across * WORKGROUP * 16
    probe = Probe(dev, "copy", [size, size], (across, groups // across, 1), _times(dev, 8))
    return probe, 2.0 * size


def multiply_add(dev: Any) -> tuple[Probe, float]:
    """The probe and the operations of a dispatch; a multiply-add is two."""
    groups, steps = (8, 64) if dev.caps.software else (4224, 2048)
    threads = groups * WORKGROUP
    sizes = [256, 4 * threads]
    probe = Probe(dev, "multiply_add", sizes, (groups, 1, 1), _times(dev, 4), STEPS=steps)
    return probe, 2.0 * 16 * steps * threads


def tile(dev: Any) -> tuple[Probe, float]:
    """The probe and the operations of a dispatch."""
    n = 128 if dev.caps.software else 4096
    sizes = [4 * n * n] * 3
    probe = Probe(dev, "tile", sizes, (n // 128, n // 128, 1), _times(dev, 4), N=n)
    return probe, 2.0 * n**3


def _times(dev: Any, repeats: int) -> int:
    return 1 if dev.caps.software else repeats


async def measure(clock: Clock) -> dict[str, float]:
    """GB/s of a copy, GFLOP/s of multiply-adds and of the tile."""
    dev, found = clock.dev, {}
    spin, work = multiply_add(dev)

    async def wake() -> None:
        spin.replay()
        await clock.passes.idle()

    clock.wake = wake
    await clock.part()
    found["multiply_add"] = await _rate(clock, spin, work)
    for name, make in (("tile", tile), ("copy", copy)):
        probe, work = make(dev)
        found[name] = await _rate(clock, probe, work)
        probe.drop()
    return found


async def _rate(clock: Clock, probe: Probe, work: float) -> float:
    """1e9 a second."""
    gpu, wall = await clock.plan(probe, probe.repeats)
    return work / (gpu or wall) / 1e6
