"""Where the data of a .pte file lies; knows nothing of values or instructions."""

from typing import Any

from .flatbuffer import Span
from .header import quote
from .pte_tables import Delegate

NOWHERE = Span(0, 0)


class Places:
    """Where data lies: segments, constants in one, state in others, or all in the flatbuffer."""

    def __init__(self, root: dict[str, Any], found: list[Span]):
        self.faults: list[str] = []
        self.segments = found
        self.inline = [t["data"] for t in root["backend_delegate_data"]]
        self.buffers = [t["storage"] for t in root["constant_buffer"]]
        self.constants = root["constant_segment"]
        self.mutable = root["mutable_data_segments"]
        if self.buffers and self.constants and self.constants["offsets"]:
            self.faults.append("has both a constant buffer and a constant segment")

    def segment(self, index: int, what: str) -> Span:
        if index < len(self.segments):
            return self.segments[index]
        self.faults.append(f"{what} is in segment {index} of {len(self.segments)}")
        return NOWHERE

    def part(self, table: dict[str, Any] | None, index: int, nbytes: int, what: str) -> Span:
        """A tensor's bytes in a segment that holds many."""
        offsets = table["offsets"] if table else ()
        if table is None or index >= len(offsets):
            self.faults.append(f"{what} has data {index} of {len(offsets)}")
            return NOWHERE
        whole = self.segment(table["segment_index"], what)
        return self.fits(whole, offsets[index], nbytes, what)

    def fits(self, whole: Span, begin: int, nbytes: int, what: str) -> Span:
        if begin + nbytes > whole.nbytes:
            end = begin + nbytes
            self.faults.append(f"{what} has data up to byte {end} of {whole.nbytes}")
        return Span(whole.offset + begin, nbytes)

    def tensor(self, table: dict[str, Any], nbytes: int, what: str) -> Span | None:
        """Where a tensor's constant or first bytes are; None if it has none in this file."""
        index, extra = table["data_buffer_idx"], table["extra_tensor_info"]
        if index == 0 or (extra and extra["location"]):
            return None
        if self.buffers:
            if index < len(self.buffers):
                return self.fits(self.buffers[index], 0, nbytes, what)
            self.faults.append(f"{what} has data {index} of {len(self.buffers)}")
            return None
        if table["allocation_info"] is None:
            return self.part(self.constants, index, nbytes, what)
        which = extra["mutable_data_segments_idx"] if extra else 0
        if which < len(self.mutable):
            return self.part(self.mutable[which], index, nbytes, what)
        self.faults.append(f"{what} is in the mutable segment {which} of {len(self.mutable)}")
        return None

    def delegate(self, table: dict[str, Any], what: str) -> Delegate:
        """A backend's name, blob and options."""
        at = table["processed"] or {"location": 0, "index": len(self.inline)}
        specs = {s["key"]: bytes(s["value"]) for s in table["compile_specs"]}
        blob = NOWHERE
        if at["location"] == 1:
            blob = self.segment(at["index"], what)
        elif at["location"] == 0 and at["index"] < len(self.inline):
            blob = self.inline[at["index"]]
        else:
            self.faults.append(f"{what} has no data: {at['location']}, {at['index']}")
        return Delegate(table["id"], blob, specs)

    def named(self, tables: tuple) -> dict[str, Span]:
        out: dict[str, Span] = {}
        for table in tables:
            what = f"data {quote(table['key'])}"
            if table["key"] in out:
                self.faults.append(f"{what} is there twice")
            out[table["key"]] = self.segment(table["segment_index"], what)
        return out
