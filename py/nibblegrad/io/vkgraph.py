"""The Vulkan delegate's blob: a header, a flatbuffer with a graph, constants.

    4 VH00 | 8 u16 header's size, 30 | 10 u32 flatbuffer at | 14 u32 its size
    | 18 u32 constants at | 22 u64 their size (0: up to the end of the blob)

https://github.com/pytorch/executorch/blob/main/backends/vulkan/serialization/schema.fbs
What its writer does and a reader must know:
- Scalars are shared by Python's equality: an int may come as a float and a float as an int.
- An empty list is three values, of which the first (an IntList) is referred to.
- A list with symbolic sizes is a ValueList of ints and SymInts; SymInts are stored as 0.
- A tensor that is only read as a number is stored as a SymInt, never as a tensor.
- An operator that changes a buffer may have one of its inputs as its output.
- int64 and float64 come as 32 bits; shapes of dynamic tensors are upper bounds.
"""

import struct
from math import prod
from typing import Any

from ..core.errors import FormatError
from .flatbuffer import Span, decode
from .header import NeedMore, quote, refuse, want
from .vkgraph_tables import (
    DTYPES,
    MAX_RANK,
    NAMED,
    SCHEMA,
    BoolList,
    Call,
    Constant,
    FloatList,
    Graph,
    IntList,
    SymInt,
    Tensor,
    Value,
    ValueList,
)

__all__ = ["Graph", "NeedMore", "parse"]

HEAD = 30
SCALARS = {"Int": "int_val", "Bool": "bool_val", "Double": "double_val", "String": "string_val"}
LISTS = {"IntList": IntList, "DoubleList": FloatList, "BoolList": BoolList, "ValueList": ValueList}


def parse(prefix: bytes, blob: Span, named: dict[str, Span]) -> Graph:
    """Read a graph from its blob's first bytes; NeedMore, counted from the blob's first byte.

    `blob` is Delegate.blob and `named` Program.named, so that constants are places in the file.
    """
    begin, size, pool = header(prefix, blob)
    if begin + size > len(prefix):
        want("vkgraph", begin + size, len(prefix), blob.nbytes)
    root = decode(bytes(prefix[begin : begin + size]), SCHEMA, "VkGraph", "vkgraph", b"VK00")
    if root["version"] != "0":
        raise FormatError(f"vkgraph: version is {quote(root['version'])}; supported: '0'")
    faults: list[str] = []
    constants = tuple(constant(t, i, pool, named, faults) for i, t in enumerate(root["constants"]))
    values = tuple(value(t, i, constants, faults) for i, t in enumerate(root["values"]))
    refuse("vkgraph", faults)
    graph = Graph(
        values=values,
        chain=tuple(call(t, values) for t in root["chain"]),
        inputs=root["input_ids"],
        outputs=root["output_ids"],
        constants=constants,
    )
    refuse("vkgraph", id_faults(graph, root["chain"]) or order_faults(graph))
    return graph


def header(prefix: bytes, blob: Span) -> tuple[int, int, Span]:
    """Where in the blob the flatbuffer is, its size, and where in the file the constants are."""
    if blob.nbytes < HEAD:
        raise FormatError(f"vkgraph: blob has {blob.nbytes} bytes; its header takes {HEAD}")
    if len(prefix) < HEAD:
        want("vkgraph", HEAD, len(prefix), blob.nbytes)
    magic, length, begin, size, pool, extent = struct.unpack_from("<4sHIIIQ", prefix, 4)
    if magic != b"VH00":
        raise FormatError(f"vkgraph: magic is {magic!r}, not b'VH00'; another delegate's blob?")
    end = begin + size
    if length < HEAD or begin < length or not size or not end <= pool <= blob.nbytes:
        raise FormatError(
            f"vkgraph: header of {length} bytes puts {size} bytes of graph at {begin} and"
            f" constants at {pool} of {blob.nbytes}; the blob is damaged"
        )
    if extent > blob.nbytes - pool:
        raise FormatError(f"vkgraph: {extent} bytes of constants at {pool} of {blob.nbytes}")
    return begin, size, Span(blob.offset + pool, extent or blob.nbytes - pool)


def constant(
    table: dict[str, Any], i: int, pool: Span, named: dict[str, Span], faults: list[str]
) -> Constant:
    """One constant: in a segment of the file, by name, or in the blob."""
    key, offset, nbytes = table["named_key"], table["offset"], table["length"]
    if not key or offset != NAMED:
        if offset + nbytes > pool.nbytes:
            faults.append(f"constant {i} ends at byte {offset + nbytes} of {pool.nbytes}")
        return Constant(Span(pool.offset + offset, nbytes), "")
    if key not in named:
        faults.append(
            f"constant {i} is {quote(key)}, which this file does not hold;"
            " export it without external constants"
        )
    elif nbytes > named[key].nbytes:
        faults.append(f"constant {i} has {nbytes} bytes, but its data {named[key].nbytes}")
    return Constant(Span(named.get(key, pool).offset, nbytes), key)


def value(
    table: dict[str, Any], i: int, constants: tuple[Constant, ...], faults: list[str]
) -> Value:
    """One value; ids in lists are checked when all values are known."""
    inner = table["value"]
    if inner is None:
        faults.append(f"value {i} is of no type")
        return None
    kind = inner["is"]
    if kind in SCALARS:
        return inner[SCALARS[kind]]
    if kind in LISTS:
        return LISTS[kind](inner["items"])
    if kind == "SymInt":
        return SymInt(inner["value"])
    return tensor(inner, i, constants, faults) if kind == "VkTensor" else None


def tensor(
    table: dict[str, Any], i: int, constants: tuple[Constant, ...], faults: list[str]
) -> Tensor | None:
    kind, staging, shape = table["datatype"], table["staging_datatype"], table["dims"]
    if kind not in DTYPES or (staging != 127 and staging not in DTYPES):
        names = " ".join(name for name, _ in DTYPES.values())
        faults.append(f"value {i} has type {kind}, outside {staging}; supported: {names}")
        return None
    dtype, width = DTYPES[kind]
    if len(shape) > MAX_RANK or width * prod(shape) >= 1 << 60:
        faults.append(f"value {i} has sizes {list(shape)!s:.80}")
        return None
    nbytes = width * prod(shape)
    at = table["constant_id"]
    if at >= len(constants):
        faults.append(f"value {i} is constant {at} of {len(constants)}")
    elif at >= 0 and nbytes > constants[at].data.nbytes:
        faults.append(f"value {i} needs {nbytes} bytes, its constant {constants[at].data.nbytes}")
    return Tensor(
        dtype=dtype,
        shape=shape,
        constant=at if at >= 0 else None,
        memory=table["mem_obj_id"] if table["mem_obj_id"] >= 0 else None,
        outside=dtype if staging == 127 else DTYPES[staging][0],
        nbytes=nbytes,
    )


def call(table: dict[str, Any], values: tuple[Value, ...]) -> Call:
    """One operator call; ids that do not exist are told afterwards."""
    ids = table["args"]
    out = values[ids[-1]] if ids and 0 <= ids[-1] < len(values) else None
    outputs = out.ids if isinstance(out, ValueList) else ids[-1:]
    return Call(table["name"], ids[:-1], outputs, table["node_id"])


def id_faults(graph: Graph, chain: tuple) -> list[str]:
    """Ids of values that do not exist, calls without a result, lists in lists."""
    rows = [(f"call {i} {quote(t['name'])}", t["args"]) for i, t in enumerate(chain)]
    rows += [("inputs", graph.inputs), ("outputs", graph.outputs)]
    rows += [(f"list {i}", v.ids) for i, v in enumerate(graph.values) if isinstance(v, ValueList)]
    n, faults = len(graph.values), []
    for what, ids in rows:
        if bad := [i for i in ids if not 0 <= i < n]:
            faults.append(f"{what}: value {bad[0]} of {n} does not exist")
        elif what.startswith("list") and any(isinstance(graph.values[i], ValueList) for i in ids):
            faults.append(f"{what} holds a list")
        elif what.startswith("call") and not ids:
            faults.append(f"{what} has no arguments, so no result")
    return faults


def order_faults(graph: Graph) -> list[str]:
    """Tensors and symbols that are read before anything has written them."""
    made = set(graph.inputs)
    made |= {
        i
        for i, v in enumerate(graph.values)
        if not isinstance(v, (Tensor, SymInt)) or (isinstance(v, Tensor) and v.constant is not None)
    }
    faults = []
    for i, c in enumerate(graph.chain):
        for arg in graph.flat(c.args):
            if arg not in made:
                faults.append(f"call {i} {quote(c.name)} reads value {arg}, which nothing writes")
        made.update(c.outputs)
    unmade = [i for i in graph.flat(graph.outputs) if i not in made]
    return faults + [f"output {i} is written by nothing" for i in unmade]
