"""Buffers of a device: pooled by the runtime, or of the arena that all plans' scratch shares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.errors import DeviceError
from .records import size_class


class Memory:
    """alloc and free over a runtime's pool. What counts bytes without a GPU shares this with the
    device that has one, so that the two cannot drift apart."""

    recording: Any = None
    _reserved = False

    def __init__(self, runtime: Any, limits: dict[str, int]):
        self.rt, self.limits = runtime, limits
        self._arena: dict[int, list[int]] = {}
        self._arena_ids: dict[int, int] = {}
        self._taken: dict[int, int] = {}  # arena buffers in use, and what was asked of each

    def alloc(self, nbytes: int) -> int:
        """A buffer id; while recording, one of the arena. DeviceError above the device's limit."""
        if nbytes > self.limits["maxBufferSize"]:
            limit = self.limits["maxBufferSize"]
            raise DeviceError(f"webgpu: a buffer of {nbytes} bytes; this device allows {limit}")
        if not self.recording:
            return int(self.rt.alloc(nbytes))
        return self._scratch(size_class(nbytes))

    def _scratch(self, size: int) -> int:
        """The smallest free arena buffer up to four times the size, or, once the largest plan's
        are reserved, of any size; else a new one: what is scratch for one plan serves all."""
        most = max(self._arena, default=0) if self._reserved else 4 * size
        fitting = [s for s, ids in self._arena.items() if ids and size <= s <= most]
        handle = self._arena[min(fitting)].pop() if fitting else self._grow(size)
        self._taken[handle] = size
        return handle

    def _grow(self, size: int) -> int:
        handle = int(self.rt.alloc(size))
        self._arena_ids[handle] = size
        self._arena.setdefault(size, [])
        return handle

    def free(self, handle: int) -> None:
        """Back to the arena or the runtime's pool."""
        if handle in self._arena_ids:
            del self._taken[handle]
            self._arena[self._arena_ids[handle]].append(handle)
        else:
            self.rt.release(handle)

    def arena(self) -> list[int]:
        """Bytes of every buffer of the arena, ascending."""
        return sorted(self._arena_ids.values())

    def reserve(self, sizes: Iterable[int]) -> None:
        """Grow the arena at once to what the largest plan needs, so that every other fits in."""
        self._reserved = True
        missing = list(sizes)
        for size in self.arena():
            if size in missing:
                missing.remove(size)
        for size in missing:
            handle = self._grow(size)
            self._arena[size].append(handle)

    def held(self) -> int:
        """Bytes asked of the arena and not given back: while recording, what is alive here."""
        return sum(self._taken.values())

    def trim_arena(self) -> None:
        """Give the arena's unused buffers to the pool."""
        self._reserved = False
        for ids in self._arena.values():
            while ids:
                handle = ids.pop()
                del self._arena_ids[handle]
                self.rt.release(handle)
