"""What the tests of the .pte reader share: the fixtures, and a writer that can put in any value."""

import gzip
import json
import struct
from pathlib import Path

from nibblegrad.io import flatbuffer, pte, pte_tables, vkgraph

DATA = Path(__file__).parents[1] / "data/pte"
FACTS = json.loads(gzip.decompress((DATA / "facts.json.gz").read_bytes()))
FILES = FACTS["files"]
RAW = {name: (DATA / f"{name}.pte").read_bytes() for name in FILES}


def cut(raw, span):
    return raw[span.offset : span.offset + span.nbytes]


def tables(raw, schema=pte_tables.SCHEMA, root="Program", ident=b"ET12"):
    return flatbuffer.decode(raw, schema, root, "pte", ident)


def flat_size(raw):
    return struct.unpack_from("<Q", raw, 16)[0]


def graphs(raw, program=None):
    program = program or pte.parse(raw, len(raw))
    blobs = [d.blob for p in program.plans.values() for d in p.delegates]
    return [vkgraph.parse(cut(raw, blob), blob, program.named) for blob in blobs]


def number(form, value):
    return struct.pack("<" + form, value)


def put(out, table, schema):
    slots = []  # (field kind, letter, value) in slot order
    for f in schema[table["is"]]:
        value = table[f.name]
        if f.kind == "union":
            which = f.type.index(value["is"]) + 1 if value else 0
            slots += [("number", "B", which), ("table", "", value)]
        else:
            slots.append((f.kind, f.type, value))
    vtable = len(out)
    here = [0 if v is None else 4 + 8 * i for i, (_, _, v) in enumerate(slots)]
    out += struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), 4 + 8 * len(slots), *here)
    pos = len(out)
    out += struct.pack("<i", pos - vtable) + bytes(8 * len(slots))
    for i, (kind, form, value) in enumerate(slots):
        at = pos + 4 + 8 * i
        if kind == "number":
            raw = number(form, value)
            out[at : at + len(raw)] = raw
        elif value is not None:
            refer(out, at, kind, form, value, schema)
    return pos


def refer(out, at, kind, form, value, schema):
    """What lies outside of its table, and the offset to it."""
    if kind == "table":
        to = put(out, value, schema)
    else:
        to = len(out)
        if kind == "string":
            raw = value.encode() if isinstance(value, str) else value
            out += struct.pack("<I", len(raw)) + raw + b"\0"
        elif kind == "bytes":
            out += struct.pack("<I", value.nbytes) + bytes(value.nbytes)
        else:
            out += struct.pack("<I", len(value))
        if kind == "numbers":
            out += b"".join(number(form, v) for v in value)
        if kind == "tables":
            begin = len(out)
            out += bytes(4 * len(value))
            for i, entry in enumerate(value):
                refer(out, begin + 4 * i, "table", form, entry, schema)
    out[at : at + 4] = struct.pack("<I", to - at)


def rebuilt(raw, root):
    """A program with these tables and the segments of another."""
    base = struct.unpack_from("<Q", raw, 24)[0]
    out = bytearray(raw[:40])
    out[:4] = struct.pack("<I", put(out, root, pte_tables.SCHEMA))
    out[16:32] = struct.pack("<QQ", len(out), len(out) if base else 0)
    return bytes(out) + (raw[base:] if base else b"")


def thawed(x):
    """Decoded tables as lists and dicts that can be changed."""
    if isinstance(x, dict):
        return {k: thawed(v) for k, v in x.items()}
    return [thawed(v) for v in x] if type(x) is tuple else x
