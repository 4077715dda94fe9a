"""From a .pte file to a model: Python reads the program, constants go to the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.errors import FormatError
from ..io import pte, vkgraph
from ..io.pte_tables import Delegate as Stored
from ..io.pte_tables import DelegateCall, Plan, Program
from ..io.vkgraph_tables import Graph
from ..tensor import no_grad, open_default_device
from .bindings import refuse_unknown
from .constants import Constants, Progress
from .delegate import Delegate
from .method import Method
from .model import Model
from .walk import Walker

PREFIX = 1 << 20


async def load_pte(where: str, *, progress: Progress | None = None) -> Model:
    """An ExecuTorch program from a path of the page ("/files/model.pte") or a URL.

    Every operator is bound before anything runs: FormatError lists those that are not supported,
    all at once. Constants are streamed to the device. `progress(loaded, total)` counts bytes.
    int64 is i32 here, in inputs, outputs and constants; halves and doubles are f32.
    """
    dev = await open_default_device()
    source = await dev.open_source(where)
    program = await _parsed(source, 0, source.size, lambda b: pte.parse(b, source.size))
    walkers = [await _walker(source, program, plan) for plan in program.plans.values()]
    refuse_unknown("pte", (name for w in walkers for name in w.names()))
    total = sum(span.nbytes for span in {s for w in walkers for s in w.spans()})
    constants = Constants(dev, source, progress, total)
    with no_grad():
        for walker in walkers:
            _carry(walker)
            await walker.load(constants)
    return Model({w.plan.name: Method(w) for w in walkers}, source.size)


async def _walker(source: Any, program: Program, plan: Plan) -> Walker:
    made = []
    for i, stored in enumerate(plan.delegates):
        who = f"pte {plan.name} delegate {i}"
        made.append(Delegate(await _graph(source, program, stored, who), who))
    return Walker(plan, made)


async def _graph(source: Any, program: Program, stored: Stored, who: str) -> Graph:
    if stored.id != "VulkanBackend":
        raise FormatError(f"{who} is for {stored.id}; supported: VulkanBackend")
    blob = stored.blob
    return await _parsed(
        source, blob.offset, blob.nbytes, lambda b: vkgraph.parse(b, blob, program.named)
    )


async def _parsed(source: Any, at: int, nbytes: int, parse: Callable[[bytes], Any]) -> Any:
    """Parse as much of the file's part as its header needs."""
    size = min(PREFIX, nbytes)
    while True:
        prefix = await source.read(at, size)
        if len(prefix) < size:
            raise FormatError(f"pte: the file ended {size - len(prefix)} bytes too early")
        try:
            return parse(prefix)
        except pte.NeedMore as more:
            size = min(nbytes, max(2 * size, more.bytes_wanted))


def _carry(walker: Walker) -> None:
    """Find out which results of the delegates are the next values of buffers."""
    for step in walker.chain:
        if isinstance(step, DelegateCall):
            delegate = walker.delegates[step.delegate]
            delegate.carry(len(step.args) - len(delegate.graph.inputs))
