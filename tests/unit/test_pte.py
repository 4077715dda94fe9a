"""The .pte reader against ExecuTorch's own deserialisers, and against files made to break it.

tests/oracle/make_pte.py wrote the programs, torch's answers and what upstream reads in them.
"""

import hashlib
import math
import random
import struct
import time

import numpy as np
import pytest
from pte_files import DATA, FACTS, FILES, RAW, cut, flat_size, graphs, tables

from nibblegrad.core.errors import FormatError
from nibblegrad.io import pte, vkgraph, vkgraph_tables
from nibblegrad.io.flatbuffer import Span
from nibblegrad.io.pte_tables import DelegateCall, JumpFalse, Kernel, Move, Tensor, TensorList


def same(ours, theirs, where, found):
    """Every field of a table of ours against the dataclass of upstream; `found` counts them."""
    if isinstance(ours, dict):
        assert theirs is not None and theirs[0] == ours["is"], where
        row = dict(zip(FACTS["fields"][theirs[0]], theirs[1:], strict=True))
        assert row.keys() == ours.keys() - {"is"}, where
        for key, value in row.items():
            same(ours[key], value, f"{where}.{key}", found)
    elif isinstance(ours, Span):
        found.append(where)  # bytes are compared by digest
    elif isinstance(ours, tuple):
        assert len(ours) == len(theirs or ()), where
        for i, (a, b) in enumerate(zip(ours, theirs or (), strict=True)):
            same(a, b, f"{where}[{i}]", found)
    elif isinstance(ours, float):  # upstream reads graphs through flatc's JSON: 12 places
        assert math.isclose(ours, float(theirs), rel_tol=1e-15, abs_tol=1e-12), where
    else:
        assert (ours or None) == (theirs or None), where
        assert type(ours) is type(theirs) or not ours or isinstance(theirs, (int, float)), where
        found.append(where)


@pytest.mark.parametrize("name", FILES)
def test_every_field_is_what_executorch_reads(name):
    raw, facts, found = RAW[name], FILES[name], []
    assert hashlib.sha256(raw).hexdigest()[:16] == facts["sha"], "run make_pte.py for this file"
    same(tables(raw[: flat_size(raw)]), facts["program"], "Program", found)
    program = pte.parse(raw, len(raw))
    blobs = [d.blob for p in program.plans.values() for d in p.delegates]
    assert len(blobs) == len(facts["graphs"])
    for blob, graph, digest in zip(blobs, facts["graphs"], facts["blobs"], strict=True):
        data = cut(raw, blob)
        assert hashlib.sha256(data).hexdigest()[:16] == digest
        begin, size = struct.unpack_from("<II", data, 10)
        ours = tables(data[begin : begin + size], vkgraph_tables.SCHEMA, "VkGraph", b"VK00")
        same(ours, graph, "VkGraph", found)
    assert len(found) > 60


@pytest.mark.parametrize("name", FILES)
def test_constants_are_where_executorch_finds_them(name):
    raw, facts = RAW[name], FILES[name]
    program = pte.parse(raw, len(raw))
    shas = {k: hashlib.sha256(cut(raw, s)).hexdigest()[:16] for k, s in program.named.items()}
    assert shas == facts["named"]
    for plan in tables(raw[: flat_size(raw)])["execution_plan"]:
        for i, entry in enumerate(plan["values"]):
            tensor = program.plans[plan["name"]].values[i]
            if isinstance(tensor, Tensor) and tensor.data:
                pool = facts["constants" if tensor.is_constant else "mutable"]
                want = bytes.fromhex(pool[entry["val"]["data_buffer_idx"]])
                assert cut(raw, tensor.data)[: len(want)] == want[: tensor.nbytes]
    for graph in graphs(raw):
        for constant in graph.constants:  # the key is the digest of the bytes
            assert hashlib.sha256(cut(raw, constant.data)).hexdigest() == constant.key


@pytest.mark.parametrize("name", FILES)
def test_inputs_and_outputs_are_torchs(name):
    program = pte.parse(RAW[name], len(RAW[name]))
    arrays = np.load(DATA / f"{name}.npz")
    for plan in program.plans.values():
        for side, ids in (("in", plan.inputs), ("out", plan.outputs)):
            for j, value in enumerate(plan.values[i] for i in ids):
                array = arrays[f"{plan.name}/0/{side}/{j}"]
                if isinstance(value, Tensor):
                    assert (value.dtype, value.shape) == (array.dtype.name, array.shape)
                else:
                    assert value == array


def code(name, method="forward"):
    plan = pte.parse(RAW[name], len(RAW[name])).plans[method]
    return plan, plan.chains[0]


def test_kernel_calls_know_their_outputs():
    plan, chain = code("portable")
    calls = {c.op: c for c in chain if isinstance(c, Kernel)}
    split = calls["aten::split_with_sizes_copy.out"]
    assert (len(split.inputs), len(split.outputs)) == (3, 3)
    pool = calls["aten::max_pool2d_with_indices.out"]
    assert len(pool.inputs) == 6 and [plan.values[i].dtype for i in pool.outputs] == [
        "float32",
        "int64",
    ]
    index = calls["aten::index.Tensor_out"]
    assert plan.values[index.inputs[1]] == TensorList((None, plan.inputs[1]))
    assert plan.values[calls["aten::div.out_mode"].inputs[2]] == "floor"
    plan, chain = code("state_portable")
    copy_ = chain[-1]
    assert copy_.op == "aten::copy_" and copy_.outputs == copy_.inputs[:1]
    state = plan.values[copy_.outputs[0]]
    assert state.data and state.memory and not state.is_constant


def test_jumps_moves_and_delegates_in_turn():
    plan, chain = code("branch")
    assert [type(c) for c in chain] == [JumpFalse, Kernel, Move, JumpFalse, Kernel, Move, Kernel]
    assert plan.values[chain[3].condition] is False and chain[0].to == 4
    assert [type(c) for c in code("islands")[1]].count(DelegateCall) == 3
    chain = code("loop")[1]
    back = next(c for c in chain if isinstance(c, JumpFalse))
    assert back.to < chain.index(back)
    grow = next(c for c in chain if isinstance(c, Kernel) and "copy_index" in c.op)
    assert grow.outputs == grow.args[:1] == code("loop")[0].outputs
    sizes = code("dynamic_portable")[1][0]
    assert (sizes.op, len(sizes.inputs), len(sizes.outputs)) == ("aten::sym_size.int", 2, 1)
    plan, chain = code("dynamic")
    assert [plan.values[i].dynamism for i in plan.inputs + plan.outputs] == ["bound"] * 3


def test_splits_the_results_of_a_graph():
    graph = graphs(RAW["worked"])[0]
    split = next(c for c in graph.chain if "split" in c.name)
    assert len(split.args) == 3 and len(split.outputs) == 2
    a, b = graph.constants[:2]
    assert a == b and len(graph.constants) == 4  # equal weights lie in the file once
    state = graphs(RAW["state"])[0]
    assert state.chain[2].outputs == state.chain[2].args[:1]  # written in place


@pytest.mark.parametrize("name", ["worked", "portable"])
def test_asks_for_more_at_every_cut(name):
    raw = RAW[name]
    for n in range(0, flat_size(raw), 5):
        with pytest.raises(pte.NeedMore) as e:
            pte.parse(raw[:n], len(raw))
        assert n < e.value.bytes_wanted <= len(raw)
    program = pte.parse(raw[: flat_size(raw)], len(raw))
    assert program == pte.parse(raw, len(raw))
    for delegate in program.plans["forward"].delegates:
        with pytest.raises(pte.NeedMore):
            vkgraph.parse(cut(raw, delegate.blob)[:100], delegate.blob, program.named)


@pytest.mark.parametrize("name", FILES)
def test_mutated_files_are_refused_or_read(name):
    raw, rng, slowest, refused = RAW[name], random.Random(name), 0.0, 0
    for i in range(300):
        data = bytearray(raw)
        if i % 5 == 0:
            del data[rng.randrange(len(raw)) :]
        else:  # flips where the tables are; a segment's bytes are only bytes
            for _ in range(rng.choice((1, 1, 2, 8))):
                at = rng.randrange(min(len(raw), flat_size(raw) + 1024))
                data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), 0, 255))
        start = time.perf_counter()
        try:
            graphs(bytes(data))
        except (FormatError, pte.NeedMore):
            refused += 1
        slowest = max(slowest, time.perf_counter() - start)
    assert slowest < 1 and refused > 70
