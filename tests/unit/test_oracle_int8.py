"""et_vk.npz's int8 cases against torch in float64.

Guards the judges as test_oracle does, and is itself the judge where upstream's eager op is wrong: a
convolution's row of weights is (kh, kw, c), each group of a transposed one has its own scales,
linear_q8ta_q8csw dequantises its input, linear_dq8ca_q4gsw rounds it.
"""

import et_vk
import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional


def each(op):
    return pytest.mark.parametrize("case", et_vk.cases(op), ids=lambda c: c.name)


def real(q, scale, zero):
    return (torch.from_numpy(q).double() - zero) * scale


def is_codes(got, v, a):
    """got = v requantised; one code aside only where v lies so near a tie that f32 decides, and
    nowhere under scales that are powers of two: there the sums are exact."""
    at = v / a["output_scale"]
    want = (at.round() + a["output_zero_point"]).clamp(-128, 127)
    off = (torch.from_numpy(got).double() - want).abs()
    exact = all(np.frexp(s)[0] == 0.5 for name, s in a.items() if name.endswith("_scale"))
    near = (at - at.floor() - 0.5).abs() < (0 if exact else 1e-4)
    assert (off <= near).all(), f"off by {off.max()}"


@each("quantize_per_tensor")
def test_quantize_per_tensor(case):
    (x,), a = case.inputs.values(), case.attrs
    x = torch.from_numpy(x)
    at = (x * (1 / a["scale"])).double()  # the product is f32's: it decides the ties
    want = (at.round() + a["zero_point"]).clamp(a["quant_min"], a["quant_max"]).nan_to_num(0)
    np.testing.assert_array_equal(case.outputs[0], want.numpy())


@each("dequantize_per_tensor")
def test_dequantize_per_tensor(case):
    (x,), a = case.inputs.values(), case.attrs
    want = real(x, a["scale"], a["zero_point"])
    np.testing.assert_allclose(case.outputs[0], want, rtol=2e-7)


@each("q8ta_add")
def test_q8ta_add(case):
    a = case.attrs
    x, y = (real(case.inputs[f"input_{n}"], a[f"input_{n}_scale"], a[f"input_{n}_zero_point"])
            for n in "ab")  # fmt: skip
    is_codes(case.outputs[0], x + a["alpha"] * y, a)


@each("q8ta_relu")
def test_q8ta_relu(case):
    a = case.attrs
    v = real(case.inputs["input"], a["input_scale"], a["input_zero_point"])
    is_codes(case.outputs[0], v.relu(), a)


@each("q8ta_pixel_shuffle")
def test_q8ta_pixel_shuffle(case):
    a = case.attrs | {"output_scale": 1 / case.attrs["output_inv_scale"]}
    v = real(case.inputs["input"], a["input_scale"], a["input_zero_point"])
    is_codes(case.outputs[0], F.pixel_shuffle(v, a["upscale_factor"]), a)


def linear(case):
    i, a = case.inputs, case.attrs
    w = torch.from_numpy(i["weights"]).double() * torch.from_numpy(i["weight_scales"])[:, None]
    bias = torch.from_numpy(i["bias"]).double() if "bias" in i else None
    return F.linear(real(i["x"], a["input_scale"], a["input_zero_point"]), w, bias)


@each("linear_q8ta_q8csw")
def test_linear_q8ta_q8csw(case):
    want = linear(case)
    np.testing.assert_allclose(case.outputs[0], want, rtol=1e-5, atol=1e-6 * want.abs().max())


def is_linear(case):
    v = linear(case)
    is_codes(case.outputs[0], v.relu() if case.attrs.get("activation") == "relu" else v, case.attrs)


@each("q8ta_linear")
def test_q8ta_linear(case):
    is_linear(case)


@each("q8ta_linear_gemv")
def test_q8ta_linear_gemv(case):
    is_linear(case)


def is_conv(case, run, weights):
    """`weights` [o, c / groups, kh, kw] of the stored ones, in torch's order."""
    i, a = case.inputs, case.attrs
    w = torch.from_numpy(weights).double()
    w = w * torch.from_numpy(i["weight_scales"]).double()[:, None, None, None]
    bias = torch.from_numpy(i["bias"]).double() if "bias" in i else None
    v = run(real(i["x"], a["input_scale"], a["input_zero_point"]), w, bias, a)
    is_codes(case.outputs[0], v.relu() if a["activation"] == "relu" else v, a)


def rows(case):
    w, k = case.inputs["weights"], case.attrs["kernel_size"]
    return np.ascontiguousarray(w.reshape(len(w), *k, -1).transpose(0, 3, 1, 2))


def plain(x, w, bias, a):
    return F.conv2d(x, w, bias, a["stride"], a["padding"], a["dilation"], a["groups"])


def spread(x, w, bias, a):
    """torch wants [c, o / groups, kh, kw]."""
    groups = a["groups"]
    w = torch.cat([part.transpose(0, 1) for part in w.chunk(groups)])
    return F.conv_transpose2d(
        x, w, bias, a["stride"], a["padding"], a["output_padding"], groups, a["dilation"]
    )


@each("q8ta_conv2d")
def test_q8ta_conv2d(case):
    is_conv(case, plain, rows(case))


@each("q8ta_conv2d_pw")
def test_q8ta_conv2d_pw(case):
    is_conv(case, plain, rows(case))


@each("q8ta_conv2d_dw")
def test_q8ta_conv2d_dw(case):
    w = case.inputs["weights"]  # [kh, kw, o]
    is_conv(case, plain, np.ascontiguousarray(w.transpose(2, 0, 1)[:, None]))


@each("q8ta_conv2d_transposed")
def test_q8ta_conv2d_transposed(case):
    is_conv(case, spread, rows(case))


@each("linear_dq8ca_q4gsw")
def test_linear_dq8ca_q4gsw(case):
    i, gs = {n: torch.from_numpy(v) for n, v in case.inputs.items()}, case.attrs["group_size"]
    s, z = i["input_scales"][:, None], i["input_zp"][:, None]
    codes = ((i["input"] * (1 / s)).round() + z).clamp(-128, 127).double() - z
    packed = i["weights"]
    w = torch.stack([packed & 15, packed >> 4], -1).flatten(1).double() - 8
    w = w * i["weight_scales"].T.repeat_interleave(gs, 1)
    want = F.linear(codes * s.double(), w, i["bias"].double() if "bias" in i else None)
    np.testing.assert_allclose(case.outputs[0], want, rtol=1e-5, atol=1e-5)
    rounded = F.linear(i["input"].double(), w, i["bias"].double() if "bias" in i else None)
    assert (rounded - want).abs().max() > 1e-3, "the case would not see a missing rounding"


@each("choose_qparams_affine")
def test_choose_qparams_affine(case):
    (x,), a = case.inputs.values(), case.attrs
    x = torch.from_numpy(x).double()
    low, high = a["quant_min"], a["quant_max"]
    least, most = x.amin(-1).clamp(max=0), x.amax(-1).clamp(min=0)
    if a["mapping_type"] == "ASYMMETRIC":
        scale = (most - least) / (high - low)
    elif a["mapping_type"] == "SYMMETRIC":
        scale = torch.maximum(-least, most) / ((high - low) / 2)
    else:
        scale = torch.maximum(least / low, most / high)
    scale = scale.clamp(min=a.get("eps", 2.0**-126))
    got, zero = (o.reshape(scale.shape) for o in case.outputs)
    np.testing.assert_allclose(got, scale, rtol=3e-7)
    at = least / scale
    want = (low - at.round()).clamp(low, high) if a["mapping_type"] == "ASYMMETRIC" else 0 * at
    near_tie = (at - at.floor() - 0.5).abs() < 1e-4
    assert ((torch.from_numpy(zero).double() - want).abs() <= near_tie).all()
