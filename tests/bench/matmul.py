"""Every route of linear and its input gradient that this adapter accepts, at SmolLM2-135M's shapes.

Time is the GPU's: a plan of some repeats, replayed, until its result can be read.
"""

import math
import struct
import time
from array import array

import nibblegrad as ng
from nibblegrad.core.dtype import DTYPES
from nibblegrad.gpu.link import link
from nibblegrad.ops.op import CATALOGUE
from nibblegrad.tensor.tensor import empty

# (n, k) of q_proj and o_proj, k_proj and v_proj, gate_proj and up_proj, down_proj, the head
SHAPES = [(576, 576), (192, 576), (1536, 576), (576, 1536), (49152, 576)]
BLOCKS = {
    "q4_1": struct.pack("<ee", 0.01, -0.08) + bytes(range(16)),
    "q8_0": struct.pack("<e", 0.001) + bytes(range(32)),
    "f32": struct.pack("<f", 0.05),
}
SOFTWARE_FLOP = 2e8  # beyond it a software adapter needs seconds
SECONDS, RUNS = 0.1, 3


def weight(n: int, k: int, kind: str):
    block = BLOCKS[kind]
    return empty((n, k), kind).write_(block * (DTYPES[kind].nbytes((n, k)) // len(block)))


async def measure(dev, op, x, w, repeats: int, runs: int) -> float:
    """Seconds of one call, from the best of some runs of a plan of `repeats` calls."""
    with ng.no_grad(), ng.record() as plan:
        for _ in range(repeats):
            out = op(x, w)
    times = []
    for _ in range(runs + 1):  # the first warms up
        start = time.perf_counter()
        plan.replay()
        await dev.read(out._view.storage.handle, 0, 4)
        times.append(time.perf_counter() - start)
    dev.drop(plan._plan)
    return min(times[1:]) / repeats


async def seconds(dev, op, x, w, route: int) -> float:
    """Of one call of that route, repeated for about SECONDS where it is short."""
    dev.force = route
    best = await measure(dev, op, x, w, 1, 1)
    if best < 5 * SECONDS:
        best = await measure(dev, op, x, w, min(200, math.ceil(SECONDS / best)), RUNS)
    dev.force = None
    return best


async def table(dev, op, kind: str, m: int, n: int, k: int, w) -> None:
    width = k if op.name == "linear" else n
    x = empty((m, width)).write_(array("f", [0.5, -0.25] * (m * width // 2)).tobytes())
    infos = [x._view.info, w._view.info] + [None] * (len(op.names) - 2)
    flop = 2 * m * n * k
    moved = w.nbytes + x.nbytes + 4 * m * (n + k - width)
    for route, launch in enumerate(op.accepting(op.infer(infos, {}), dev.caps)):
        s = await seconds(dev, op, x, w, route)
        name = f"{op.name:14}{kind:6}{f'{m}x{n}x{k}':>16}"
        rate = f"{flop / s / 1e9:10.2f} GFLOP/s{moved / s / 1e9:8.2f} GB/s"
        print(f"{name}{s * 1e3:10.3f} ms{rate}  {link(launch).label}")


async def main() -> None:
    dev = await ng.device("webgpu")
    about = dev.info["description"] or f"{dev.info['vendor']} {dev.info['architecture']}"
    print(f"matmul: m x n x k on {about}{' (software)' * dev.caps.software}; the first route runs")
    rows = [1, 64] if dev.caps.software else [1, 64, 256, 1024]
    try:
        for kind in BLOCKS:
            for n, k in SHAPES:
                w = weight(n, k, kind)
                for m in rows:
                    if dev.caps.software and 2 * m * n * k > SOFTWARE_FLOP:
                        continue
                    for name in ("linear", "linear_grad_x"):
                        await table(dev, CATALOGUE[name], kind, m, n, k, w)
                del w
                dev.trim()
    finally:
        dev.force = None


await main()
