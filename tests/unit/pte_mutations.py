"""Programs changed at random: cut off, with bits flipped, with other fields, with unknown names."""

import random
import struct
from contextlib import suppress

from pte_files import RAW, cut, flat_size, put, rebuilt, tables, thawed

from nibblegrad.io import pte, vkgraph_tables
from nibblegrad.program.bindings import bindings

BOUND = sorted(name.rpartition(".") for name in bindings())
NUMBERS = [0, 1, -1, 2, 3, 7, 4096, 2**31 - 1, -(2**31)]
UNKNOWN = "aten::unheard_of"
NAMES = sorted(RAW)
GRAPH = (vkgraph_tables.SCHEMA, "VkGraph", b"VK00")


def blobs(name):
    """Where its delegates' bytes are."""
    program = pte.parse(RAW[name], len(RAW[name]))
    return [d.blob for plan in program.plans.values() for d in plan.delegates]


BLOBS = {name: blobs(name) for name in NAMES}
# of these, the ones in a segment of their own: they may move to the end of the file
APART = [n for n in NAMES if BLOBS[n] and not tables(RAW[n])["backend_delegate_data"]]


def flipped(raw, begin, end, rng):
    """Some bits between two places turned over, or bytes made 0 or 255."""
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(begin, end)
        data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), 0, 255))
    return bytes(data)


def leaves(x, path=()):
    """Where a number, a text or a list is."""
    if isinstance(x, (dict, list)):
        if x and isinstance(x, list):
            yield path
        for key, value in x.items() if isinstance(x, dict) else enumerate(x):
            if key != "is":
                yield from leaves(value, (*path, key))
    elif isinstance(x, (int, float, str)):
        yield path


def change(root, rng, within):
    """One value becomes another, one list loses, gains or reorders its entries."""
    path = rng.choice([p for p in leaves(root) if within in p] or [("version",)])
    holder = root
    for key in path[:-1]:
        holder = holder[key]
    key, value = path[-1], holder[path[-1]]
    if isinstance(value, list):
        {0: value.pop, 1: lambda: value.append(value[0]), 2: value.reverse}[rng.randrange(3)]()
    elif key in ("name", "overload") and "operators" in path:
        name, _, holder["overload"] = rng.choice(BOUND)
        holder["name"] = name.replace(".", "::")
    elif key == "name" and "chain" in path:
        holder["name"] = "".join(rng.choice(BOUND))
    elif isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = rng.choice([*NUMBERS, value + 1])
    elif isinstance(value, float):
        holder[key] = rng.choice([0.0, -1.5, 1e308, float("nan")])


def changed(name, rng):
    """A program with other fields; the bytes behind it as they were."""
    root = thawed(tables(RAW[name]))
    for _ in range(rng.choice([1, 1, 2, 4])):
        change(root, rng, "execution_plan")
    return rebuilt(RAW[name], root)


def with_graph(name, alter):
    """A program whose first delegate's graph is altered: a new blob at the file's end."""
    raw, blob = RAW[name], BLOBS[name][0]
    old = cut(raw, blob)
    begin, size, pool = struct.unpack_from("<III", old, 10)
    graph = thawed(tables(old[begin : begin + size], *GRAPH))
    alter(graph)
    flat = bytearray(b"\0\0\0\0VK00")
    flat[:4] = struct.pack("<I", put(flat, graph, vkgraph_tables.SCHEMA))
    constants = old[pool:]
    head = struct.pack("<4x4sHIIIQ", b"VH00", 30, 30, len(flat), 30 + len(flat), len(constants))
    new = head + bytes(flat) + constants
    root, base = thawed(tables(raw)), struct.unpack_from("<Q", raw, 24)[0]
    at = next(s for s in root["segments"] if (base + s["offset"], s["size"]) == blob)
    at.update(offset=len(raw) - base, size=len(new))
    out = bytearray(rebuilt(raw, root) + new)
    struct.pack_into("<Q", out, 32, len(raw) - base + len(new))
    return bytes(out)


def changed_graph(name, rng):
    """A delegate's graph with other fields."""

    def alter(graph):
        for _ in range(rng.choice([1, 1, 2, 4])):
            change(graph, rng, rng.choice(["chain", "values", "input_ids", "output_ids"]))

    return with_graph(name, alter)


def unknown(name, rng):
    """An operator that nobody has heard of, in the program or in its first delegate."""
    root = thawed(tables(RAW[name]))
    called = [p for p in root["execution_plan"] if p["operators"]]
    if name in APART and (rng.randrange(2) or not called):
        return with_graph(name, lambda g: rng.choice(g["chain"]).update(name=UNKNOWN))
    for operator in rng.choice(called)["operators"]:
        operator.update(name=UNKNOWN, overload="out")
    return rebuilt(RAW[name], root)


def once(kind, rng):
    """The program's name and its new bytes; struct.error where a number fits no field."""
    name = rng.choice(APART if kind.startswith("graph") else NAMED if kind == "unknown" else NAMES)
    raw = RAW[name]
    if kind in WAYS:
        return name, WAYS[kind](name, rng)
    if kind == "cut":
        return name, raw[: rng.randrange(len(raw))]
    begin, end = 0, len(raw)
    if kind == "program":
        end = min(flat_size(raw), end)
    elif kind == "graph":
        begin = BLOBS[name][0].offset
        end = begin + sum(struct.unpack_from("<II", raw, begin + 10))
    return name, flipped(raw, begin, end, rng)


WAYS = {"fields": changed, "graph fields": changed_graph, "unknown": unknown}
KINDS = ["cut", "program", "graph", "anywhere", *WAYS]  # where bits flip, or what is done
NAMED = [n for n in NAMES if n in APART or tables(RAW[n])["execution_plan"][0]["operators"]]


def mutations(count, seed):
    """(what was done, the program's name, its new bytes), `count` times."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        kind = KINDS[len(found) % len(KINDS)]
        with suppress(struct.error):
            found.append((kind, *once(kind, rng)))
    return found
