"""Flatbuffers (https://flatbuffers.dev/internals) read by a schema given as text; knows no format.

    table:   i32 back to its vtable, then its fields      vtable: u16 own size, u16 table's size,
    vector:  u32 length, elements                                 a u16 place in the table per slot
    string:  u32 length, UTF-8, a zero byte               union:  a u8 slot, then a table's slot

A schema is words: a table's name, then its `field:type[=default]` in slot order. Types are
struct's letters, `s` (string), `bytes` (a vector of bytes, left where it is: a Span), a table's
name, `A|B|C` (a union, numbered from 1), and `[type]` for a vector of letters or tables.
A table becomes a dict of its fields with its name under "is"; what is absent becomes 0, "", () or
None. Every place is checked, every fault is told; work is bounded by the bytes there are, so that
tables that point at each other's contents cannot multiply.
"""

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.errors import FormatError
from .header import refuse

LETTERS = "?bBhHiIqQd"
MANY = 200  # faults, after which reading on tells nobody anything
SHARING = 2  # how often a byte may be read on average: writers share vtables, nothing else


class Span(NamedTuple):
    """Bytes that stay in the file until they are asked for."""

    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    slot: int
    kind: str  # number, numbers, string, bytes, table, tables, union
    type: Any  # a letter, a table's name, or the union's names
    default: int = 0


Schema = dict[str, tuple[Field, ...]]
Path = tuple[Any, Any]  # (what it is in, its name or index); text is made of it only for a fault


def schema(text: str) -> Schema:
    """Read a schema's text once, when the module is loaded."""
    rows: dict[str, list[str]] = {}
    for word in text.split():
        if ":" in word:
            rows[next(reversed(rows))].append(word)
        else:
            rows[word] = []
    return {name: fields(parts) for name, parts in rows.items()}


def fields(parts: list[str]) -> tuple[Field, ...]:
    out, slot = [], 0
    for part in parts:
        name, form = part.split(":")
        form, _, default = form.partition("=")
        kind, form = kind_of(form)
        out.append(Field(name, slot, kind, form, int(default or 0)))
        slot += 2 if kind == "union" else 1
    return tuple(out)


def kind_of(form: str) -> tuple[str, Any]:
    if "|" in form:
        return "union", form.split("|")
    if form in ("s", "bytes"):
        return {"s": "string"}.get(form, form), form
    many = "s" if form[0] == "[" else ""
    form = form.strip("[]")
    return ("number" if form in LETTERS else "table") + many, form


def decode(data: bytes, tables: Schema, root: str, who: str, ident: bytes) -> dict[str, Any]:
    """The root table of a flatbuffer that fills `data`, or a FormatError with all faults."""
    if len(data) < 8:
        raise FormatError(f"{who}: flatbuffer has {len(data)} bytes; it needs at least 8")
    if data[4:8] != ident:
        raise FormatError(f"{who}: identifier is {data[4:8]!r}, not {ident!r}; another version?")
    d = Decoder(data, tables, who)
    out = d.table(0, root, (None, root))
    refuse(who, d.faults)
    assert out is not None  # a root that cannot be read is a fault
    return out


class Decoder:
    """One pass over one flatbuffer."""

    def __init__(self, data: bytes, tables: Schema, who: str):
        self.data, self.tables, self.who = data, tables, who
        self.faults: list[str] = []
        self.left = SHARING * len(data) + 64
        self.vtables: dict[int, tuple[int, tuple[int, ...]] | None] = {}
        self.texts: dict[int, str] = {}
        self.readers = {
            "number": self.number,
            "numbers": self.numbers,
            "string": self.string,
            "bytes": self.span,
            "table": self.table,
            "tables": self.table_list,
        }

    def fault(self, path: Path, text: str) -> None:
        self.faults.append(f"{spell(path)} {text}")
        if len(self.faults) == MANY:
            refuse(self.who, self.faults)

    def spend(self, n: int) -> None:
        self.left -= n
        if self.left < 0:
            refuse(self.who, self.faults[:1])
            raise FormatError(
                f"{self.who}: tables or lists share their contents, so that reading would never"
                f" end in {len(self.data)} bytes; the file is damaged"
            )

    def table(self, at: int, name: str, path: Path) -> dict[str, Any] | None:
        """The table that the offset stored at `at` points to."""
        pos = self.follow(at, 4, path)
        if pos is None:
            return None
        self.spend(8)
        vtable = self.vtable(pos - struct.unpack_from("<i", self.data, pos)[0], path)
        if vtable is None:
            return None
        size, slots = vtable
        if pos + size > len(self.data):
            return self.fault(path, f"ends at byte {pos + size} of {len(self.data)}")
        out: dict[str, Any] = {"is": name}
        for field in self.tables[name]:
            out[field.name] = self.field(field, pos, size, slots, (path, field.name))
        return out

    def vtable(self, pos: int, path: Path) -> tuple[int, tuple[int, ...]] | None:
        """A table's size and the place of each slot; writers share vtables, so each is kept."""
        if pos in self.vtables:
            return self.vtables[pos]
        found = None
        if not 0 <= pos <= len(self.data) - 4:
            self.fault(path, f"has its vtable at byte {pos} of {len(self.data)}")
        else:
            length, size = struct.unpack_from("<HH", self.data, pos)
            if length < 4 or length % 2 or size < 4 or pos + length > len(self.data):
                self.fault(path, f"has a vtable of {length} bytes for a table of {size}")
            else:
                self.spend(length)
                slots = struct.unpack_from(f"<{length // 2 - 2}H", self.data, pos + 4)
                found = size, slots
        self.vtables[pos] = found
        return found

    def field(self, field: Field, pos: int, size: int, slots: tuple, path: Path) -> Any:
        """One field of the table at `pos`, or what its absence means."""
        if field.kind == "union":
            return self.union(field, pos, size, slots, path)
        place = slots[field.slot] if field.slot < len(slots) else 0
        if place == 0:
            return absent(field)
        width = struct.calcsize(field.type) if field.kind == "number" else 4
        if place < 4 or place + width > size:
            self.fault(path, f"lies at byte {place} of a table of {size}")
            return absent(field)
        return self.readers[field.kind](pos + place, field.type, path)

    def union(self, field: Field, pos: int, size: int, slots: tuple, path: Path) -> Any:
        kind = Field(field.name, field.slot, "number", "B")
        which = self.field(kind, pos, size, slots, (path, "type"))
        if which == 0:
            return None
        if which > len(field.type):
            return self.fault(path, f"has the unknown type {which}; types go to {len(field.type)}")
        value = Field(field.name, field.slot + 1, "table", field.type[which - 1])
        found, before = self.field(value, pos, size, slots, path), len(self.faults)
        if found is None and len(self.faults) == before:
            self.fault(path, f"has the type {value.type} but no value")
        return found

    def follow(self, at: int, need: int, path: Path) -> int | None:
        """Where the offset at `at` points, if `need` bytes are there. Offsets go forward only."""
        pos = at + struct.unpack_from("<I", self.data, at)[0]
        if at < pos <= len(self.data) - need:
            return pos
        return self.fault(path, f"points to byte {pos} of {len(self.data)}")

    def vector(self, at: int, width: int, path: Path) -> tuple[int, int]:
        """First byte and length of a vector; (0, 0) if it has a fault."""
        pos = self.follow(at, 4, path)
        if pos is None:
            return 0, 0
        n = struct.unpack_from("<I", self.data, pos)[0]
        if pos + 4 + n * width > len(self.data):
            self.fault(path, f"has {n} items at byte {pos}, more than {len(self.data)} bytes hold")
            return 0, 0
        return pos + 4, n

    def number(self, at: int, form: str, path: Path) -> Any:
        if form == "?" and self.data[at] > 1:
            self.fault(path, f"is a bool of {self.data[at]}; it must be 0 or 1")
        return struct.unpack_from("<" + form, self.data, at)[0]

    def numbers(self, at: int, form: str, path: Path) -> tuple:
        begin, n = self.vector(at, struct.calcsize(form), path)
        self.spend(n * struct.calcsize(form))
        out = struct.unpack_from(f"<{n}{form}", self.data, begin)
        if form == "?" and any(b > 1 for b in self.data[begin : begin + n]):
            self.fault(path, "holds a bool that is neither 0 nor 1")
        return out

    def string(self, at: int, form: str, path: Path) -> str:
        begin, n = self.vector(at, 1, path)
        if begin in self.texts or not begin:
            return self.texts.get(begin, "")
        self.spend(n)
        raw = self.data[begin : begin + n]
        try:
            self.texts[begin] = raw.decode()
        except UnicodeDecodeError as e:
            self.fault(path, f"is not UTF-8: {e.reason} at its byte {e.start}")
            self.texts[begin] = ""
        return self.texts[begin]

    def span(self, at: int, form: str, path: Path) -> Span:
        return Span(*self.vector(at, 1, path))

    def table_list(self, at: int, name: str, path: Path) -> tuple:
        begin, n = self.vector(at, 4, path)
        return tuple(self.table(begin + 4 * i, name, (path, i)) for i in range(n))


def absent(field: Field) -> Any:
    """What a missing field means: zero of its own type, so that false is no 0."""
    if field.kind == "number":
        return {"?": bool, "d": float}.get(field.type, int)(field.default)
    return {"string": "", "bytes": Span(0, 0), "table": None}.get(field.kind, ())


def spell(path: Path) -> str:
    """(((None, "Program"), "values"), 3) as Program.values[3]."""
    parent, part = path
    if parent is None:
        return str(part)
    return spell(parent) + (f"[{part}]" if isinstance(part, int) else f".{part}")
