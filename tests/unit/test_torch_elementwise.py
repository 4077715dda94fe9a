"""Every elementwise op's numpy body against torch: values, special values, dtypes, kinks."""

from __future__ import annotations

import numpy as np
import pytest
from double import to_tensor
from sampling import arrays, cases, expected, infos

torch = pytest.importorskip("torch")
from torch_elementwise import ROUGH, SMOOTH, safe_divisors, torchs_own  # noqa: E402

import nibblegrad as ng  # noqa: E402
from nibblegrad.core.dtype import f32  # noqa: E402
from nibblegrad.core.schema import Info  # noqa: E402
from nibblegrad.gpu.host import HostDevice  # noqa: E402
from nibblegrad.ops.op import CATALOGUE, Op  # noqa: E402
from nibblegrad.tensor.tensor import set_default_device  # noqa: E402

TWINS = SMOOTH | ROUGH
CASES = [
    pytest.param(CATALOGUE[name], words, attrs, id=case)
    for name in TWINS
    for case, words, attrs in cases(CATALOGUE[name])
]


@pytest.mark.parametrize(("op", "words", "attrs"), CASES)
def test_body_equals_torch(op: Op, words: str, attrs: dict):
    found = infos(op, words)
    values = safe_divisors(op, arrays(op, found, words))
    (ours,) = expected(op, found, values, attrs)
    theirs = TWINS[op.name](*map(torch.from_numpy, values), **attrs).numpy()
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if ours.dtype.kind == "f":
        ours, theirs = (np.where(torchs_own(op, values, attrs), 0, y) for y in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, rtol=op.tol, atol=1e-6)
    else:
        np.testing.assert_array_equal(ours, theirs)


def test_every_elementwise_op_has_a_twin():
    from nibblegrad.ops import activation, compare, create, map, unary

    files = (activation, compare, create, map, unary)
    ours = {v.name for f in files for v in vars(f).values() if isinstance(v, Op)}
    assert ours - {"scale", "silu", "silu_mul", "sum_to"} == TWINS.keys()


def test_whole_numbers_by_zero_are_zero():
    a, zero = np.array([7, -7, -(2**31)], np.int32), np.zeros(3, np.int32)
    with np.errstate(all="ignore"):
        for name in ("floor_divide", "fmod", "remainder"):
            np.testing.assert_array_equal(CATALOGUE[name].body(a, zero), zero)
        for mode in ("floor", "trunc"):
            got = CATALOGUE["div"].body(a, zero, rounding_mode=mode)
            np.testing.assert_array_equal(got, zero)
            got = CATALOGUE["div"].body(a, zero - 1, rounding_mode=mode)
            np.testing.assert_array_equal(got, [-7, 7, -(2**31)])


KINKS = {
    "abs": [0.0], "relu": [0.0], "relu6": [0.0, 6.0], "hardtanh": [-1.0, 1.0], "sign": [0.0],
    "hardswish": [-3.0, 3.0], "hardsigmoid": [-3.0, 3.0], "hardshrink": [-0.5, 0.5, 0.0],
    "leaky_relu": [0.0], "elu": [0.0], "round": [0.5], "sqrt": [0.0], "floor": [1.0],
}  # fmt: skip
AT = [pytest.param(name, at, {}, id=name) for name, at in KINKS.items()]
AT += [
    pytest.param("clamp", [-1.0, 2.0, 0.0], {"min": -1, "max": 2}, id="clamp"),
    pytest.param("pow_scalar", [0.0, -2.0, 3.0], {"exponent": 2}, id="pow 2"),
    pytest.param("pow_scalar", [0.0, -2.0], {"exponent": 0}, id="pow 0"),
]


def gradient(name: str, arrays_: list, attrs: dict) -> list:
    dev = HostDevice()
    set_default_device(dev)
    xs = [to_tensor(dev, a, Info(a.shape, f32)) for a in arrays_]
    for x in xs:
        x.requires_grad = True
    out = CATALOGUE[name](*xs, **attrs)
    with np.errstate(all="ignore"):
        out.backward(to_tensor(dev, np.full(out.shape, 3.0, np.float32), Info(out.shape, f32)))
    return [dev.array(x.grad._view) for x in xs]


def torch_gradient(name: str, arrays_: list, attrs: dict) -> list:
    xs = [torch.tensor(a, requires_grad=True) for a in arrays_]
    full = {**CATALOGUE[name].defaults, **attrs}
    out = SMOOTH[name](*xs, **full)
    out.backward(torch.full_like(out, 3.0))
    return [x.grad.numpy() for x in xs]


@pytest.mark.parametrize(("name", "at", "attrs"), AT)
def test_slope_at_a_kink_equals_torch(name: str, at: list, attrs: dict):
    x = np.array(at, np.float32)
    (ours,), (theirs,) = gradient(name, [x], attrs), torch_gradient(name, [x], attrs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("name", ["minimum", "maximum", "pow", "fmod", "remainder"])
def test_slopes_of_pairs_equal_torch(name: str):
    a, b = np.array([1, 2, 3, 0, 0, 2], np.float32), np.array([1, 3, 2, 2, 0, 0], np.float32)
    if name in ("fmod", "remainder"):
        b = b + 1
    for ours, theirs in zip(
        gradient(name, [a, b], {}), torch_gradient(name, [a, b], {}), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_scalars_of_another_kind_compare_as_torchs():
    x = np.array([-(2**31), -1, 0, 1, 2, 16777217, 2**31 - 1], np.int32)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for other in (0.5, 1.5, -0.5, 2**31, -(2**33), 1e10):
            ours = CATALOGUE[f"{name}_scalar"].body(x, other=other)
            theirs = getattr(torch, name)(torch.from_numpy(x), float(other)).numpy()
            np.testing.assert_array_equal(ours, theirs, f"{name} {other}")


def test_tensors_of_ng():
    """The aliases, on tensors."""
    set_default_device(HostDevice())
    x = ng.tensor([1.5, -2.5])
    assert ng.ops.to_copy(x, ng.i32).dtype is ng.i32
    assert ng.ops.full_like(x, 3, "i32").shape == (2,)
    assert ng.ops.zeros_like(x).dtype is ng.f32
    assert ng.ops.ones((2, 0), "bool").dtype.name == "bool"
    assert ng.ops.scalar_tensor(2.0).shape == ()
    assert ng.ops.arange(0, 3, dtype="i32").shape == (3,)
