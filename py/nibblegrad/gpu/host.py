"""The host device: an op's numpy body is what runs. For CPython, tests, and the curious."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..core.errors import DeviceError, FormatError, PlanError
from ..core.launch import Sym, pack_step
from ..core.lazy import np
from ..ops.formats import dequantise
from .device import Call, Recording, View


class FileSource:
    """A local file, read in ranges."""

    def __init__(self, where: str):
        self.path, self.size = Path(where), Path(where).stat().st_size

    async def read(self, offset: int, nbytes: int) -> bytes:
        """Bytes of a range; fewer at the end of the file."""
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(nbytes)

    async def stream(self, offset: int, nbytes: int, handle: Any, at: int, progress: Any) -> None:
        """A range into a storage."""
        data = await self.read(offset, nbytes)
        handle[0][at : at + len(data)] = np.frombuffer(data, np.uint8)
        progress(nbytes)


async def open_file(where: str) -> FileSource:
    """A FileSource, or FormatError if there is no such file."""
    if not Path(where).is_file():
        raise FormatError(f"load: there is no file '{where}'")
    return FileSource(where)


_NUMPY = {"f32": "float32", "i32": "int32", "u32": "uint32", "u8": "uint8", "i8": "int8",
          "bool": "bool"}  # fmt: skip


class HostPlan(Recording):
    """Calls, kept to be run again."""

    def __init__(self, step: dict[str, str]):
        super().__init__(step)
        self.calls: list[Call] = []

    def __str__(self) -> str:
        return "\n".join(f"{c.op.name} {[list(o.info.shape) for o in c.outs]}" for c in self.calls)


class HostDevice:
    """numpy arrays of bytes, each no larger than a browser's buffers get."""

    name = "host"
    double = False  # hold f32 as float64, for finite differences in tests
    most = 1 << 32

    def __init__(self) -> None:
        self.recording: HostPlan | None = None

    def alloc(self, nbytes: int) -> Any:
        """Zeroed bytes, whole words."""
        if nbytes > self.most:
            raise DeviceError(f"host: a buffer of {nbytes} bytes; this device allows {self.most}")
        return [np.zeros(-(-nbytes // 4) * 4 * (1 + self.double), np.uint8)]

    def free(self, handle: Any) -> None:
        """The array goes with its last reference."""
        handle.clear()

    def write(self, handle: Any, offset: int, data: Any) -> None:
        """Bytes in."""
        self._not_recording("write")
        data = np.frombuffer(data, np.uint8)
        handle[0][offset : offset + data.size] = data

    async def read(self, handle: Any, offset: int, nbytes: int) -> bytes:
        """Bytes out."""
        self._not_recording("read")
        return handle[0][offset : offset + nbytes].tobytes()

    def open_source(self, where: str) -> Any:
        """A file to load from, as a coroutine."""
        return open_file(where)

    def trim(self) -> None:
        """Nothing is pooled here."""

    def stats(self) -> dict[str, int]:
        """Nothing is counted here."""
        return {}

    def _not_recording(self, what: str) -> None:
        if self.recording:
            raise PlanError(f"plan: {what} while recording; do it before or after")

    def run(self, call: Call) -> None:
        """Run the body now, or keep the call."""
        if self.recording:
            self.recording.touch(call)
            self.recording.calls.append(call)
        else:
            self._execute(call, {})

    def begin(self, step: dict[str, str]) -> HostPlan:
        """Record."""
        self.recording = HostPlan(step)
        return self.recording

    def end(self) -> HostPlan:
        """The recorded calls."""
        plan, self.recording = self.recording, None
        assert plan is not None
        return plan

    def replay(self, plan: HostPlan, values: dict[str, float]) -> None:
        """Run every call again."""
        pack_step(plan.step, values)  # refuses missing and unknown values
        for call in plan.calls:
            self._execute(call, values)

    def drop(self, plan: HostPlan) -> None:
        """Forget a recorded plan."""
        plan.calls.clear()

    def array(self, view: View) -> Any:
        """The view as a numpy array; a weight format as its floats."""
        wide = 1 + (self.double and view.info.dtype.kind == "f")
        start = view.offset * (1 + self.double)
        raw = view.storage.handle[0][start : start + view.nbytes * wide]
        dtype = view.info.dtype
        if dtype.kind == "w":
            return dequantise(raw, dtype, view.info.shape)
        name = "float64" if wide == 2 else _NUMPY[dtype.name]
        return raw.view(name).reshape(view.info.shape)

    def _execute(self, call: Call, step: dict[str, float]) -> None:
        attrs = {k: step[v.name] if isinstance(v, Sym) else v for k, v in call.attrs.items()}
        arrays = [view and self.array(view) for view in call.args]
        with np.errstate(all="ignore"):  # NaN and infinity are values, as on a GPU
            result = call.op.body(*arrays, **attrs)
        results = result if isinstance(result, tuple) else (result,)
        for out, value in zip(call.outs, results, strict=False):
            self.array(out)[...] = value
