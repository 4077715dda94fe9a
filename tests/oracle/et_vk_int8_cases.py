"""What upstream is asked of its int8 family, as et_vk_cases asks the rest.

Powers of two as scales make every sum exact and its ties real ones: those pin the rounding.
"""

import numpy as np
from et_vk_cases import bell, scales, uniform

A = [-128, 127, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7]
B = [-128, 127, 0, 1, -1, 50, -50, 100, -100, 3, -3, 42, -42, 9, -9, 63]
ADD_ZEROS = ("input_a_zero_point", "input_b_zero_point", "output_zero_point")
FULL = {"quant_min": -128, "quant_max": 127, "dtype": "i8"}


def codes(seed, *shape):
    return {"kind": "bytes", "dtype": "int8", "seed": seed, "shape": shape}


def i8(values):
    return np.array(values, np.int8)


def per_tensor():
    for s, shape, scale, zero in [
        (2000, (4, 8), 0.05, 0),
        (2002, (2, 2, 4), 0.1, 5),
        (2004, (16,), 0.02, -13),
        (2006, (3, 7), 0.0078125, 3),
    ]:
        attrs = {"scale": scale, "zero_point": zero, **FULL}
        yield "quantize_per_tensor", f"{shape}", {"input": bell(s, *shape)}, attrs
    ties = (np.arange(-300, 300) * 0.5).astype(np.float32)
    for scale, zero in [(1.0, 0), (1.0, 1), (0.5, -7)]:
        attrs = {"scale": scale, "zero_point": zero, **FULL}
        yield "quantize_per_tensor", f"ties at {scale}", {"input": ties * scale}, attrs
    edge = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 2e9, -2e9, 1e-40, -0.0], np.float32)
    attrs = {"scale": 0.05, "zero_point": 5, **FULL}
    yield "quantize_per_tensor", "where i32 would wrap; NaN", {"input": edge}, attrs
    attrs = {"scale": 0.03, "zero_point": 99, "quant_min": 0, "quant_max": 255, "dtype": "u8"}
    yield "quantize_per_tensor", "u8", {"input": bell(2010, 65, scale=4.0)}, attrs
    attrs = {"scale": 0.03, "zero_point": 2, "quant_min": -127, "quant_max": 100, "dtype": "i8"}
    yield "quantize_per_tensor", "a narrow range", {"input": bell(2012, 65, scale=8.0)}, attrs
    for scale, zero in [(0.05, 0), (0.1, 7)]:
        attrs = {"scale": scale, "zero_point": zero, **FULL}
        yield "dequantize_per_tensor", f"{scale}", {"input": codes(2014, 3, 7, 5)}, attrs
    attrs |= {"quant_min": 0, "quant_max": 255, "dtype": "u8"}
    inputs = {"input": codes(2016, 65) | {"dtype": "uint8"}}
    yield "dequantize_per_tensor", "u8", inputs, attrs


def code_by_code():
    for about, a, b, alpha, zeros in [
        ("basic", i8(A), i8(B), 1.0, (0, 3, -2)),
        ("alpha", i8(A), i8(B), 2.0, (0, 3, -2)),
        ("zero points", i8(A), i8(B), 1.0, (5, -4, 7)),
        ("many", codes(2100, 5, 7, 29), codes(2101, 5, 7, 29), -0.7, (5, -4, 7)),
        ("alpha a whole number", codes(2102, 257), codes(2103, 257), 1, (0, 0, -128)),
        ("broadcast", codes(2104, 4, 1, 3), codes(2105, 5, 1), 1.0, (1, 2, 3)),
    ]:
        attrs = dict(zip(ADD_ZEROS, zeros, strict=True))
        attrs |= {"input_a_scale": 0.05, "input_b_scale": 0.1, "output_scale": 0.08}
        yield "q8ta_add", about, {"input_a": a, "input_b": b}, attrs | {"alpha": alpha}
        half = {"input_a_scale": 0.5, "input_b_scale": 0.25, "output_scale": 1.0}
        yield (
            "q8ta_add",
            f"{about}, ties",
            {"input_a": a, "input_b": b},
            attrs | half | {"alpha": alpha},
        )
    for z, so, zo in [(-3, 0.05, -3), (-3, 0.08, 5), (10, 0.05, -20), (0, 0.1, -128), (4, 0.1, 90)]:
        attrs = {"input_scale": 0.05, "input_zero_point": z}
        attrs |= {"output_scale": so, "output_zero_point": zo}
        every = np.arange(-128, 128).astype(np.int8)
        yield "q8ta_relu", f"every code at {z}", {"input": every}, attrs
    for shape, r, z, so, zo in [
        ((1, 4, 2, 2), 2, -3, 0.05, -3),
        ((2, 8, 2, 3), 2, -3, 0.05, -3),
        ((1, 9, 2, 2), 3, -3, 0.05, -3),
        ((1, 4, 3, 3), 2, -3, 0.08, 5),
        ((3, 4, 2, 5), 2, 10, 0.05, -20),
    ]:
        attrs = {"input_scale": 0.05, "input_zero_point": z, "output_inv_scale": 1 / so}
        attrs |= {"output_zero_point": zo, "upscale_factor": r}
        yield "q8ta_pixel_shuffle", f"{shape}", {"input": codes(2150, *shape)}, attrs


def static_linears():
    for i, (m, k, n, bias) in enumerate(
        [(4, 32, 16, 1), (1, 32, 16, 1), (2, 48, 8, 0), (3, 33, 5, 1), (17, 576, 12, 1)]
    ):
        s = 2200 + 10 * i
        inputs = {"x": codes(s, m, k), "weights": codes(s + 1, n, k)}
        inputs |= {"weight_sums": np.zeros(n, np.int32), "weight_scales": scales(s + 2, n)}
        if bias:
            inputs["bias"] = bell(s + 4, n, scale=100.0)
        attrs = {"input_scale": 0.05, "input_zero_point": 7 * i - 9}
        yield "linear_q8ta_q8csw", f"{m} {k} {n}", inputs, attrs
        for op in ("q8ta_linear", "q8ta_linear_gemv"):
            for act in ("none", "relu"):
                more = {"output_scale": 0.9 * k**0.5, "output_zero_point": 5, "activation": act}
                yield op, f"{m} {k} {n} {act}", inputs, attrs | more
        exact = {"input_scale": 0.5, "output_scale": 256.0, "output_zero_point": -1}
        powers = inputs | {"weight_scales": np.exp2(np.arange(n) % 3 - 1).astype(np.float32)}
        if bias:
            powers["bias"] = (np.arange(n) * 64 - 128).astype(np.float32)
        yield "q8ta_linear", f"{m} {k} {n} ties", powers, attrs | exact


def _conv(s, shape, o, k, group_c, bias):
    inputs = {"x": codes(s, *shape), "weights": codes(s + 1, o, k[0] * k[1] * group_c)}
    inputs |= {"weight_sums": np.zeros(o, np.int32), "weight_scales": scales(s + 2, o)}
    if bias:
        inputs["bias"] = bell(s + 4, o, scale=20.0)
    return inputs


def _window(k, stride=1, padding=0, dilation=1, groups=1, act="none"):
    attrs = {"input_scale": 0.05, "input_zero_point": -3, "output_scale": 2.1}
    attrs |= {"output_zero_point": 5, "kernel_size": k, "stride": [stride] * 2}
    attrs |= {"padding": [padding] * 2 if isinstance(padding, int) else padding}
    return attrs | {"dilation": [dilation] * 2, "groups": groups, "activation": act}


def convs():
    for i, (about, shape, o, window) in enumerate(
        [
            ("k3", (1, 8, 8, 8), 8, _window([3, 3], padding=1)),
            ("stride 2, batch 2", (2, 4, 8, 8), 8, _window([3, 3], stride=2, padding=1)),
            ("dilated", (1, 4, 8, 8), 4, _window([3, 3], padding=2, dilation=2)),
            ("o 6, c 3", (1, 3, 5, 7), 6, _window([3, 3], padding=1)),
            ("3 x 5", (1, 3, 6, 9), 5, _window([3, 5], padding=[1, 2], act="relu")),
            ("groups", (2, 6, 5, 5), 4, _window([3, 2], padding=1, groups=2)),
        ]
    ):
        inputs = _conv(2300 + 10 * i, shape, o, window["kernel_size"], shape[1] // window["groups"],
                       i % 2)  # fmt: skip
        yield "q8ta_conv2d", about, inputs, window
    for i, (shape, o, act) in enumerate(
        [((1, 4, 6, 8), 8, "none"), ((2, 8, 4, 4), 6, "relu"), ((1, 3, 3, 5), 5, "none")]
    ):
        inputs = _conv(2400 + 10 * i, shape, o, (1, 1), shape[1], i % 2)
        window = _window([1, 1], act=act) | {"output_scale": 0.7}
        yield "q8ta_conv2d_pw", f"{shape} {act}", inputs, window
    for i, (shape, window) in enumerate(
        [
            ((1, 8, 8, 8), _window([3, 3], padding=1, groups=8)),
            ((2, 8, 8, 8), _window([3, 3], stride=2, padding=1, groups=8, act="relu")),
            ((1, 5, 7, 6), _window([2, 3], padding=2, dilation=2, groups=5)),
        ]
    ):
        inputs = _conv(2500 + 10 * i, shape, shape[1], (1, 1), 1, i % 2)
        inputs["weights"] = codes(2501 + 10 * i, *window["kernel_size"], shape[1])
        yield "q8ta_conv2d_dw", f"{shape}", inputs, window | {"output_scale": 0.9}


def transposed():
    for i, (about, shape, o, window, extra) in enumerate(
        [
            ("k2 s2", (1, 8, 4, 8), 8, _window([2, 2], stride=2), 0),
            ("k3 s2 op1", (1, 4, 4, 4), 6, _window([3, 3], stride=2, padding=1), 1),
            ("c 3, batch 2", (2, 3, 4, 5), 5, _window([3, 3], 2, 1, act="relu"), 1),
            ("3 x 2", (1, 4, 4, 6), 4, _window([3, 2], stride=2), 0),
            ("groups", (2, 6, 4, 3), 4, _window([3, 3], 2, 1, groups=2), 0),
            ("dilated", (1, 4, 3, 4), 3, _window([2, 3], 1, 1, dilation=2), 0),
        ]
    ):
        inputs = _conv(2600 + 10 * i, shape, o, window["kernel_size"], shape[1] // window["groups"],
                       i % 2)  # fmt: skip
        attrs = window | {"output_padding": [extra] * 2}
        yield "q8ta_conv2d_transposed", about, inputs, attrs


def dynamic():
    """Weights as floats; stored is what the exporter packs, and torchao's own scales and zeros."""
    for i, (m, k, n, gs) in enumerate(
        [(4, 64, 16, 32), (1, 64, 16, 32), (2, 128, 8, 32), (3, 64, 32, 32), (5, 72, 12, 24)]
    ):
        s = 2700 + 10 * i
        inputs = {"input": bell(s, m, k), "weights": bell(s + 2, n, k, scale=0.25)}
        if i % 2 == 0:
            inputs["bias"] = bell(s + 4, n)
        yield "linear_dq8ca_q4gsw", f"{m} {k} {n} gs {gs}", inputs, {"group_size": gs}
    rows = np.zeros((8, 16), np.float32)
    rows[1] = np.arange(16) - 7.5  # both signs; then one, the other, tiny, all of one number
    rows[2], rows[3], rows[4] = np.arange(16), -np.arange(16), np.arange(16) * 1e-30 - 1e-30
    rows[5], rows[6], rows[7] = 3.5, np.linspace(-1, 1e6, 16), np.linspace(-127.5, 127.5, 16)
    for mapping in ("ASYMMETRIC", "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"):
        for about, x, more in [
            ("rows", rows, {}),
            ("random", bell(2800, 2, 3, 67), {}),
            ("eps, keepdim", bell(2802, 5, 16, scale=0.1), {"eps": 0.001, "keepdim": True}),
            ("narrow", bell(2804, 7, 2), {"quant_min": -127}),
            ("long", uniform(2806, 3, 2048, lo=-3.0, hi=1.0), {}),
        ]:
            shape = x["shape"] if isinstance(x, dict) else x.shape
            attrs = {"mapping_type": mapping, "block_size": [1] * (len(shape) - 1) + [shape[-1]]}
            attrs |= {"target_dtype": "i8", "quant_min": -128, "quant_max": 127, **more}
            yield "choose_qparams_affine", f"{mapping} {about}", {"input": x}, attrs


INT8 = (per_tensor, code_by_code, static_linears, convs, transposed, dynamic)
