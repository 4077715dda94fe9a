"""The WebGPU device: turns calls into records for the JS runtime. Knows bytes, never maths.

The only file that meets `pyodide` and JavaScript.
"""

from __future__ import annotations

import asyncio
import json
from array import array
from collections.abc import Coroutine
from typing import Any

from ..core.errors import DeviceError, FormatError, PlanError
from ..core.launch import Launch, pack, pack_step
from .device import Call, View
from .link import link
from .memory import Memory
from .records import PARAM_STRIDE, Records, WebGPUPlan, describe, written

EAGER_RECORDS = 1024


class JsSource:
    """A file or URL that JavaScript reads: what is streamed never enters the WASM heap."""

    def __init__(self, runtime: Any, number: int, size: int):
        self.rt, self.number, self.size = runtime, number, size

    async def read(self, offset: int, nbytes: int) -> bytes:
        """Bytes of a range; fewer at the end of the file."""
        try:
            return (await self.rt.readSource(self.number, offset, nbytes)).to_bytes()
        except Exception as error:
            raise FormatError(f"load: {_text(error)}") from None

    async def stream(self, offset: int, nbytes: int, handle: int, at: int, progress: Any) -> None:
        """A range into a buffer, in chunks; progress(bytes so far)."""
        from pyodide.ffi import create_proxy  # type: ignore[import-not-found]

        proxy = create_proxy(progress)
        try:
            await self.rt.streamSource(self.number, offset, nbytes, handle, at, proxy)
        except Exception as error:
            raise FormatError(f"load: {_text(error)}") from None
        finally:
            proxy.destroy()


class WebGPUDevice(Memory):
    """The device of the page's worker."""

    name = "webgpu"

    def __init__(self, runtime: Any, info: dict[str, Any], caps: Any):
        super().__init__(runtime, info["limits"])
        self.info, self.caps = info, caps
        self.recording: WebGPUPlan | None = None
        self.pending = Records()
        self._compiled: dict[Any, tuple[int, bytes, Launch]] = {}
        self._pipelines: dict[str, int] = {}
        self._groups: dict[tuple[int, ...], int] = {}
        self.force: int | None = None
        self.dummy = self.alloc(PARAM_STRIDE)

    # memory ----------------------------------------------------------------------------------

    def trim(self) -> None:
        """Destroy every pooled buffer that nothing uses."""
        self.flush()
        self._groups.clear()
        self.trim_arena()
        self.rt.trim()

    def stats(self) -> dict[str, int]:
        """Bytes and counts, as the runtime counts them: live, peak, pooled, buffers, dispatches."""
        return json.loads(self.rt.stats())

    def write(self, handle: int, offset: int, data: Any) -> None:
        """Bytes in; length a multiple of four."""
        if self.recording:
            raise PlanError("plan: write while recording; do it before or after")
        self.flush()
        self.rt.write(handle, offset, to_js_bytes(data))

    async def read(self, handle: int, offset: int, nbytes: int) -> bytes:
        """Bytes out, once everything before has run."""
        if self.recording:
            raise PlanError("plan: read while recording; do it before or after")
        self.flush()
        if nbytes == 0:
            return b""
        try:
            found = await self.rt.read(handle, offset, -(-nbytes // 4) * 4)
        except Exception as error:
            raise _device_error(error) from None
        return found.to_bytes()[:nbytes]

    async def open_source(self, where: str) -> JsSource:
        """A file of the page, or a URL, to load from; FormatError if there is none."""
        try:
            found = json.loads(await self.rt.openSource(where))
        except Exception as error:
            raise FormatError(f"load: {_text(error)}") from None
        return JsSource(self.rt, found["id"], found["size"])

    # running ---------------------------------------------------------------------------------

    def run(self, call: Call) -> None:
        """Append the call's dispatch to the recording or to the pending records."""
        target = self.recording.records if self.recording else self.pending
        if self.recording:
            self.recording.touch(call)
        if not any(0 not in v.info.shape for v in written(call)):
            return
        known = None if call.key is None else (call.key, self.caps.precision)
        compiled = self._compiled.get(known)
        if compiled is None or self.force is not None:
            compiled = self._compile(call)
            if known is not None and self.force is None:
                self._compiled[known] = compiled
        pipeline, params, launch = compiled
        group = self._bind(pipeline, call, launch)
        target.dispatch(pipeline, group, params, launch.grid)
        if self.recording:
            self.recording.labels.append(describe(call, launch))
        elif len(self.pending) >= EAGER_RECORDS:
            self.flush()

    def _compile(self, call: Call) -> tuple[int, bytes, Launch]:
        if self.force is None:
            launch = call.op.select(call.d, self.caps)
        else:
            launch = call.op.accepting(call.d, self.caps)[self.force]
        linked = link(launch)
        pipeline = self._pipelines.get(linked.label)
        if pipeline is None:
            numbers = json.dumps(launch.override)
            pipeline = int(self.rt.pipeline(linked.label, linked.source, linked.layout, numbers))
            self._pipelines[linked.label] = pipeline
        return pipeline, pack(launch.params), launch

    def _bind(self, pipeline: int, call: Call, launch: Launch) -> int:
        second = launch.weights or tuple(
            name
            for name, term in zip(call.op.names, call.op.schema.inputs, strict=True)
            if term.kind == "w" and launch.link
        )
        by_name = dict(zip(call.op.names, call.args, strict=True))
        first = [v for name, v in by_name.items() if name not in second] + list(call.outs)
        words = [w for v in (*first, *(by_name[n] for n in second)) for w in self._range(v)]
        key = (pipeline, *words)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = int(self.rt.bind(pipeline, to_js_bytes(array("I", words))))
        return group

    def _range(self, view: View | None) -> tuple[int, int, int]:
        if view is None:
            return (self.dummy, 0, 16)
        nbytes = max(16, -(-view.nbytes // 16) * 16)  # whole vec4s; buffers are 256-byte multiples
        if nbytes > self.limits["maxStorageBufferBindingSize"]:
            limit = self.limits["maxStorageBufferBindingSize"]
            raise DeviceError(
                f"webgpu: a tensor of {nbytes} bytes; this device binds at most {limit}"
            )
        return (view.storage.handle, view.offset, nbytes)

    def flush(self) -> None:
        """Submit the pending records."""
        if not len(self.pending):
            return
        records, self.pending = self.pending, Records()
        if self.rt.submit(to_js_bytes(records.words), to_js_bytes(records.params)):
            self._groups.clear()

    # plans -----------------------------------------------------------------------------------

    def begin(self, step: dict[str, str]) -> WebGPUPlan:
        """Record from here on."""
        if self.recording:
            raise PlanError("record: already recording; plans do not nest")
        self.flush()
        self.recording = WebGPUPlan(step)
        return self.recording

    def end(self) -> WebGPUPlan:
        """Install what was recorded: one crossing."""
        plan, self.recording = self.recording, None
        assert plan is not None
        words, params = plan.records.words, plan.records.params
        plan.id = int(self.rt.install(to_js_bytes(words), to_js_bytes(params)))
        return plan

    def replay(self, plan: WebGPUPlan, values: dict[str, float]) -> None:
        """One crossing, one submit."""
        self.flush()
        self.rt.replay(plan.id, to_js_bytes(pack_step(plan.step, values)))

    def drop(self, plan: WebGPUPlan) -> None:
        """Forget an installed plan."""
        self.rt.drop(plan.id)


def to_js_bytes(data: Any) -> Any:
    """A Uint8Array with a copy of these bytes."""
    from pyodide.ffi import to_js  # type: ignore[import-not-found]

    return to_js(memoryview(data).cast("B"))


class Done(list[Any]):
    """A finished list that may be awaited all the same."""

    def __await__(self) -> Any:
        yield from ()
        return self


def finish(work: Coroutine[Any, Any, Any]) -> Any:
    """The resulting list, if Python may wait here (Pyodide with JSPI); else a task to await."""
    try:
        from pyodide.ffi import can_run_sync, run_sync  # type: ignore[import-not-found]
    except ImportError:
        return asyncio.ensure_future(work)
    return Done(run_sync(work)) if can_run_sync() else asyncio.ensure_future(work)


def to_js_list(values: list[int]) -> Any:
    """A JS array of these numbers; the list itself where there is no JS."""
    try:
        from pyodide.ffi import to_js  # type: ignore[import-not-found]
    except ImportError:
        return list(values)
    return to_js(list(values))


def _text(error: Exception) -> str:
    return str(error).removeprefix("Error: ")


def _device_error(error: Exception) -> Exception:
    return DeviceError(f"webgpu: {_text(error)}")


async def open_device(caps_of: Any, power: str = "high-performance") -> WebGPUDevice:
    """The page's adapter and device; DeviceError says what is missing and what to do."""
    try:
        import nibblegrad_runtime as runtime  # type: ignore[import-not-found]
    except ImportError:
        raise DeviceError(
            "webgpu: the JS runtime is not registered here; run in a page that boots "
            "web/runtime (python3 build.py run SCRIPT.py), or use device='host' with numpy"
        ) from None
    try:
        info = json.loads(await runtime.requestDevice(json.dumps({"powerPreference": power})))
    except Exception as error:
        raise _device_error(error) from None
    return WebGPUDevice(runtime, info, caps_of(info))
