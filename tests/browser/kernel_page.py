"""Runs in the page: every accepting route of each case, with guard bytes round each buffer.

`data` is a list of cases; the answer is a list, a case an entry: one {label, outs, intact} a route.
"""

import base64
from dataclasses import replace

import nibblegrad as ng
from nibblegrad.core.dtype import DTYPES
from nibblegrad.core.schema import Info
from nibblegrad.gpu.device import Call, Storage, View
from nibblegrad.gpu.link import link
from nibblegrad.ops.op import CATALOGUE, Caps

GUARD = 64
NAN = b"\xde\xc0\xc0\x7f"  # a quiet NaN: what is read before it is written shows


class Guarded(Storage):
    """A storage with guard bytes after its end."""

    def __init__(self, device, nbytes):
        padded = -(-nbytes // 4) * 4
        super().__init__(device, max(padded, 16) + GUARD)
        self.nbytes = nbytes
        device.write(self.handle, 0, NAN * ((max(padded, 16) + GUARD) // 4))

    async def intact(self):
        start = -(-self.nbytes // 4) * 4
        return await self.device.read(self.handle, start, GUARD) == NAN * (GUARD // 4)


def view(dev, shape, name, data=None):
    info = Info(tuple(shape), DTYPES[name])
    made = View(Guarded(dev, info.dtype.nbytes(info.shape)), 0, info)
    if data:
        dev.write(made.storage.handle, 0, data.ljust(-(-len(data) // 4) * 4, b"\0"))
    return made


async def run_route(dev, op, case, number, caps):
    args = [a and view(dev, a["shape"], a["dtype"], base64.b64decode(a["data"]))
            for a in case["args"]]  # fmt: skip
    attrs = {k: tuple(v) if isinstance(v, list) else v for k, v in case["attrs"].items()}
    d = op.infer([a and a.info for a in args], attrs)
    outs = [view(dev, i.shape, i.dtype.name) for i in d.out]
    dev.caps, dev.force = caps, number
    dev.run(Call(op, d, args, outs, attrs))
    dev.flush()
    written = outs + [args[op.names.index(n)] for n in op.mutates]
    texts = [base64.b64encode(await dev.read(v.storage.handle, v.offset, v.nbytes)).decode()
             for v in written]  # fmt: skip
    intact = [await v.storage.intact() for v in (*outs, *args) if v]
    return {
        "label": link(op.accepting(d, caps)[number]).label,
        "kernel": op.accepting(d, caps)[number].kernel,
        "outs": texts,
        "intact": all(intact),
    }


async def run_case(dev, case):
    op, seen, found = CATALOGUE[case["op"]], set(), []
    infos = [a and Info(tuple(a["shape"]), DTYPES[a["dtype"]]) for a in case["args"]]
    attrs = {k: tuple(v) if isinstance(v, list) else v for k, v in case["attrs"].items()}
    can = replace(before, software=False, precision="medium")  # what this device can, as a GPU
    gpus = [replace(can, fill=n) for n in (128, 5, 3, 1)]  # small tiles to large
    for caps in (Caps(True), *gpus):
        for number, launch in enumerate(op.accepting(op.infer(infos, attrs), caps)):
            label = link(launch).label
            if label not in seen:
                seen.add(label)
                try:
                    found.append(await run_route(dev, op, case, number, caps))
                except Exception as error:
                    found.append({"label": label, "error": f"{type(error).__name__}: {error}"})
    return found


dev = await ng.device("webgpu")
before = dev.caps
try:
    answer = [await run_case(dev, case) for case in data]
finally:
    dev.caps, dev.force = before, None
answer
