"""What upstream's int8 ops get wrong or leave out, against torch: a relu fused into an add, numbers
beyond i32, batches and groups, dequantised pipelines whole."""

from __future__ import annotations

import numpy as np
import pytest

from nibblegrad.ops.op import CATALOGUE

torch = pytest.importorskip("torch")
from torch.ao.quantization.fx import _decomposed  # noqa: E402, F401

EVERY = np.arange(-128, 128).astype(np.int8)
quantised = torch.ops.quantized_decomposed


def real(q: np.ndarray, scale: float, zero: int) -> torch.Tensor:
    return quantised.dequantize_per_tensor(torch.from_numpy(q), scale, zero, -128, 127, torch.int8)


def codes(v: torch.Tensor, scale: float, zero: int) -> np.ndarray:
    return quantised.quantize_per_tensor(v, scale, zero, -128, 127, torch.int8).numpy()


def run(name: str, *tensors: np.ndarray, **attrs: object) -> np.ndarray:
    op = CATALOGUE[name]
    return op.body(*tensors, **{**op.defaults, **attrs})


@pytest.mark.parametrize("zero", [-128, -2, 5, 127])
@pytest.mark.parametrize("alpha", [1, -0.5, 1e30])
def test_a_relu_fused_into_an_add_comes_before_the_rounding(zero: int, alpha: float):
    """Upstream's exporter drops it: right only of a zero point of -128."""
    a, b = np.meshgrid(EVERY, EVERY[::5])
    given = {"input_a_scale": 0.05, "input_a_zero_point": 1, "input_b_scale": 0.1}
    given |= {"input_b_zero_point": -3, "output_scale": 0.08, "output_zero_point": zero}
    v = real(a, 0.05, 1) + alpha * real(b, 0.1, -3)
    plain = run("q8ta_add", a, b, alpha=alpha, **given)
    np.testing.assert_array_equal(plain, codes(v, 0.08, zero))
    fused = run("q8ta_add", a, b, alpha=alpha, activation="relu", **given)
    np.testing.assert_array_equal(fused, codes(v.relu(), 0.08, zero))
    assert (fused == plain).all() == (zero == -128)


@pytest.mark.parametrize("scale", [1e-30, 1e-9])
def test_what_i32_cannot_hold_clamps(scale: float):
    """Upstream's kernel adds the zero point after the conversion, and wraps."""
    x = np.array([1.0, -1.0, 3e38, -3e38, 0.0], np.float32)
    found = run("quantize_per_tensor", x, scale=scale, zero_point=5)
    np.testing.assert_array_equal(found, [127, -128, 127, -128, 5])
    np.testing.assert_array_equal(found, codes(torch.from_numpy(x), scale, 5))


def test_a_pipeline_is_torchs():
    """Quantise, convolve, add, shuffle, linear, dequantise: each step's codes are the next's input.

    Scales are powers of two, so that every sum is exact and no tie is left to f32."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 4, 6, 6)).astype(np.float32)
    w = rng.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8)
    wl = rng.integers(-127, 128, (5, 12)).astype(np.int8)
    one, two = np.full(8, 2.0**-7, np.float32), np.full(5, 2.0**-7, np.float32)
    bias = rng.integers(-64, 64, 8).astype(np.float32) / 16
    window = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}

    q = run("quantize_per_tensor", x, scale=2.0**-5, zero_point=3)
    rows = np.ascontiguousarray(w.transpose(0, 2, 3, 1)).reshape(8, 36)
    at = {"input_scale": 2.0**-5, "input_zero_point": 3}
    c = run("q8ta_conv2d", q, rows, None, one, bias, **at, output_scale=2.0**-2,
            output_zero_point=-7, kernel_size=(3, 3), activation="relu", **window)  # fmt: skip
    s = run("q8ta_pixel_shuffle", c, input_scale=2.0**-2, input_zero_point=-7,
            output_inv_scale=4.0, output_zero_point=0, upscale_factor=2)  # fmt: skip
    y = run("linear_q8ta_q8csw", s, wl, None, two, input_scale=2.0**-2, input_zero_point=0)

    v = real(codes(torch.from_numpy(x), 2.0**-5, 3), 2.0**-5, 3).double()
    kernel = torch.from_numpy(w).double() * 2.0**-7
    v = torch.conv2d(v, kernel, torch.from_numpy(bias).double(), padding=1).relu()
    np.testing.assert_array_equal(c, codes(v.float(), 2.0**-2, -7))
    v = torch.pixel_shuffle(real(codes(v.float(), 2.0**-2, -7), 2.0**-2, -7), 2)
    v = real(codes(v, 2.0**-2, 0), 2.0**-2, 0).double() @ (torch.from_numpy(wl).double() / 128).T
    np.testing.assert_array_equal(y, v.float().numpy())
