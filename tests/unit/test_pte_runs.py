"""Programs walked through with a few lines of numpy: ids, order and bytes are what torch meant."""

import numpy as np
import pytest
from pte_files import DATA, RAW, cut

from nibblegrad.io import pte, vkgraph, vkgraph_tables
from nibblegrad.io.pte_tables import DelegateCall, Free, JumpFalse, Kernel, Move, Tensor

BOTH = {
    "mul": lambda a, b: a * b,
    "sub": lambda a, b, alpha: a - alpha * b,
    "add": lambda a, b, alpha: a + alpha * b,
    "sort": lambda x, axis, descending: (np.sort(x, axis), np.argsort(x, axis)),
    "copy_": lambda to, x, wait: x,
    "prepack": lambda x: x,
    "linear": lambda x, w, b: x @ w.T + b,
    "split_with_sizes_copy": lambda x, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis),
    "cat": lambda xs, axis: np.concatenate(xs, axis),
    "mean": lambda x, axes, keep, dtype: x.mean(tuple(axes), keepdims=keep),
    "clamp": lambda x, low, high: np.clip(x, low, high),
}


def call(name, args, n):
    out = BOTH[name](*args)
    return out if n > 1 else [out]


def constant(raw, tensor, span):
    return np.frombuffer(cut(raw, span)[: tensor.nbytes], tensor.dtype).reshape(tensor.shape)


class Delegate:
    """A graph whose state lives on from call to call."""

    def __init__(self, raw, blob, named):
        self.g = g = vkgraph.parse(cut(raw, blob), blob, named)
        self.first, self.state = {}, {}
        for i, v in enumerate(g.values):
            if isinstance(v, vkgraph_tables.Tensor):
                if v.constant is not None:
                    self.first[i] = constant(raw, v, g.constants[v.constant].data)
            else:
                self.first[i] = getattr(v, "items", v)
        self.load = [c for c in g.chain if "prepack" in c.name]
        for c in self.load:  # once: what is written in place afterwards stays
            self.state[c.outputs[0]] = self.first[c.args[0]]

    def get(self, env, i):
        v = self.g.values[i]
        return [env[j] for j in v.ids] if isinstance(v, vkgraph_tables.ValueList) else env[i]

    def __call__(self, *inputs):
        env = {**self.first, **self.state, **dict(zip(self.g.inputs, inputs, strict=True))}
        for c in self.g.chain:
            if c not in self.load:
                out = call(c.name.split(".")[1], [self.get(env, i) for i in c.args], len(c.outputs))
                env.update(zip(c.outputs, out, strict=True))
        self.state = {i: env[i] for i in self.state}
        return [env[i] for i in self.g.outputs]


class Program:
    def __init__(self, name):
        self.raw = raw = RAW[name]
        program = pte.parse(raw, len(raw))
        self.plan = program.plans["forward"]
        self.env = list(self.plan.values)
        self.delegates = [Delegate(raw, d.blob, program.named) for d in self.plan.delegates]
        for i, v in enumerate(self.env):
            if isinstance(v, Tensor):
                self.env[i] = constant(raw, v, v.data) if v.data else None

    def step(self, c, at):
        env = self.env
        if isinstance(c, Kernel):
            name = c.op.split("::")[1].split(".")[0]
            out = call(name, [env[i] for i in c.inputs], len(c.outputs))
            for i, x in zip(c.outputs, out, strict=True):
                env[i] = x
        elif isinstance(c, DelegateCall):
            delegate = self.delegates[c.delegate]
            n = len(delegate.g.inputs)
            out = delegate(*(env[i] for i in c.args[:n]))
            for i, x in zip(c.args[n:], out, strict=True):
                env[i] = x
        elif isinstance(c, Move):
            env[c.target] = env[c.source]
        elif isinstance(c, JumpFalse):
            return at + 1 if env[c.condition] else c.to
        assert not isinstance(c, Free)
        return at + 1

    def __call__(self, *inputs):
        for i, x in zip(self.plan.inputs, inputs, strict=True):
            self.env[i] = x
        at = 0
        while at < len(self.plan.chains[0]):
            at = self.step(self.plan.chains[0][at], at)
        return [self.env[i] for i in self.plan.outputs]


@pytest.mark.parametrize("name", ["worked", "branch", "state", "state_portable"])
def test_numpy_gets_torchs_results(name):
    program, arrays = Program(name), np.load(DATA / f"{name}.npz")
    runs = {key.split("/")[1] for key in arrays}
    for run in sorted(runs):
        keys = [f"forward/{run}/in/{i}" for i in range(len(program.plan.inputs))]
        for i, out in enumerate(program(*(arrays[k] for k in keys))):
            np.testing.assert_allclose(out, arrays[f"forward/{run}/out/{i}"], rtol=1e-5, atol=1e-6)
