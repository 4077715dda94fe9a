"""Whole programs on the host device: torch's answers, shapes, state, and what is refused."""

import asyncio

import numpy as np
import pytest
from program_cases import NAMES, cases
from pte_files import DATA, RAW, rebuilt, tables, thawed

import nibblegrad as ng
from nibblegrad.program.bindings import bindings
from nibblegrad.program.delegate import POSITION
from nibblegrad.program.host_ops import HOST


def run(work):
    async def inside():
        await ng.device("host")
        return await work

    return asyncio.run(inside())


def load(name):
    return run(ng.load_pte(str(DATA / f"{name}.pte")))


async def values(outs):
    return [await x.numpy() if isinstance(x, ng.Tensor) else np.asarray(x) for x in outs]


def called(model, method, inputs):
    async def work():
        return await values(await model.method(method)(*inputs))

    return run(work())


@pytest.mark.parametrize("name", NAMES)
def test_programs_give_torchs_answers(name):
    model = load(name)
    for method, inputs, wanted in cases(name):
        got = called(model, method, inputs)
        for x, want in zip(got, wanted, strict=True):
            assert x.shape == want.shape
            np.testing.assert_allclose(x, want, rtol=1e-5, atol=1e-6)


def test_a_shape_is_recorded_once():
    model = load("dynamic")
    method, inputs, wanted = next(cases("dynamic"))
    first, again = called(model, method, inputs), called(model, method, [x * 0 for x in inputs])
    np.testing.assert_allclose(first[0], wanted[0], rtol=1e-5)
    assert len(model.methods["forward"].recorded) == 1
    assert not np.allclose(first[0], again[0])


def test_plans_kept_are_few():
    model = load("dynamic")
    for n in range(1, 13):
        called(model, "forward", [np.ones((n, 6), np.float32)])
    assert [*model.methods["forward"].recorded][-1][0] == ((12, 6),)
    assert len(model.methods["forward"].recorded) == 8


def test_positions_move_within_one_plan():
    model = load("kv_cache")
    for method, inputs, wanted in cases("kv_cache"):
        np.testing.assert_allclose(called(model, method, inputs)[0], wanted[0], atol=1e-6)
    forward = model.methods["forward"]
    assert sorted(key[0][1] for key in forward.recorded) == [(1, 1, 32), (1, 3, 32), (1, 8, 32)]
    with pytest.raises(ng.ShapeError, match=r"position must be in 0 \.\. 15, got 16"):
        called(model, "forward", [np.array([16]), np.ones((1, 1, 32), np.float32)])
    with pytest.raises(ng.ShapeError, match=r"position must be in 0 \.\. 15, got -1"):
        called(model, "forward", [[-1], np.ones((1, 1, 32), np.float32)])


def test_state_lives_on_and_belongs_to_one_model():
    first, second = load("state"), load("state")
    x = [np.ones(4, np.float32)]
    once, twice = called(first, "forward", x)[0], called(first, "forward", x)[0]
    np.testing.assert_array_equal(twice - once, 2 * np.ones(4))
    np.testing.assert_array_equal(called(second, "forward", x)[0], once)


def test_a_condition_on_the_device_is_read_back(tmp_path):
    """The flag becomes a result of the program: no plan can hold the jump."""

    def change(root):
        plan = root["execution_plan"][0]
        flag, x = plan["inputs"][1], plan["inputs"][0]
        plan["operators"].append({"is": "Operator", "name": "aten::ne", "overload": "Scalar_out"})
        zero = len(plan["values"])
        plan["values"].append({"is": "EValue", "val": {"is": "Int", "int_val": 5}})
        made = thawed(plan["values"][flag])
        plan["values"].append(made)
        for chain in plan["chains"]:
            for step in chain["instructions"]:
                args = step["instr_args"]
                if args["is"] == "JumpFalseCall":
                    args["destination_instruction"] += 1
                    args["cond_value_index"] = (
                        zero + 1 if args["cond_value_index"] == flag else args["cond_value_index"]
                    )
            call = {"is": "KernelCall", "op_index": len(plan["operators"]) - 1}
            call["args"] = [flag, zero, zero + 1, zero + 1]
            chain["instructions"].insert(0, {"is": "Instruction", "instr_args": call})
        for i in (flag, zero + 1):
            tensor = plan["values"][i]["val"]
            tensor["scalar_type"] = 3 if i == flag else 11
        assert x != flag

    model = run(changed("branch", change, tmp_path))
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(called(model, "forward", [x, 4])[0], x * 2 + 0.5)
    np.testing.assert_allclose(called(model, "forward", [x, 5])[0], x - 0.5)
    assert not model.methods["forward"].recorded


def test_outputs_outlive_the_next_call():
    model = load("worked")
    x = np.ones((4, 16), np.float32)

    async def work():
        (y, *_), _ = await model(x), await model(x * 2)
        (z, *_) = await model(x)
        return await y.numpy(), await z.numpy()

    y, z = run(work())
    np.testing.assert_array_equal(y, z)


def test_inputs_are_lists_arrays_and_tensors():
    model = load("tokens")
    ids = [[3, 1, 4, 1, 5]]

    async def work():
        kinds = ids, np.array(ids), ng.tensor(ids, "i32")
        return [await values(await model(x)) for x in kinds]

    a, b, c = run(work())
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("worked", [], "forward: takes 1 inputs, got 0"),
        ("worked", [np.ones((4, 15), np.float32)], r"input 0 must be \[4, 16\], got \[4, 15\]"),
        ("dynamic", [np.ones((13, 6), np.float32)], r"must be at most \[12, 6\], got \[13, 6\]"),
        ("tokens", [np.ones((1, 5), np.float32)], "input 0 must be i32, got float32"),
        ("tokens", [[[0.5] * 5]], "must be i32, got a number that is not whole"),
        ("tokens", [np.full((1, 5), 2**40)], "a number does not fit into i32"),
    ],
)
def test_inputs_that_are_refused(name, inputs, message):
    with pytest.raises(ng.core.errors.NibblegradError, match=message):
        run(load(name)(*inputs))


def test_a_listing_tells_methods_state_and_operators():
    text = str(load("state_portable"))
    assert "input 0: float32 [4]" in text
    assert "state: f32[4]" in text
    assert "1 aten::mul.out" in text
    assert [*load("methods").methods] == ["forward", "norm"]


def changed(name, change, tmp_path):
    """A fixture's program with its tables changed."""
    root = thawed(tables(RAW[name]))
    change(root)
    path = tmp_path / "changed.pte"
    path.write_bytes(rebuilt(RAW[name], root))
    return ng.load_pte(str(path))


def test_unknown_operators_are_listed_at_once(tmp_path):
    def change(root):
        operators = root["execution_plan"][0]["operators"]
        operators[0]["name"], operators[1]["name"] = "aten::fft", "my::own"

    with pytest.raises(ng.FormatError, match=r"not supported: aten::fft\.out, my::own\.out"):
        run(changed("branch", change, tmp_path))


def test_a_loop_without_an_end_is_told(tmp_path):
    def change(root):
        for step in root["execution_plan"][0]["chains"][0]["instructions"]:
            if step["instr_args"]["is"] == "JumpFalseCall":
                step["instr_args"]["destination_instruction"] = 0

    model = run(changed("branch", change, tmp_path))
    with pytest.raises(ng.FormatError, match="no end of a loop"):
        run(model(np.ones((2, 3), np.float32), np.array(False)))


def test_every_binding_reads_its_arguments():
    from nibblegrad.program.arguments import READ

    for name, binding in bindings().items():
        assert set(binding.kinds) <= READ.keys() | {"-", "..."}, name
        assert binding.operator[0] != ":" or binding.function(), name


def test_every_name_that_upstream_registers_is_bound():
    registered = (DATA.parent / "webgpu_operators.txt").read_text().split()
    assert len(set(registered)) == 131
    known = bindings().keys() | HOST.keys() | {POSITION}
    assert not [n for n in registered if n not in known and f"{n}.default" not in known]
