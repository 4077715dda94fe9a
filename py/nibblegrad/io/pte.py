"""ExecuTorch programs (.pte): a flatbuffer, then segments with weights and delegates' blobs.

    0 u32 root | 4 ET12 | 8 eh00 | 12 u32 length | 16 u64 flatbuffer's size | 24 u64 segments begin
    | 32 u64 segments' bytes        (without eh00 the file is one flatbuffer, with everything in it)

https://github.com/pytorch/executorch/blob/main/docs/source/pte-file-format.md
"""

import struct
from itertools import pairwise
from typing import Any

from ..core.errors import FormatError
from .flatbuffer import Span, decode
from .header import NeedMore, quote, refuse, want
from .pte_places import Places
from .pte_tables import SCHEMA, Plan, Program
from .pte_values import Values, value

__all__ = ["NeedMore", "Program", "parse"]

HEAD, IDENT = 40, b"ET12"


def parse(prefix: bytes, file_size: int) -> Program:
    """Read a program from a file's first bytes; NeedMore when they are too few."""
    size, base, data = header(prefix, file_size)
    if size > len(prefix):
        want("pte", size, len(prefix), file_size)
    root = decode(bytes(prefix[:size]), SCHEMA, "Program", "pte", IDENT)
    if root["version"] != 0:
        raise FormatError(f"pte: schema version is {root['version']}; supported: 0")
    found = segments(root["segments"], base, data)
    files = Places(root, found)
    plans = [plan(table, files) for table in root["execution_plan"]]
    names = [p.name for p in plans]
    if not plans or len(set(names)) != len(names):
        files.faults.append(f"methods are {names!s:.80}; each program has one or more, each once")
    named = files.named(root["named_data"])
    refuse("pte", files.faults)
    return Program({p.name: p for p in plans}, named, file_size)


def header(prefix: bytes, file_size: int) -> tuple[int, int, int]:
    """The flatbuffer's size, where the segments begin, and how many bytes they take."""
    if prefix[4:8] and not IDENT.startswith(prefix[4:8]):
        raise FormatError(f"pte: identifier is {prefix[4:8]!r}, not {IDENT!r}; another format?")
    if file_size < HEAD:
        raise FormatError(f"pte: file has {file_size} bytes; a program needs at least {HEAD}")
    if len(prefix) < HEAD:
        want("pte", HEAD, len(prefix), file_size)
    magic, length, size, base = struct.unpack_from("<4sIQQ", prefix, 8)
    if magic != b"eh00":
        return file_size, 0, 0
    if length < 24:
        raise FormatError(f"pte: extended header has {length} bytes; it needs at least 24")
    data = struct.unpack_from("<Q", prefix, 32)[0] if length >= 32 else max(0, file_size - base)
    if not HEAD <= size <= file_size:
        raise FormatError(f"pte: flatbuffer's size is {size}, but the file has {file_size}")
    if base and not size <= base <= base + data <= file_size:
        raise FormatError(
            f"pte: segments take {data} bytes at byte {base}, after a flatbuffer of {size},"
            f" but the file has {file_size}; it is damaged or cut off"
        )
    return size, base, data if base else 0


def segments(tables: tuple, base: int, data: int) -> list[Span]:
    """The file's parts behind the flatbuffer."""
    faults = [
        f"segment {i} ends at byte {s['offset'] + s['size']} of the {data} there are"
        for i, s in enumerate(tables)
        if s["offset"] + s["size"] > data
    ]
    found = [Span(base + s["offset"], s["size"]) for s in tables]
    row = sorted(s for s in found if s.nbytes)
    for a, b in pairwise(row):
        if b.offset < a.offset + a.nbytes:
            faults.append(f"segments overlap at byte {b.offset}")
    refuse("pte", faults)
    return found


def plan(table: dict[str, Any], files: Places) -> Plan:
    """One method: its values first, then what refers to them."""
    who, meta = quote(table["name"]), table["container_meta_type"] or {}
    delegates = [
        files.delegate(t, f"{who}: delegate {i} {quote(t['id'])}")
        for i, t in enumerate(table["delegates"])
    ]
    memory, operators = table["non_const_buffer_sizes"], [*map(full_name, table["operators"])]
    values = [
        value(t["val"], files, memory, f"{who}: value {i}") for i, t in enumerate(table["values"])
    ]
    ids = Values(values, files.faults, who)
    ids.check_lists()
    return Plan(
        name=table["name"],
        values=tuple(values),
        inputs=ids.known(table["inputs"], "inputs"),
        outputs=ids.known(table["outputs"], "outputs"),
        chains=tuple(ids.chain(c, operators, len(delegates)) for c in table["chains"]),
        operators=tuple(operators),
        delegates=tuple(delegates),
        memory=memory,
        in_tree=meta.get("encoded_inp_str", ""),
        out_tree=meta.get("encoded_out_str", ""),
    )


def full_name(table: dict[str, Any]) -> str:
    """aten::add and out as aten::add.out."""
    return ".".join(filter(None, [table["name"], table["overload"]]))
