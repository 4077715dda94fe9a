"""sdpa and attention over a KV cache against torch: shared heads, masks, positions, gradients."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from double import DoubleHost, to_tensor

import nibblegrad as ng
from nibblegrad.core.schema import Info
from nibblegrad.gpu.host import HostDevice
from nibblegrad.tensor.tensor import set_default_device

torch = pytest.importorskip("torch")
F = torch.nn.functional


def drawn(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def placed(dev: DoubleHost, value: np.ndarray) -> ng.Tensor:
    made = to_tensor(dev, value, Info(value.shape, ng.f32))
    assert made is not None
    return made


def array(x: ng.Tensor) -> np.ndarray:
    return np.asarray(asyncio.run(numpy_of(x)))


async def numpy_of(x: ng.Tensor) -> np.ndarray:
    return await x.numpy()


@pytest.mark.parametrize(
    ("heads", "mask"), [((4, 2), (4, 3, 5)), ((3, 3), (1, 1, 5)), ((6, 1), (3, 5)), ((2, 2), None)]
)
def test_sdpa_and_its_gradients_are_torchs(heads: tuple[int, int], mask: tuple | None):
    dev = DoubleHost()
    set_default_device(dev)
    h, g = heads
    values = drawn(h, (2, h, 3, 6), (2, g, 5, 6), (2, g, 5, 7), *([mask] if mask else []))
    ours = [placed(dev, v) for v in values]
    theirs = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
    for x in ours:
        x.requires_grad = True
    out = ng.ops.sdpa(*ours)
    q, k, v, *rest = theirs
    want = F.scaled_dot_product_attention(q, k, v, *rest, enable_gqa=True)
    seed = drawn(9, out.shape)[0]
    out.backward(placed(dev, seed))
    want.backward(torch.tensor(seed, dtype=torch.float64))
    np.testing.assert_allclose(dev.array(out._view), want.detach(), rtol=1e-9)
    for x, w in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(dev.array(x.grad._view), w.grad, rtol=1e-7, atol=1e-10)


def test_a_mask_hides_its_keys_and_no_more():
    set_default_device(HostDevice())
    q, k, v = drawn(1, (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4))
    mask = np.zeros((3, 5), np.float32)
    mask[:, 3:], mask[1] = -np.inf, -np.inf
    out = array(ng.ops.sdpa(*(ng.tensor(x) for x in (q, k, v, mask))))
    short = array(ng.ops.sdpa(*(ng.tensor(x) for x in (q, k[:, :, :3], v[:, :, :3]))))
    np.testing.assert_allclose(out[:, :, [0, 2]], short[:, :, [0, 2]], rtol=1e-5)
    assert np.isnan(out[:, :, 1]).all()  # as torch.softmax of a row of -inf


@pytest.mark.parametrize("size", [8, 6])
@pytest.mark.parametrize("causal", [True, False])
def test_prefill_and_single_steps_agree(size: int, causal: bool):
    """Rows together, and one by one as start_pos moves on: the same where causal, and only there.
    What lies in the caches past the last row does not matter."""
    set_default_device(HostDevice())
    q, k, v = drawn(2, (1, 5, 6, size), (1, 5, 2, size), (1, 5, 2, size))
    caches = [[ng.tensor(np.full((1, 7, 2, size), np.nan, np.float32)) for _ in "kv"]
              for _ in "ab"]  # fmt: skip
    run = ng.ops.sdpa_with_kv_cache
    whole = array(run(*map(ng.tensor, (q, k, v)), *caches[0], 0, 5, is_causal=causal))
    steps = [array(run(*(ng.tensor(x[:, i : i + 1]) for x in (q, k, v)), *caches[1], i, 1,
                       is_causal=causal)) for i in range(5)]  # fmt: skip
    assert np.isfinite(whole).all()
    np.testing.assert_allclose(steps[4], whole[:, 4:], rtol=1e-5)
    assert np.allclose(np.concatenate(steps, 1), whole) == causal
    for one, other in zip(*caches, strict=True):
        np.testing.assert_array_equal(array(one), array(other))


REFUSED = {
    "sdpa: q, k, v must be": lambda ops, x: ops.sdpa(x(1, 3, 2, 4), x(1, 2, 5, 4), x(1, 2, 5, 4)),
    "sdpa: attn_mask must broadcast": lambda ops, x: ops.sdpa(
        x(1, 2, 4), x(1, 5, 4), x(1, 5, 4), x(3, 1, 5)
    ),
    "update_cache: value's rows must lie in cache": lambda ops, x: cached(ops, x, start_pos=3),
    "not both given": lambda ops, x: cached(ops, x, is_causal=True, attn_mask=x(2, 4)),
    "dropout_p=0.5": lambda ops, x: cached(ops, x, dropout_p=0.5),
    "seq_len=1 of 2": lambda ops, x: cached(ops, x, seq_len=1),
    "attn_mask must be \\[2, 4\\], got \\[2, 3\\]": lambda ops, x: cached(
        ops, x, attn_mask=x(2, 3)
    ),
}


def cached(ops, x, start_pos: int = 0, seq_len: int = 2, **more):
    new = [x(1, 2, 1, 4) for _ in range(3)]
    return ops.sdpa_with_kv_cache(*new, x(1, 4, 1, 4), x(1, 4, 1, 4), start_pos, seq_len, **more)


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused_says_why(message: str):
    set_default_device(HostDevice())
    with pytest.raises(ng.ShapeError, match=message):
        REFUSED[message](ng.ops, lambda *shape: ng.zeros(shape))
