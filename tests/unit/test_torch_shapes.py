"""Products, reductions, norms and movement against torch: values and autograd, on the host."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

import nibblegrad as ng
from nibblegrad import ops
from nibblegrad.gpu.host import HostDevice
from nibblegrad.tensor.tensor import set_default_device

torch = pytest.importorskip("torch")
aten = torch.ops.aten
SPECIAL = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, 1.0, -1e30, 2.5, -2.5]


def rand(*shape: int, kind: str = "f", seed: int = 0) -> np.ndarray:
    """Seeded values: f normal, s special, i u8 i8 b as their dtypes."""
    rng = np.random.default_rng([seed, *shape])
    if kind == "f":
        return rng.standard_normal(shape).astype(np.float32)
    if kind == "s":
        return rng.choice(np.array(SPECIAL, np.float32), shape)
    low, high = {"i": (-9, 9), "u8": (0, 256), "i8": (-128, 128), "b": (0, 2)}[kind]
    names = {"i": "int32", "u8": "uint8", "i8": "int8", "b": "bool"}
    return rng.integers(low, high, shape).astype(names[kind])


def ours(call: Any, arrays: list) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
    """Outputs, and the gradients of sum(seed * first output)."""

    async def run() -> Any:
        set_default_device(HostDevice())
        given = [None if a is None else ng.tensor(a) for a in arrays]
        for t in given:
            if t is not None:
                t.requires_grad = t.dtype.name == "f32" and all(a is None or a.size for a in arrays)
        with np.errstate(all="ignore"):
            outs = call(*given)
            outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
            found = [await o.numpy() for o in outs]
            if not outs[0].requires_grad:
                return found, None
            outs[0].backward(ng.tensor(rand(*outs[0].shape, seed=3)))
        return found, [t.grad and await t.grad.numpy() for t in given if t is not None]

    return asyncio.run(run())


def theirs(call: Any, arrays: list) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
    """The same of torch."""
    given = [None if a is None else torch.tensor(a) for a in arrays]
    for t in given:
        # torch dies of a division by zero in the gradient of an empty layer norm
        if t is not None and t.is_floating_point() and all(a is None or a.size for a in arrays):
            t.requires_grad_()
    outs = call(*given)
    outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
    if outs[0].requires_grad:
        outs[0].backward(torch.tensor(rand(*outs[0].shape, seed=3)))
    grads = [None if t.grad is None else t.grad.numpy() for t in given if t is not None]
    return [o.detach().numpy() for o in outs], grads


def agree(mine: Any, torchs: Any, arrays: list) -> None:
    found, grads = ours(mine, arrays)
    want, want_grads = theirs(torchs, arrays)
    for got, ref in zip(found, want, strict=True):
        assert got.shape == ref.shape
        if ref.dtype.kind in "iub":
            np.testing.assert_array_equal(got, ref)
        else:
            np.testing.assert_allclose(got, ref, rtol=2e-5, atol=2e-5)
    if grads is not None and all(a is None or np.isfinite(a).all() for a in arrays):
        for got, ref in zip(grads, want_grads, strict=True):
            if got is not None or ref is not None:
                np.testing.assert_allclose(got, ref, rtol=2e-4, atol=2e-5)


SHAPES = [(2, 3, 5, 7), (1, 1, 1, 1), (4, 1, 9, 2)]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dim", [None, (), (3,), (0, 2), (-1,), (1, -1), (0, 1, 2, 3)])
@pytest.mark.parametrize("kind", "fs")
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin"])
def test_reductions(name: str, kind: str, dim: Any, keep: bool):
    def call(x: Any) -> Any:
        given = () if dim is None and name.startswith("am") else dim
        return getattr(torch, name)(x, given, keep)

    for shape in SHAPES:
        agree(lambda x: getattr(ops, name)(x, dim, keep), call, [rand(*shape, kind=kind)])


@pytest.mark.parametrize("name", ["sum", "amax", "amin"])
def test_whole_number_reductions(name: str):
    for dim in ((1,), (0, -1)):
        agree(lambda x, d=dim: getattr(ops, name)(x, d),
              lambda x, d=dim: getattr(torch, name)(x, d), [rand(3, 5, 7, kind="i")])  # fmt: skip


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("kind", ["f", "s", "i"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reductions(name: str, kind: str, dim: int | None, keep: bool):
    for shape in ((3, 6), (1, 1), (5, 40, 3)):
        agree(lambda x: getattr(ops, name)(x, dim, keep),
              lambda x: getattr(torch, name)(x, dim, keep), [rand(*shape, kind=kind)])  # fmt: skip


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str):
    rows = [[-np.inf] * 3, [-3.4028e38] * 3, [1, np.inf, 2], [1, np.nan, 2], [-np.inf, 0, 1]]
    cases = [(rand(4, 8, 16), 1), (rand(3, 5), -1), (rand(7), 0), (rand(2, 0), 1), (rand(), 0),
             (np.float32(rows), -1), (np.linspace(-40, 40, 30, dtype=np.float32), 0)]  # fmt: skip
    for x, dim in cases:
        agree(lambda x, d=dim: getattr(ops, name)(x, d),
              lambda x, d=dim: getattr(torch, name)(x, d), [x])  # fmt: skip


MOVES = {
    "permute": (lambda x: ops.permute(x, (2, 0, -3, 3)), lambda x: x.permute(2, 0, -3, 3)),
    "flip": (lambda x: ops.flip(x, [0, -1]), lambda x: x.flip(0, -1)),
    "repeat": (lambda x: ops.repeat(x, (2, 1, 3, 1, 2)), lambda x: x.repeat(2, 1, 3, 1, 2)),
    "slice": (lambda x: ops.slice(x, 2, 1, 2**63 - 1, 3), lambda x: x[:, :, 1::3]),
    "select": (lambda x: ops.select(x, -2, -1), lambda x: x.select(-2, -1)),
    "pad": (lambda x: ops.constant_pad_nd(x, [1, -2, 0, 3], 1),
            lambda x: aten.constant_pad_nd(x, [1, -2, 0, 3], 1)),
    "expand": (lambda x: ops.expand(x, (3, -1, -1, -1, -1)), lambda x: x.expand(3, -1, -1, -1, -1)),
    "view": (lambda x: ops.view(x, (-1, 7)), lambda x: x.reshape(-1, 7)),
    "squeeze": (lambda x: ops.squeeze(x, (1, -4)), lambda x: x.squeeze((1, -4))),
    "unsqueeze": (lambda x: ops.unsqueeze(x, -2), lambda x: x.unsqueeze(-2)),
    "shuffle": (lambda x: ops.pixel_shuffle(x.reshape((3, 5, 4, 7)), 1),
                lambda x: torch.pixel_shuffle(x.reshape(3, 5, 4, 7), 1)),
    "unfold": (lambda x: ops.unfold(x, 2, 3, 2), lambda x: x.unfold(2, 3, 2)),
    "transpose": (lambda x: ops.transpose(x, 0, -2), lambda x: x.transpose(0, -2)),
    "t": (lambda x: ops.t(x.reshape((12, 35))), lambda x: x.reshape(12, 35).t()),
    "clone": (lambda x: ops.clone(x), lambda x: x.clone()),
    "split": (lambda x: ops.split(x, 3, 2), lambda x: x.split(3, 2)),
    "split_with_sizes": (lambda x: ops.split_with_sizes(x, [4, 0, 1], -2),
                         lambda x: x.split_with_sizes([4, 0, 1], -2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["f", "i", "u8", "i8", "b"])
@pytest.mark.parametrize("name", MOVES)
def test_moves(name: str, kind: str):
    mine, torchs = MOVES[name]
    shape = (3, 4, 5, 7)
    if name == "squeeze":
        shape = (1, 1, 5, 7)
    agree(mine, torchs, [rand(*shape, kind=kind)])


def test_pixel_shuffle():
    for shape, r in (((1, 8, 2, 3), 2), ((2, 18, 1, 3), 3), ((4, 2, 2), 2)):
        agree(lambda x, r=r: ops.pixel_shuffle(x, r),
              lambda x, r=r: torch.pixel_shuffle(x, r), [rand(*shape)])  # fmt: skip


@pytest.mark.parametrize("kind", ["f", "i", "u8", "b"])
def test_cat(kind: str):
    for sizes, dim in (((2, 4, 0, 2), 1), ((1,) * 17, -2), ((3,), 0)):
        shapes = [[2, 3, 5] for _ in sizes]
        for shape, n in zip(shapes, sizes, strict=True):
            shape[dim] = n
        arrays = [rand(*shape, kind=kind, seed=i) for i, shape in enumerate(shapes)]
        agree(lambda *xs, d=dim: ops.cat(xs, d), lambda *xs, d=dim: torch.cat(xs, d), arrays)
    legacy = [rand(0), rand(2, 3)]
    agree(lambda *xs: ops.cat(xs), lambda *xs: torch.cat(xs), legacy)


@pytest.mark.parametrize("kind", ["f", "i", "u8", "b"])
def test_indexing(kind: str):
    x, rng = rand(4, 6, 5, kind=kind), np.random.default_rng(1)
    for dim, n in ((0, 4), (1, 6), (-1, 5)):
        flat = rng.integers(0, n, 7).astype(np.int32)
        agree(lambda x, i, d=dim: ops.index_select(x, d, i),
              lambda x, i, d=dim: x.index_select(d, i), [x, flat])  # fmt: skip
        shape = [3, 5, 4]
        shape[dim] = 9
        some = rng.integers(0, n, shape).astype(np.int32)
        agree(lambda x, i, d=dim: ops.gather(x, d, i),
              lambda x, i, d=dim: x.gather(d, i.long()), [x, some])  # fmt: skip
    grid = rng.integers(-4, 4, (2, 3)).astype(np.int32)
    agree(lambda x, i: ops.index(x, i), lambda x, i: x[i], [x, grid])
    agree(lambda x, i: ops.index(x, i, dim=1), lambda x, i: x[:, i], [x, grid])


def test_products():
    for m, k, n in ((7, 5, 3), (1, 1, 1), (33, 12, 8), (0, 3, 2), (2, 0, 3)):
        a, b = rand(m, k), rand(k, n, seed=1)
        agree(lambda a, b: ops.mm(a, b), torch.mm, [a, b])
        pair = [rand(3, m, k), rand(3, k, n, seed=1)]
        agree(lambda a, b: ops.bmm(a, b), torch.bmm, pair)
        for add in ((n,), (m, n), (), (m, 1)):
            for beta, alpha in ((1, 1), (0.5, -2), (0, 1)):
                agree(lambda c, a, b, s=(beta, alpha): ops.addmm(c, a, b, *s),
                      lambda c, a, b, s=(beta, alpha): torch.addmm(c, a, b, beta=s[0], alpha=s[1]),
                      [rand(*add, seed=2), a, b])  # fmt: skip


def test_beta_of_zero_ignores_nan():
    nan = np.full(3, np.nan, np.float32)
    agree(lambda c, a, b: ops.addmm(c, a, b, 0), lambda c, a, b: torch.addmm(c, a, b, beta=0),
          [nan, rand(2, 4), rand(4, 3)])  # fmt: skip


@pytest.mark.parametrize("affine", [(True, True), (True, False), (False, True), (False, False)])
def test_norms(affine: tuple[bool, bool]):
    def ends(shape: tuple) -> list:
        return [rand(*shape, seed=i) if yes else None for i, yes in enumerate(affine, 1)]

    for shape, tail in (((4, 128), 1), ((2, 3, 5), 2), ((0, 7), 1), ((2, 0), 1)):
        last = shape[-tail:]
        agree(lambda x, w, b, n=last: ops.native_layer_norm(x, n, w, b, 1e-5),
              lambda x, w, b, n=last: torch.native_layer_norm(x, n, w, b, 1e-5),
              [rand(*shape) + 3, *ends(last)])  # fmt: skip
    shapes = [((2, 4, 3, 5), 2), ((1, 6, 2, 2), 3), ((1, 4, 3, 3), 1), ((3, 2, 1), 1)]
    # torch's group norm has no gradient with a bias alone: "tensor does not have a device"
    for shape, groups in shapes if affine != (False, True) else ():
        n, c, *rest = shape
        sizes = (n, c, int(np.prod(rest)), groups, 1e-2)
        agree(lambda x, w, b, s=sizes: ops.native_group_norm(x, w, b, *s),
              lambda x, w, b, s=sizes: aten.native_group_norm(x, w, b, *s),
              [rand(*shape) + 3, *ends((c,))])  # fmt: skip
    for shape in ((1, 8, 4, 3), (2, 3, 5), (3, 5), (0, 3, 2)):
        stats = [rand(shape[1], seed=4), np.abs(rand(shape[1], seed=5)) + np.float32(0.1)]
        agree(
            lambda x, w, b, m, v: ops.native_batch_norm_legit_no_training(x, w, b, m, v, 0.1, 1e-3),
            lambda x, w, b, m, v: aten._native_batch_norm_legit_no_training(
                x, w, b, m.detach(), v.detach(), 0.1, 1e-3
            ),
            [rand(*shape), *ends((shape[1],)), *stats],
        )


def test_a_view_shares_its_bytes():
    async def run() -> None:
        set_default_device(HostDevice())
        x = ng.zeros((2, 3))
        y = ops.unsqueeze(ops.view(x, (3, 2)), 0)
        ops.fill(x, value=2.0)
        assert (await y.numpy()).tolist() == [[[2, 2]] * 3]

    asyncio.run(run())
