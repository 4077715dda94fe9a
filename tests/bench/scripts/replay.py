"""Script time of one dispatch: replayed from a plan, against WebGPU called from Python for each.

Timed is what the script does: encode and submit. The GPU, or the process that plays one, is waited
for outside the timing. Yet where cores are few, the system may run that process first, in the
middle of queue.submit(): the last column leaves the time inside submit() out, of all rows alike.
"""

import asyncio
import statistics
import time

import js
from pyodide.code import run_js
from pyodide.ffi import to_js

import nibblegrad as ng
from nibblegrad.gpu.link import link
from nibblegrad.ops.op import CATALOGUE

DISPATCHES, REPEATS, CALLED = 2000, 60, 500
LOOP = run_js("""(runtime, plan, step) => {
  const start = performance.now();
  runtime.replay(plan, step);
  return performance.now() - start;
}""")
# Counts the milliseconds inside queue.submit(); gives the count so far.
SUBMITTING = run_js("""(() => {
  let inside = 0;
  const submit = GPUQueue.prototype.submit;
  GPUQueue.prototype.submit = function (buffers) {
    const start = performance.now();
    submit.call(this, buffers);
    inside += performance.now() - start;
  };
  return () => inside;
})()""")


def to_object(value):
    return to_js(value, dict_converter=js.Object.fromEntries)


class Times:
    """Seconds of each repeat, and how many of them were inside submit()."""

    def __init__(self):
        self.whole, self.inside = [], []

    def add(self, run) -> None:
        before, start = SUBMITTING(), time.perf_counter()
        seconds = run()
        self.whole.append(time.perf_counter() - start if seconds is None else seconds)
        self.inside.append((SUBMITTING() - before) / 1e3)

    def row(self, dispatches: int) -> list[float]:
        """µs a dispatch: the best, the median, the median outside submit(); five warm up."""
        whole = self.whole[5:]
        outside = [w - i for w, i in zip(whole, self.inside[5:], strict=True)]
        found = (min(whole), statistics.median(whole), statistics.median(outside))
        return [seconds * 1e6 / dispatches for seconds in found]


async def idle(done) -> None:
    """Waits for the queue, and for its threads to go to sleep."""
    await done
    await asyncio.sleep(0.01)


def record(x):
    """Tiny dispatches whose pipelines and bind groups alternate, as a model's do."""
    y, kept = x, []
    with ng.no_grad(), ng.record() as plan:
        for _ in range(DISPATCHES // 2):
            y = ng.ops.silu(y) + x
            kept = [*kept[-31:], y]  # so that scratch, and with it bind groups, differ
    return plan, y


async def replayed(dev) -> list:
    """µs a dispatch of plan.replay(), called from Python, and of the JS under it, alone."""
    x = ng.tensor([0.5] * 64)
    plan, y = record(x)
    python, alone = Times(), Times()
    step = to_js(bytes(256))
    for _ in range(REPEATS):
        await idle(y.tobytes())
        python.add(plan.replay)
        await idle(y.tobytes())
        alone.add(lambda: LOOP(dev.rt, plan._plan.id, step) / 1e3)
    return [times.row(len(plan)) for times in (python, alone)]


class Called:
    """The same silu kernel, on a device of its own, through JS proxies."""

    async def open(self):
        adapter = await js.navigator.gpu.requestAdapter()
        self.device = device = await adapter.requestDevice()
        op = CATALOGUE["silu"]
        x = ng.tensor([0.5] * 64)
        linked = link(op.select(op.infer([x._view.info], {}), x.device.caps))
        module = device.createShaderModule(to_object({"code": linked.source}))
        layouts = [self.layout(letters) for letters in linked.layout.split("|")]
        together = device.createPipelineLayout(to_object({"bindGroupLayouts": layouts}))
        stage = {"module": module, "entryPoint": "main"}
        self.pipeline = device.createComputePipeline(
            to_object({"layout": together, "compute": stage})
        )
        self.groups = [self.group(at, text) for at, text in zip(layouts, linked.layout.split("|"),
                       strict=True)]  # fmt: skip
        self.offset = to_js([0])
        return self

    def layout(self, letters: str):
        kinds = {"r": "read-only-storage", "w": "storage", "u": "uniform"}
        entries = [
            {"binding": i, "visibility": 4,
             "buffer": {"type": kinds[c], "hasDynamicOffset": c == "u" and i == 0}}
            for i, c in enumerate(letters)
        ]  # fmt: skip
        return self.device.createBindGroupLayout(to_object({"entries": entries}))

    def group(self, layout, letters: str):
        made = [self.device.createBuffer(to_object({"size": 256, "usage": 0x40 | 0x80 | 8}))
                for _ in letters]  # fmt: skip
        entries = [{"binding": i, "resource": {"buffer": b}} for i, b in enumerate(made)]
        return self.device.createBindGroup(to_object({"layout": layout, "entries": entries}))

    def dispatch(self, work) -> None:
        work.setPipeline(self.pipeline)
        work.setBindGroup(0, self.groups[0])
        work.setBindGroup(1, self.groups[1], self.offset)
        work.dispatchWorkgroups(1)

    def each(self, count: int) -> None:
        """An encoder, a pass and a submit a dispatch, as eager code does it."""
        for _ in range(count):
            encoder = self.device.createCommandEncoder()
            work = encoder.beginComputePass()
            self.dispatch(work)
            work.end()
            self.device.queue.submit(to_js([encoder.finish()]))

    def shared(self, count: int) -> None:
        """One encoder, one pass and one submit for all of them."""
        encoder = self.device.createCommandEncoder()
        work = encoder.beginComputePass()
        for _ in range(count):
            self.dispatch(work)
        work.end()
        self.device.queue.submit(to_js([encoder.finish()]))

    async def time(self, run) -> list[float]:
        times = Times()
        for _ in range(REPEATS // 2):
            await idle(self.device.queue.onSubmittedWorkDone())
            times.add(lambda: run(CALLED))
        return times.row(CALLED)


async def main() -> None:
    dev = await ng.device("webgpu")
    about = dev.info["description"] or f"{dev.info['vendor']} {dev.info['architecture']}"
    print(f"replay: script time of a dispatch on {about}{' (software)' * dev.caps.software}")
    python, loop = await replayed(dev)
    called = await Called().open()
    each, shared = await called.time(called.each), await called.time(called.shared)
    rows = [
        (f"plan.replay() from Python, {DISPATCHES} dispatches", python),
        ("the JS replay alone", loop),
        ("WebGPU from Python, an encoder a dispatch", each),
        ("WebGPU from Python, one encoder for all", shared),
    ]
    print(f"  {'µs a dispatch':44}{'best':>9}{'median':>9}{'outside submit':>16}")
    for name, row in rows:
        best, median, outside = row
        ratio = f"{outside / python[2]:.1f} x"
        print(f"  {name:44}{best:9.3f}{median:9.3f}{outside:16.3f}  {ratio:>8}")
    called.device.destroy()


await main()
