"""Templates over every op, on the host. No op is named here."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from double import DoubleHost, as_double, ordered, to_tensor
from sampling import NUMPY, arrays, cases, expected, infos, learns, shape_of, weights

import nibblegrad as ng
from nibblegrad.core.errors import NibblegradError
from nibblegrad.core.launch import Generated
from nibblegrad.gpu.host import HostDevice
from nibblegrad.gpu.link import link
from nibblegrad.ops.op import CATALOGUE, Caps, Op
from nibblegrad.tensor.tensor import set_default_device

OPS = list(CATALOGUE.values())
CASES = [pytest.param(op, w, a, id=name) for op in OPS for name, w, a in cases(op)]
SHADERS = Path(__file__).parents[2] / "shaders"


@pytest.mark.parametrize(("op", "words", "attrs"), CASES)
def test_shape(op: Op, words: str, attrs: dict):
    found = infos(op, words)
    d = op.infer(found, attrs)
    outs = expected(op, found, arrays(op, found, words), attrs)
    assert [o.shape for o in outs[: len(d.out)]] == [i.shape for i in d.out]
    assert [o.dtype for o in outs[: len(d.out)]] == [NUMPY[i.dtype.name] for i in d.out]


REFUSALS = [pytest.param(op, *r, id=f"{op.name}[{r[0]}]") for op in OPS for r in op.refusals]


@pytest.mark.parametrize(("op", "words", "message", "attrs"), REFUSALS)
def test_refuses(op: Op, words: str, message: str, attrs: dict):
    found = infos(op, words)
    with pytest.raises(NibblegradError) as caught:
        op.infer(found, {**op.defaults, **attrs})
    assert str(caught.value) == message


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_complete(op: Op):
    assert op.doc, "no docstring"
    assert op.refusals, "no refusal"
    assert op.routes, "no kernel"
    assert (op.gradient is None) == bool(op.no_gradient), "a gradient, or the reason for none"
    shapes = [shape_of(w.rpartition(":")[2]) for words, _ in op.case_list
              for w in words.split() if w != "-"]  # fmt: skip
    refused = [shape_of(w.rpartition(":")[2]) for words, *_ in op.refusals for w in words.split()
               if w != "-"]  # fmt: skip
    inferred = [op.infer(infos(op, words), attrs) for _, words, attrs in cases(op)]
    shapes += [i.shape for d in inferred for i in d.out]
    assert any(0 in s for s in shapes + refused), "no empty case"
    assert any(1 in s for s in shapes), "no 1-long case"
    assert any(n % 2 and n > 1 for s in shapes for n in s), "no odd size"


def test_every_shader_is_reached():
    reached = set()
    for op in OPS:
        for _, words, attrs in cases(op):
            for weight in weights(op, words):
                d = op.infer(infos(op, words, weight), {**op.defaults, **attrs})
                able = Caps(packed_dot=True, subgroups=True, matrix=True, precision="medium")
                for caps in (Caps(True), able, replace(able, precision="highest")):
                    for launch in op.accepting(d, caps):
                        reached.add(launch.kernel)
                        reached |= {u for u in launch.link if not isinstance(u, Generated)}
                        link(launch)
    files = {str(p.relative_to(SHADERS))[:-5] for p in SHADERS.rglob("*.wgsl")}
    units = {f for f in files if f.startswith("lib/")} | {"format/halfwords"}
    assert files - units == reached - units


# gradients -----------------------------------------------------------------------------------


def is_small(words: str) -> bool:
    """Few enough elements for finite differences, and none of the empty cases."""
    sizes = [np.prod(shape_of(w.rpartition(":")[2])) for w in words.split() if w != "-"]
    return min(sizes) > 0 and sum(sizes) < 900


GRADIENTS = [
    pytest.param(op, words, attrs, id=name)
    for op in OPS
    if op.gradient
    for name, words, attrs in cases(op)
    if is_small(words) and learns(op, words, attrs)
]


@pytest.mark.parametrize(("op", "words", "attrs"), GRADIENTS)
def test_gradient(op: Op, words: str, attrs: dict):
    """The vjp against central differences of the body, in float64."""
    dev = DoubleHost()
    set_default_device(dev)
    found = infos(op, words)
    values = as_double(op, found, arrays(op, found, words))
    attrs = {**op.defaults, **attrs}
    tensors = [to_tensor(dev, v, i) for v, i in zip(values, found, strict=True)]
    for t in tensors:
        if t is not None and t.dtype.kind == "f":
            t.requires_grad = True
    outs = op(*ordered(op, tensors, attrs))
    outs = outs if isinstance(outs, tuple) else (outs,)
    # only outputs that depend smoothly on the inputs carry a seed: the rest are by-products
    seed = np.random.default_rng(1).standard_normal(outs[0].shape)
    outs[0].backward(to_tensor(dev, seed, outs[0]._view.info))
    for at, t in enumerate(tensors):
        if t is not None and t.grad is not None:
            want = differences(op, values, at, attrs, seed)
            np.testing.assert_allclose(dev.array(t.grad._view), want, rtol=1e-5, atol=1e-7)


def differences(op: Op, values: list, at: int, attrs: dict, seed: np.ndarray) -> np.ndarray:
    def along(x: np.ndarray) -> float:
        given = [v.copy() if v is not None else None for v in values]
        given[at] = x
        out = op.body(*given, **attrs)
        return float((seed * (out[0] if isinstance(out, tuple) else out)).sum())

    grad, h = np.zeros_like(values[at]), 1e-6
    for index in np.ndindex(values[at].shape):
        up, down = values[at].copy(), values[at].copy()
        up[index] += h
        down[index] -= h
        grad[index] = (along(up) - along(down)) / (2 * h)
    return grad


def test_host_and_plan_agree():
    """A recorded plan replays to what eager code gives, with a step value that moves."""

    async def run() -> None:
        set_default_device(HostDevice())
        x = ng.tensor([[1.0, -2.0, 3.0]])
        out = ng.zeros((1, 3))
        with ng.record(a="f") as plan:
            ng.ops.fill(out, value=plan["a"])
            ng.ops.accumulate(out, ng.ops.silu(x))
        for a in (0.0, 2.5):
            plan.replay(a=a)
            want = np.asarray(await ng.ops.silu(x).numpy()) + np.float32(a)
            np.testing.assert_array_equal(await out.numpy(), want)
        with pytest.raises(ng.PlanError, match="plan: replay takes a; got b"):
            plan.replay(b=1.0)

    asyncio.run(run())
