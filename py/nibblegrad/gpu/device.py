"""What both devices share: storages that free themselves, views of them, and a call to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ..core.errors import PlanError
from ..core.launch import STEP_SLOTS, Sym
from ..core.schema import Dims, Info


class Storage:
    """Bytes on a device, freed when nothing refers to them."""

    def __init__(self, device: Device, nbytes: int):
        self.device, self.nbytes = device, nbytes
        self.handle: Any = device.alloc(nbytes)

    def __del__(self) -> None:
        if handle := getattr(self, "handle", None):
            self.device.free(handle)
            self.handle = None


@dataclass(frozen=True)
class View:
    """A tensor's bytes: a range of a storage."""

    storage: Storage
    offset: int
    info: Info

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor."""
        return self.info.dtype.nbytes(self.info.shape)


@dataclass
class Call:
    """One op applied: sizes, where its inputs lie, where its outputs go."""

    op: Any
    d: Dims
    args: list[View | None]
    outs: list[View]
    attrs: dict[str, Any]
    key: Any = None


class Recording:
    """A plan being recorded: its calls or records, its step symbols, what it keeps alive."""

    def __init__(self, step: dict[str, str]):
        if len(step) > STEP_SLOTS:
            raise PlanError(f"record: at most {STEP_SLOTS} step values, got {len(step)}")
        self.step = {name: Sym(name, i, kind) for i, (name, kind) in enumerate(step.items())}
        self.keep: set[Storage] = set()
        self.scratch: set[Any] = set()

    def touch(self, call: Call) -> None:
        """Keep what the call uses from outside for as long as the plan lives. Its own scratch
        goes, so that a later call of the plan may take its place."""
        used = (v.storage for v in call.args if v)
        self.keep.update(s for s in used if id(s) not in self.scratch)
        self.scratch.update(id(v.storage) for v in call.outs)


class Device(Protocol):
    """The verbs."""

    name: str

    def alloc(self, nbytes: int) -> Any:
        """A handle of at least nbytes."""
        ...

    def free(self, handle: Any) -> None:
        """Give a handle back."""
        ...

    def write(self, handle: Any, offset: int, data: Any) -> None:
        """Bytes in, after everything run before."""
        ...

    async def read(self, handle: Any, offset: int, nbytes: int) -> bytes:
        """Bytes out, after everything run before."""
        ...

    def run(self, call: Call) -> None:
        """Run now, or append to the recording."""
        ...

    def begin(self, step: dict[str, str]) -> Recording:
        """Start recording: from here on, calls are kept and not run."""
        ...

    def end(self) -> Any:
        """Stop recording; what `replay` takes."""
        ...

    def replay(self, plan: Any, values: dict[str, float]) -> None:
        """Run a recorded plan with these step values."""
        ...

    def drop(self, plan: Any) -> None:
        """Forget a recorded plan."""
        ...

    def stats(self) -> dict[str, int]:
        """Bytes and counts, where they are counted: live, peak, pooled, buffers, dispatches."""
        ...
