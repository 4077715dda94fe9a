"""Every accepting route of the matrix products, every tile of it: how exact, and how fast.

    build.py run tests/bench/scripts/routes.py -- [OP[:FORMAT]:MxNxK ..] [--tiles] [--precision=..]

Error is the largest difference to the last (naive) route, and the root of the mean square, both
over the root of the mean square of its result. Time is of one call among many in one plan: a long
plan's less a short one's, the best of some. --tiles tries each entry of ops/tiles' lists alone.
"""

import math
import random
import struct
import sys
import time
from array import array

import nibblegrad as ng
from nibblegrad.core.dtype import DTYPES
from nibblegrad.gpu.link import link
from nibblegrad.ops import tiles
from nibblegrad.ops.op import CATALOGUE
from nibblegrad.tensor.tensor import empty

SMALL = ["linear:q4_1:17x64x64", "linear_grad_x:q4_0:33x64x96", "linear_dW:40x36x64", "mm:40x36x48"]
FORMATS = ("q4_1", "q4_0", "q8_0", "f16", "f32")
LARGE = [
    *[f"linear:q4_1:512x{n}x{n}" for n in (2048, 4096)],
    *[f"linear:{kind}:512x4096x4096" for kind in FORMATS[1:]],
    *[f"linear:q4_1:{m}x8192x8192" for m in (1, 2, 4, 8)],
    *[f"linear:{kind}:1x8192x8192" for kind in FORMATS[1:]],
    *[f"linear:q4_1:{s}" for s in ("1x1536x576", "1x49152x576", "512x1536x576", "512x576x1536")],
    *[f"linear_grad_x:q4_1:512x{n}x{n}" for n in (2048, 4096)],
    *[f"linear_dW:512x{n}x{n}" for n in (2048, 4096)],
    *[f"mm:{n}x{n}x{n}" for n in (1024, 2048, 4096)],
]
TARGET = 0.05  # seconds of work in a timed plan
SLOW = 0.05  # a route slower than this is timed once
LISTS = {"_matrix": "MATRIX", "_shared": "TILES", "_row": "ROWS"}


def block(kind: str, rng: random.Random) -> bytes:
    """One block of a stored format, of plausible values."""
    if kind in ("f32", "f16"):
        return struct.pack("<f" if kind == "f32" else "<e", rng.gauss(0, 0.05))
    codes = rng.randbytes(32 if kind == "q8_0" else 16)
    if kind == "q4_1":
        return struct.pack("<ee", rng.uniform(0.01, 0.02), -rng.uniform(0.08, 0.15)) + codes
    scale = rng.uniform(0.01, 0.02) / (16 if kind == "q8_0" else 1)
    return struct.pack("<e", scale) + codes


def filled(shape: tuple[int, ...], kind: str, seed: int):
    """A tensor of 4099 random blocks over and over: rows differ."""
    rng = random.Random(seed)
    run = b"".join(block(kind, rng) for _ in range(4099))
    nbytes = DTYPES[kind].nbytes(shape)
    return empty(shape, kind).write_((run * (nbytes // len(run) + 1))[:nbytes])


def arguments(name: str, kind: str, m: int, n: int, k: int) -> list:
    if name == "linear":
        return [filled((m, k), "f32", 1), filled((n, k), kind, 2)]
    if name == "linear_grad_x":
        return [filled((m, n), "f32", 1), filled((n, k), kind, 2)]
    if name == "linear_dW":
        return [filled((m, n), "f32", 1), filled((m, k), "f32", 2)]
    return [filled((m, k), "f32", 1), filled((k, n), "f32", 2)]


async def seconds(dev, op, args: list) -> float:
    """GPU time of one call of the route that is forced."""
    once = await replays(dev, op, args, 1, 1)
    if once > SLOW:
        return once
    count = max(8, min(400, math.ceil(TARGET / once)))
    short, long = [await replays(dev, op, args, many, 7) for many in (count, 4 * count)]
    return (long - short) / (3 * count)


async def replays(dev, op, args: list, many: int, runs: int) -> float:
    """Seconds of a plan of so many calls: the least of some runs after one to warm up."""
    with ng.no_grad(), ng.record() as plan:
        for _ in range(many):
            out = op(*args)
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        plan.replay()
        await dev.read(out._view.storage.handle, 0, 4)
        times.append(time.perf_counter() - start)
    dev.drop(plan._plan)
    return min(times[1:])


async def result(dev, op, args: list) -> array:
    with ng.no_grad():
        return array("f", await op(*args).tobytes())


def errors(got: array, want: array) -> str:
    """Over some 20,000 places, the last ones among them."""
    step = max(1, len(want) // 20000) | 1
    pairs = [*zip(got[::step], want[::step], strict=True), *zip(got[-64:], want[-64:], strict=True)]
    norm = math.sqrt(sum(w * w for _, w in pairs) / len(pairs)) or 1.0
    off = [abs(g - w) / norm for g, w in pairs]
    mean = math.sqrt(sum(d * d for d in off) / len(off))
    return f"{max(off, key=lambda d: (d != d, d)):9.1e}{mean:9.1e}"


def variants(kernel: str, each: bool) -> list:
    """The tile lists to try a kernel with: the one that is there, or each entry alone."""
    name = next((v for k, v in LISTS.items() if kernel.endswith(k)), "")
    found = getattr(tiles, name, None)
    return [(found, [entry]) for entry in found] if each and found else [(None, [])]


async def case(dev, text: str, each: bool) -> None:
    name, *kind, sizes = text.split(":")
    m, n, k = (int(v) for v in sizes.split("x"))
    op = CATALOGUE[name]
    args = arguments(name, kind[0] if kind else "f32", m, n, k)
    infos = [a._view.info for a in args] + [None] * (len(op.names) - len(args))
    found = op.accepting(op.infer(infos, {}), dev.caps)
    moved = sum(a.nbytes for a in args)
    dev.force = len(found) - 1
    want = await result(dev, op, args)
    for route, launch in enumerate(found):
        for entries, alone in variants(launch.kernel, each):
            kept = entries and entries[:]
            if entries:
                entries[:] = alone
            dev.force = route
            label = link(op.accepting(op.infer(infos, {}), dev.caps)[route]).label
            try:
                off = errors(await result(dev, op, args), want)
                s = await seconds(dev, op, args)
                rate = f"{2 * m * n * k / s / 1e12:9.3f} TFLOP/s{moved / s / 1e9:9.1f} GB/s"
                print(f"{text:32}{s * 1e6:12.1f} us{rate}  off{off}  {label}", flush=True)
            except Exception as error:
                print(f"{text:32} FAILED {label}: {str(error)[:600]}", flush=True)
            finally:
                dev.force = None
                if entries:
                    entries[:] = kept


async def main() -> None:
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    flags = dict(a[2:].partition("=")[::2] for a in sys.argv[1:] if a.startswith("--"))
    dev = await ng.device("webgpu")
    ng.set_float32_matmul_precision(flags.get("precision", "medium"))
    about = dev.info["description"] or f"{dev.info['vendor']} {dev.info['architecture']}"
    print(f"routes on {about}, {dev.caps}; features {' '.join(dev.info['features'])}")
    for text in words or (SMALL if dev.caps.software else LARGE):
        await case(dev, text, "tiles" in flags)
        dev.trim()


await main()
