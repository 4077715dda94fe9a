"""Convolutions, pooling, resizing and sampling against torch: values and gradients, many shapes."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from test_torch_shapes import agree, rand

import nibblegrad as ng
from nibblegrad import ops
from nibblegrad.gpu.host import HostDevice
from nibblegrad.tensor.tensor import set_default_device

torch = pytest.importorskip("torch")
from torch_spatial import (  # noqa: E402
    adaptive_avg_pool2d,
    avg_pool2d,
    conv_with_clamp,
    convolution,
    max_pool2d_with_indices,
    upsample_bilinear2d,
    upsample_nearest2d,
)

F = torch.nn.functional
aten = torch.ops.aten
DRAWS = range(30)


def drawn(rng: np.random.Generator, low: int, high: int, count: int = 1) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(low, high + 1, count))


def random_convolution(seed: int, transposed: bool) -> tuple[list, dict[str, Any]]:
    """Arrays and attributes of a convolution that has an output."""
    rng = np.random.default_rng([seed, transposed])
    rank = 1 + int(rng.integers(0, 2))
    groups, ins, outs, batch = drawn(rng, 1, 4, 4)
    if rng.random() < 0.25:
        groups, ins = 6, 1  # depthwise
    stride, dilation = drawn(rng, 1, 3, rank), drawn(rng, 1, 2, rank)
    kernel, padding = drawn(rng, 1, 3, rank), drawn(rng, 0, 2, rank)
    least = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    size = tuple(max(n - 2 * p, 1) + int(rng.integers(0, 7)) if not transposed else 2 * p + n
                 for n, p in zip(least, padding, strict=True))  # fmt: skip
    extra = [int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation, strict=True)]
    channels = (groups * ins, outs) if transposed else (groups * outs, ins)
    arrays = [rand(batch, groups * ins, *size, seed=seed), rand(*channels, *kernel, seed=seed),
              rand(groups * outs, seed=seed) if seed % 2 else None]  # fmt: skip
    how = {"stride": stride, "padding": padding, "dilation": dilation, "transposed": transposed,
           "output_padding": extra if transposed else (0,) * rank, "groups": groups}  # fmt: skip
    return arrays, how


@pytest.mark.parametrize("seed", DRAWS)
@pytest.mark.parametrize("transposed", [False, True])
def test_convolution(transposed: bool, seed: int):
    arrays, how = random_convolution(seed, transposed)
    agree(lambda x, w, b: ops.convolution(x, w, b, *how.values()),
          lambda x, w, b: convolution(x, w, b, **how), arrays)  # fmt: skip


@pytest.mark.parametrize("seed", DRAWS)
def test_conv_with_clamp(seed: int):
    arrays, how = random_convolution(100 + seed, seed % 5 == 0)
    ends = [(0.0, 1.797e308), (-0.5, 0.5), (None, 0.25), (0, 6), (None, None)][seed % 5]
    agree(lambda x, w, b: ops.conv_with_clamp(x, w, b, *how.values(), *ends),
          lambda x, w, b: conv_with_clamp(x, w, b, *ends, **how), arrays)  # fmt: skip


def test_convolutions_by_their_names():
    x, w, b = rand(3, 4, 9), rand(6, 2, 3), rand(6)
    agree(lambda *a: ops.conv1d(*a, 2, 1, 2, 2), lambda *a: F.conv1d(*a, 2, 1, 2, 2), [x, w, b])
    x, w = rand(3, 4, 5, 7), rand(6, 2, 3, 2)
    agree(lambda *a: ops.conv2d(*a, (1, 2), 1, 1, 2), lambda *a: F.conv2d(*a, (1, 2), 1, 1, 2),
          [x, w, b])  # fmt: skip
    w = rand(4, 3, 3, 2)
    agree(lambda *a: ops.conv_transpose2d(*a, 2, 1, 1, 2), lambda *a: F.conv_transpose2d(
        *a, 2, 1, 1, 2), [x, w, b])  # fmt: skip
    agree(lambda x, w: ops.conv_transpose1d(x, w, stride=3, output_padding=2),
          lambda x, w: F.conv_transpose1d(x, w, stride=3, output_padding=2),
          [rand(2, 4, 5), rand(4, 3, 2)])  # fmt: skip


def test_empty_batches():
    for transposed in (False, True):
        how = (2, 1, 1, transposed, 0, 1)
        agree(lambda x, w, b, h=how: ops.convolution(x, w, b, *h), lambda x, w, b, h=how: (
            aten.convolution(x, w, b, [2, 2], [1, 1], [1, 1], h[3], [0, 0], 1)),
            [rand(0, 3, 5, 4), rand(3, 3, 3, 2), rand(3)])  # fmt: skip


def test_met_bounds_stop_the_gradient():
    """As relu's and hardtanh's do, for which this op stands; torch.clamp's would let it through."""

    async def run() -> Any:
        set_default_device(HostDevice())
        x = ng.tensor([[[[0.0, 1.0, 2.0]]]])
        x.requires_grad = True
        ops.conv_with_clamp(x, ng.tensor([[[[1.0]]]]), output_min=0, output_max=1).backward(
            ng.tensor([[[[1.0, 1.0, 1.0]]]])
        )
        return await x.grad.tolist()

    assert asyncio.run(run()) == [[[[0.0, 0.0, 0.0]]]]


def random_pooling(seed: int, dilated: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """Planes and attributes of a pooling that has an output."""
    rng = np.random.default_rng([seed, dilated, 5])
    kernel, stride = drawn(rng, 1, 4, 2), drawn(rng, 1, 4, 2)
    dilation = drawn(rng, 1, 3 if dilated else 1, 2)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    padding = tuple(int(rng.integers(0, n // 2 + 1)) for n in kernel)
    size = [max(n - 2 * p, 1) + int(rng.integers(0, 9))
            for n, p in zip(reach, padding, strict=True)]  # fmt: skip
    lead = drawn(rng, 1, 3, 1 + seed % 2)
    how = {"kernel_size": kernel, "stride": None if seed % 4 == 0 else stride, "padding": padding,
           "ceil_mode": bool(rng.integers(0, 2))}  # fmt: skip
    return rand(*lead, *size, seed=seed), {**how, "dilation": dilation} if dilated else how


@pytest.mark.parametrize("seed", DRAWS)
def test_avg_pool2d(seed: int):
    x, how = random_pooling(seed, False)
    how["count_include_pad"] = bool(seed & 2)
    how["divisor_override"] = [None, None, 3, -2, None][seed % 5]
    agree(lambda x: ops.avg_pool2d(x, *how.values()), lambda x: avg_pool2d(x, **how), [x])


@pytest.mark.parametrize("kind", ["f", "s"])
@pytest.mark.parametrize("seed", DRAWS)
def test_max_pool2d_with_indices(seed: int, kind: str):
    x, how = random_pooling(seed, True)
    how = {k: how[k] for k in ("kernel_size", "stride", "padding", "dilation", "ceil_mode")}
    agree(lambda x: ops.max_pool2d_with_indices(x, *how.values()),
          lambda x: max_pool2d_with_indices(x, **how), [rand(*x.shape, kind=kind)])  # fmt: skip
    agree(lambda x: ops.max_pool2d(x, *how.values()),
          lambda x: max_pool2d_with_indices(x, **how)[0], [rand(*x.shape, kind=kind)])  # fmt: skip


def test_a_window_outside_its_plane():
    """Every tap in the padding: -infinity, and the index past the plane that torch gives."""
    how = {"stride": 1, "padding": 1, "dilation": (2, 4), "ceil_mode": False}
    x = rand(1, 1, 3)
    ours_ = ops.CATALOGUE["max_pool2d_with_indices"].body(x, kernel_size=2, **how)
    theirs_ = max_pool2d_with_indices(torch.from_numpy(x), 2, **how)
    for got, want in zip(ours_, theirs_, strict=True):
        np.testing.assert_array_equal(got, want.numpy())


@pytest.mark.parametrize("seed", DRAWS)
def test_adaptive_avg_pool2d(seed: int):
    rng = np.random.default_rng([seed, 6])
    x, out = rand(*drawn(rng, 1, 9, 3 + seed % 2), seed=seed), drawn(rng, 1, 12, 2)
    agree(lambda x: ops.adaptive_avg_pool2d(x, out), lambda x: adaptive_avg_pool2d(x, out), [x])


def test_pooling_of_empty_batches():
    x = rand(0, 2, 5, 5)
    agree(lambda x: ops.avg_pool2d(x, 2), lambda x: aten.avg_pool2d(x, [2, 2]), [x])
    agree(lambda x: ops.max_pool2d_with_indices(x, 2),
          lambda x: aten.max_pool2d_with_indices(x, [2, 2]), [x])  # fmt: skip
    agree(lambda x: ops.adaptive_avg_pool2d(x, (1, 2)),
          lambda x: aten._adaptive_avg_pool2d(x, [1, 2]), [x])  # fmt: skip


def random_resizing(seed: int) -> tuple[np.ndarray, Any, Any]:
    """Planes, and a size or factors; some just off 1, where torch's rounding shows."""
    rng = np.random.default_rng([seed, 7])
    x = rand(*drawn(rng, 1, 3, 2), *drawn(rng, 1, 40 if seed % 5 == 0 else 9, 2), seed=seed)
    if seed % 2:
        return x, drawn(rng, 1, 15, 2), None
    low = [1 / n for n in x.shape[2:]]
    factors = [float(rng.choice([1.0, 1.1, 1.6, 2.0, 2.1, 3.0, 0.5, 1 / 3])) for _ in low]
    return x, None, tuple(max(f, n + 1e-9) for f, n in zip(factors, low, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_upsample_nearest2d(seed: int):
    x, size, factors = random_resizing(seed)
    agree(lambda x: ops.upsample_nearest2d(x, size, factors),
          lambda x: aten.upsample_nearest2d.vec(x, size, factors), [x])  # fmt: skip


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("seed", DRAWS)
def test_upsample_bilinear2d(seed: int, aligned: bool):
    x, size, factors = random_resizing(seed)
    agree(lambda x: ops.upsample_bilinear2d(x, size, aligned, factors),
          lambda x: upsample_bilinear2d(x, size, aligned, factors), [x])  # fmt: skip


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1])
def test_grid_sampler_2d(mode: int, padding: int, aligned: bool):
    for seed in range(6):
        rng = np.random.default_rng([seed, mode, padding, aligned])
        n, c, *sizes = drawn(rng, 1, 3, 2) + drawn(rng, 1, 7, 4)
        grid = rand(n, *sizes[2:], 2, seed=seed) * np.float32(1.5)
        agree(lambda x, g: ops.grid_sampler_2d(x, g, mode, padding, aligned),
              lambda x, g: aten.grid_sampler_2d(x, g, mode, padding, aligned),
              [rand(n, c, *sizes[:2], seed=seed), grid])  # fmt: skip


def test_a_grid_that_points_nowhere():
    """NaN and infinite coordinates, and those at the very edge."""
    odd = [np.nan, np.inf, -np.inf, 1.0, -1.0, 1e30, 0.0, 0.25]
    grid = np.array([[x, y] for x in odd for y in odd], np.float32).reshape(1, 8, 8, 2)
    x = rand(1, 2, 4, 5)
    for mode in (0, 1):
        for padding in (0, 1):  # what is mirrored of infinity torch leaves to chance
            how = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": True}
            with np.errstate(all="ignore"):
                ours_ = ops.CATALOGUE["grid_sampler_2d"].body(x, grid, **how)
            want = aten.grid_sampler_2d(torch.from_numpy(x), torch.from_numpy(grid), mode, padding,
                                        True)  # fmt: skip
            np.testing.assert_allclose(ours_, want.numpy(), rtol=1e-5, atol=1e-6)


def test_grid_priors():
    async def run(shape: tuple, stride: int, offset: float) -> Any:
        set_default_device(HostDevice())
        return await ops.grid_priors(ng.zeros(shape), stride, offset).numpy()

    for (h, w), stride, offset in (((8, 10), 8, 0.5), ((4, 4), 16, 0), ((5, 7), 4, 0.25)):
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        want = (torch.stack((x.flatten(), y.flatten()), 1) + offset) * stride
        np.testing.assert_array_equal(asyncio.run(run((1, 3, h, w), stride, offset)), want)


def test_resizing_and_sampling_of_empty_batches():
    x = rand(0, 2, 3, 3)
    agree(lambda x: ops.upsample_nearest2d(x, (4, 5)),
          lambda x: upsample_nearest2d(x, (4, 5), None), [x])  # fmt: skip
    agree(lambda x: ops.upsample_bilinear2d(x, (4, 5), True),
          lambda x: upsample_bilinear2d(x, (4, 5), True, None), [x])  # fmt: skip
    agree(lambda x, g: ops.grid_sampler_2d(x, g),
          lambda x, g: aten.grid_sampler_2d(x, g, 0, 0, False), [x, rand(0, 2, 2, 2)])  # fmt: skip
