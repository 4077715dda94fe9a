"""Every route of convolution and its weight gradient that this adapter accepts, at CNN shapes.

Time is the GPU's: a plan of some repeats, replayed, until its result can be read.
"""

import math
import time
from array import array

import nibblegrad as ng
from nibblegrad.gpu.link import link
from nibblegrad.ops.op import CATALOGUE
from nibblegrad.tensor.tensor import empty

# input, weight, attributes: MobileNet's and ResNet's layers, an upsampler, a mel front end
SHAPES = [
    ((1, 3, 64, 64), (16, 3, 3, 3), {"stride": 2, "padding": 1}),
    ((1, 32, 28, 28), (32, 32, 3, 3), {"padding": 1}),
    ((1, 64, 28, 28), (128, 64, 1, 1), {}),
    ((1, 64, 28, 28), (64, 1, 3, 3), {"padding": 1, "groups": 64}),
    ((1, 64, 28, 28), (64, 16, 3, 3), {"padding": 1, "groups": 4}),
    ((1, 32, 14, 14), (32, 16, 2, 2), {"stride": 2, "transposed": True}),
    ((1, 80, 300), (64, 80, 3), {"padding": 1}),
]
SECONDS, RUNS = 0.1, 3


def filled(shape):
    """A tensor of two alternating numbers."""
    n = math.prod(shape)
    return empty(shape).write_(array("f", [0.5, -0.25] * (n // 2 + 1))[:n].tobytes())


async def measure(dev, call, repeats: int, runs: int) -> float:
    """Seconds of one call, from the best of some runs of a plan of `repeats` calls."""
    with ng.no_grad(), ng.record() as plan:
        for _ in range(repeats):
            out = call()
    times = []
    for _ in range(runs + 1):  # the first warms up
        start = time.perf_counter()
        plan.replay()
        await dev.read(out._view.storage.handle, 0, 4)
        times.append(time.perf_counter() - start)
    dev.drop(plan._plan)
    return min(times[1:]) / repeats


async def table(dev, op, args, attrs, macs: int, what: str) -> None:
    """A line a route."""
    infos = [a and a._view.info for a in args]
    d = op.infer(infos, {**op.defaults, **attrs})
    for route, launch in enumerate(op.accepting(d, dev.caps)):
        dev.force = route
        best = await measure(dev, lambda: op(*args, **attrs), 1, 1)
        if best < 5 * SECONDS:
            count = min(200, math.ceil(SECONDS / best))
            best = await measure(dev, lambda: op(*args, **attrs), count, RUNS)
        dev.force = None
        rate = f"{2 * macs / best / 1e9:9.2f} GFLOP/s"
        print(f"{what:44}{best * 1e3:10.3f} ms{rate}  {link(launch).label}")


async def main() -> None:
    dev = await ng.device("webgpu")
    about = dev.info["description"] or f"{dev.info['vendor']} {dev.info['architecture']}"
    print(f"conv: on {about}{' (software)' * dev.caps.software}; the first route runs")
    conv, grad = CATALOGUE["convolution"], CATALOGUE["convolution_grad_weight"]
    for shape, kernel, attrs in SHAPES:
        x, w = filled(shape), filled(kernel)
        y = conv(x, w, **attrs)
        positions = math.prod(x.shape if attrs.get("transposed") else y.shape) // (
            shape[1] if attrs.get("transposed") else y.shape[1]
        )
        macs = positions * math.prod(kernel)
        what = f"{'x'.join(map(str, shape))} {'x'.join(map(str, kernel))}"
        await table(dev, conv, [x, w, None], attrs, macs, what)
        small, large = (x, y) if attrs.get("transposed") else (y, x)
        how = {k: v for k, v in attrs.items() if k != "transposed"}
        await table(dev, grad, [small, large], {**how, "kernel": kernel[2:]}, macs, f"dW {what}")


await main()
