"""Records for the JS runtime, eight u32 each, and how large its buffers are. Pure Python."""

from __future__ import annotations

from array import array

from ..core.launch import Launch
from .device import Call, Recording, View
from .link import label

PARAM_STRIDE = 256


class Records:
    """Eight u32 a record, and the parameter blocks they point at, equal blocks shared."""

    def __init__(self) -> None:
        self.words = array("I")
        self.params = bytearray()
        self._known: dict[bytes, int] = {}

    def dispatch(
        self, pipeline: int, group: int, params: bytes, grid: tuple[int, int, int]
    ) -> None:
        """Append one dispatch."""
        at = self._known.get(params)
        if at is None:
            at = self._known[params] = len(self.params)
            self.params += params.ljust(PARAM_STRIDE, b"\0")
        self.words.extend((0, pipeline, group, at, *grid, 0))

    def __len__(self) -> int:
        return len(self.words) // 8


class WebGPUPlan(Recording):
    """Records installed in the JS runtime."""

    def __init__(self, step: dict[str, str]):
        super().__init__(step)
        self.records = Records()
        self.labels: list[str] = []
        self.id = -1

    def __str__(self) -> str:
        return "\n".join(self.labels)


def written(call: Call) -> list[View]:
    """The views a call writes: its outputs and the arguments it changes."""
    named = dict(zip(call.op.names, call.args, strict=True))
    return [*call.outs, *(v for n in call.op.mutates if (v := named[n]))]


def size_class(nbytes: int) -> int:
    """Up to one of four steps a power of two, of 256 bytes to 4 MiB: scratch is reused across
    shapes, and a whole model is hardly rounded."""
    size = max(256, nbytes)
    step = 1 << min(22, max(8, size.bit_length() - 3))
    return -(-size // step) * step


def describe(call: Call, launch: Launch) -> str:
    """A plan's line: op, variant, grid, output shapes."""
    shapes = " ".join("x".join(map(str, v.info.shape)) or "1" for v in written(call))
    return f"{call.op.name:20} {label(launch):48} {launch.grid} -> {shapes}"
