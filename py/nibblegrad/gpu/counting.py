"""A device that only counts: ops run nowhere, buffers are numbers. For estimates."""

from __future__ import annotations

from typing import Any

from .device import Call, Recording
from .memory import Memory
from .records import PARAM_STRIDE, size_class


class CountingPool:
    """web/runtime/pool.js without buffers: ids by size class, bytes counted."""

    def __init__(self) -> None:
        self.sizes: list[int] = [0]
        self.idle: dict[int, list[int]] = {}
        self.live = self.peak = self.pooled = 0

    def alloc(self, nbytes: int) -> int:
        """An id, of the pool where one of this class is idle."""
        size = size_class(nbytes)
        ids = self.idle.get(size)
        if ids:
            number = ids.pop()
            self.pooled -= size
        else:
            number = len(self.sizes)
            self.sizes.append(size)
        self.live += size
        self.peak = max(self.peak, self.live + self.pooled)
        return number

    def release(self, number: int) -> None:
        """Back to the pool."""
        size = self.sizes[number]
        self.live -= size
        self.pooled += size
        self.idle.setdefault(size, []).append(number)

    def trim(self) -> None:
        """Forget what is idle."""
        self.idle.clear()
        self.pooled = 0


class CountingDevice(Memory):
    """Takes every verb of a device and answers with zeros; `stats()` tells what a device with this
    `like`'s limits and routes would hold."""

    name = "counting"

    def __init__(self, limits: dict[str, int], caps: Any, opener: Any = None):
        super().__init__(CountingPool(), limits)
        self.caps, self._opener = caps, opener
        self.dummy = self.alloc(PARAM_STRIDE)

    def write(self, handle: int, offset: int, data: Any) -> None:
        """Nothing to write to."""

    async def read(self, handle: int, offset: int, nbytes: int) -> bytes:
        """Zeros."""
        return bytes(nbytes)

    async def open_source(self, where: str) -> Any:
        """A file whose header is read and whose weights are only counted."""
        return HeaderSource(await self._opener(where))

    def run(self, call: Call) -> None:
        """Keep what a recording would keep."""
        if self.recording:
            self.recording.touch(call)

    def begin(self, step: dict[str, str]) -> Recording:
        """Count as scratch from here on."""
        self.recording = Recording(step)
        return self.recording

    def end(self) -> Recording:
        """The recording, empty but for what it keeps alive."""
        done, self.recording = self.recording, None
        return done

    def replay(self, plan: Recording, values: dict[str, float]) -> None:
        """Nothing runs."""

    def drop(self, plan: Recording) -> None:
        """Let go of what it kept."""
        plan.keep.clear()

    def trim(self) -> None:
        """As a device's."""
        self.trim_arena()
        self.rt.trim()

    def stats(self) -> dict[str, int]:
        """Bytes: live, peak, pooled."""
        return {"live": self.rt.live, "peak": self.rt.peak, "pooled": self.rt.pooled}


class HeaderSource:
    """A source of which ranges are read but nothing is streamed."""

    def __init__(self, inner: Any):
        self.size, self.read = inner.size, inner.read

    async def stream(self, offset: int, nbytes: int, handle: int, at: int, progress: Any) -> None:
        """Counted when its buffer was made."""
        progress(nbytes)
