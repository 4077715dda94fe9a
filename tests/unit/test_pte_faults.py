"""Programs with one thing wrong, written on purpose: each fault is told, and all at once."""

import struct
import time

import pytest
from pte_files import FILES, RAW, cut, flat_size, put, rebuilt, tables, thawed

from nibblegrad.core.errors import FormatError
from nibblegrad.io import pte, vkgraph, vkgraph_tables
from nibblegrad.io.flatbuffer import Span


@pytest.mark.parametrize("name", FILES)
def test_reads_what_was_written(name):
    raw = RAW[name]
    root = tables(raw[: flat_size(raw)])
    if root["backend_delegate_data"]:
        return  # its bytes would have to move along
    data = rebuilt(raw, thawed(root))
    assert tables(data[: flat_size(data)]) == root
    plan = next(iter(pte.parse(data, len(data)).plans.values()))
    assert plan.outputs == root["execution_plan"][0]["outputs"]


def plan_of(root):
    return root["execution_plan"][0]


def tensor_of(root, i=0):
    return plan_of(root)["values"][i]["val"]


def step(root, i):
    return plan_of(root)["chains"][0]["instructions"][i]["instr_args"]


BAD = {
    "schema version is 7": lambda r: r.update(version=7),
    "methods are []": lambda r: r.update(execution_plan=[]),
    "value 0 has scalar type 12, which is not supported": lambda r: tensor_of(r).update(
        scalar_type=12
    ),
    "value 0 has sizes [-1]": lambda r: tensor_of(r).update(sizes=[-1]),
    "value 0 has dim order [3] for 1 dims": lambda r: tensor_of(r).update(dim_order=[3]),
    "value 0 has shape dynamism 3": lambda r: tensor_of(r).update(shape_dynamism=3),
    "value 0 has storage offset 4": lambda r: tensor_of(r).update(storage_offset=4),
    "value 0 has data 99 of": lambda r: tensor_of(r).update(data_buffer_idx=99),
    "value 0 has data up to byte": lambda r: tensor_of(r).update(sizes=[999]),
    "value 3 is in buffer 9": lambda r: tensor_of(r, 3)["allocation_info"].update(memory_id=9),
    "value 3 ends at byte": lambda r: tensor_of(r, 3)["allocation_info"].update(
        memory_offset_high=1
    ),
    "inputs: value 777 of 59 does not exist": lambda r: plan_of(r).update(inputs=[777]),
    "outputs: value -1 of 59": lambda r: plan_of(r).update(outputs=[-1]),
    "list 13: value 13 is no Tensor": lambda r: tensor_of(r, 13).update(items=[13]),
    "list 11: value 3 is no int": lambda r: tensor_of(r, 11).update(items=[3]),
    "instruction 0 calls kernel 88 of": lambda r: step(r, 0).update(op_index=88),
    "instruction 0 has value 88 of 59": lambda r: step(r, 0).update(args=[88]),
    "instruction 0 has no arguments": lambda r: step(r, 0).update(args=[]),
    "instruction 1 is of no type": lambda r: plan_of(r)["chains"][0]["instructions"][1].update(
        instr_args=None
    ),
    "is not UTF-8": lambda r: plan_of(r).update(name=b"\xff"),
    "segment 0 ends at byte": lambda r: r["segments"][0].update(size=1 << 40),
    "is in segment 5 of": lambda r: r["constant_segment"].update(segment_index=5),
}


@pytest.mark.parametrize("message", BAD)
def test_says_what_is_wrong(message):
    raw = RAW["portable"]
    root = thawed(tables(raw[: flat_size(raw)]))
    BAD[message](root)
    data = rebuilt(raw, root)
    with pytest.raises(FormatError) as e:
        pte.parse(data, len(data))
    assert message in str(e.value)


def test_tells_all_faults_at_once():
    raw = RAW["portable"]
    root = thawed(tables(raw[: flat_size(raw)]))
    tensor_of(root, 0)["scalar_type"] = 12
    tensor_of(root, 1)["dim_order"] = [0]
    step(root, 0)["op_index"] = -1
    data = rebuilt(raw, root)
    with pytest.raises(FormatError) as e:
        pte.parse(data, len(data))
    assert str(e.value).startswith("pte: 3 faults") and "value 1 has dim order" in str(e.value)


def first_tensor(root):
    return next(v["value"] for v in root["values"] if v["value"]["is"] == "VkTensor")


BAD_GRAPH = {
    "version is '1'": lambda r: r.update(version="1"),
    "inputs: value 99 of 24 does not exist": lambda r: r.update(input_ids=[99]),
    "call 2 'aten.linear.default': value -1 of 24": lambda r: r["chain"][2].update(args=[-1]),
    "call 2 'aten.linear.default' has no arguments": lambda r: r["chain"][2].update(args=[]),
    "reads value 6, which nothing writes": lambda r: r.update(input_ids=[]),
    "output 23 is written by nothing": lambda r: r["chain"].pop(),
    "list 14 holds a list": lambda r: r["values"][14]["value"].update(items=[15, 15]),
    "value 0 has type 9": lambda r: first_tensor(r).update(datatype=9),
    "value 0 is constant 4 of 4": lambda r: first_tensor(r).update(constant_id=4),
    "value 0 needs 36 bytes, its constant 32": lambda r: first_tensor(r).update(dims=[9]),
    "value 0 has sizes": lambda r: first_tensor(r).update(dims=[1 << 31] * 3),
    "which this file does not hold": lambda r: r["constants"][0].update(named_key="x"),
    "constant 0 ends at byte": lambda r: r["constants"][0].update(offset=1),
    "constant 0 has 99 bytes, but its data 32": lambda r: r["constants"][0].update(length=99),
    "value 3 is of no type": lambda r: r["values"][3].update(value=None),
}


@pytest.mark.parametrize("message", BAD_GRAPH)
def test_says_what_is_wrong_in_a_graph(message):
    raw = RAW["worked"]
    program = pte.parse(raw, len(raw))
    blob = cut(raw, program.plans["forward"].delegates[0].blob)
    begin, size = struct.unpack_from("<II", blob, 10)
    root = thawed(tables(blob[begin : begin + size], vkgraph_tables.SCHEMA, "VkGraph", b"VK00"))
    BAD_GRAPH[message](root)
    out = bytearray(b"\0\0\0\0VK00")
    out[:4] = struct.pack("<I", put(out, root, vkgraph_tables.SCHEMA))
    head = struct.pack("<4x4sHIIIQ", b"VH00", 30, 30, len(out), 30 + len(out), 0)
    data = head + bytes(out)
    with pytest.raises(FormatError) as e:
        vkgraph.parse(data, Span(0, len(data)), program.named)
    assert message in str(e.value)


def patched(at, form, value, name="worked"):
    data = bytearray(RAW[name])
    struct.pack_into(form, data, at, value)
    return bytes(data)


BAD_HEADER = {
    "identifier is b'GGUF'": patched(4, "4s", b"GGUF"),
    "identifier is b'ET11'": patched(4, "4s", b"ET11"),
    "extended header has 8 bytes": patched(12, "<I", 8),
    "flatbuffer's size is 1099511627776": patched(16, "<Q", 1 << 40),
    "segments take": patched(32, "<Q", 1 << 40),
    "file has 39 bytes": RAW["worked"][:39],
    "Program points to byte 4294967295": patched(0, "<I", (1 << 32) - 1),
}


@pytest.mark.parametrize("message", BAD_HEADER)
def test_refuses_a_bad_header(message):
    data = BAD_HEADER[message]
    with pytest.raises(FormatError) as e:
        pte.parse(data, len(data))
    assert message in str(e.value)


def test_shared_contents_cannot_multiply():
    n = 50_000
    root = thawed(tables(RAW["portable"][: flat_size(RAW["portable"])]))
    entry = {"is": "IntList", "items": [0] * n}
    plan_of(root)["values"] = [{"is": "EValue", "val": entry}] + [
        {"is": "EValue", "val": {"is": "Null"}}
    ] * n
    data = bytearray(rebuilt(RAW["portable"], root))
    begin = data.find(struct.pack("<I", n + 1)) + 4
    target = begin + struct.unpack_from("<I", data, begin)[0]
    for i in range(n + 1):  # every value is the one with the long list
        struct.pack_into("<I", data, begin + 4 * i, target - begin - 4 * i)
    start = time.perf_counter()
    with pytest.raises(FormatError, match="share their contents"):
        pte.parse(bytes(data), len(data))
    assert time.perf_counter() - start < 5


def test_a_program_is_plain_values():
    program = pte.parse(RAW["worked"], len(RAW["worked"]))
    assert program == pte.parse(RAW["worked"], len(RAW["worked"]))
    with pytest.raises(AttributeError):
        program.size = 1
