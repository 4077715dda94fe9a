"""Runs upstream's int8 ops for make_et_vk; says where eager is wrong, and asks it right."""

import torch
from executorch.backends.vulkan.patterns.weight_packing_utils import pack_4bit_weight_tensor
from torch.ao.quantization.fx import _decomposed  # noqa: F401
from torchao.quantization import quant_primitives as primitives
from torchao.quantization.granularity import PerGroup
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_

DTYPES = {"i8": torch.int8, "u8": torch.uint8}


def decomposed(op, inputs, attrs):
    """quantize_per_tensor and its inverse."""
    attrs = attrs | {"dtype": DTYPES[attrs["dtype"]]}
    return [getattr(torch.ops.quantized_decomposed, op)(**inputs, **attrs)]


def q8csw(op, inputs, attrs):
    """Eager multiplies the codes as they are, and so raises; here it gets real numbers."""
    s, z = attrs["input_scale"], attrs["input_zero_point"]
    x = torch.ops.quantized_decomposed.dequantize_per_tensor(
        inputs["x"], s, z, -128, 127, torch.int8
    )
    return [torch.ops.et_vk.linear_q8ta_q8csw(**(inputs | {"x": x}), **attrs)]


def conv(op, inputs, attrs):
    """Eager reads a row of weights as (c, kh, kw), where the exporter writes (kh, kw, c); of the

    transposed op it takes the first group's scales for every group. So each group is run alone,
    with its row in the order that eager reads.
    """
    call = getattr(torch.ops.et_vk, op)
    if op == "q8ta_conv2d_dw":
        return [call(**({"bias": None} | inputs), **attrs)]
    groups, (kh, kw) = attrs["groups"], attrs["kernel_size"]
    o, row = inputs["weights"].shape
    w = inputs["weights"].view(o, kh, kw, row // kh // kw).permute(0, 3, 1, 2).reshape(o, row)
    outs = []
    for g in range(groups):
        here = slice(g * o // groups, (g + 1) * o // groups)
        part = {n: t[here] for n, t in inputs.items() if n != "x"} | {"weights": w[here]}
        part["x"] = inputs["x"].chunk(groups, 1)[g]
        outs.append(call(**({"bias": None} | part), **(attrs | {"groups": 1})))
    return [torch.cat(outs, 1)]


def choose(op, inputs, attrs):
    mapping = primitives.MappingType[attrs["mapping_type"]]
    types = {"target_dtype": torch.int8, "zero_point_dtype": torch.int8}
    found = primitives.choose_qparams_affine(
        **inputs, **(attrs | types | {"mapping_type": mapping})
    )
    return list(found)


def dynamic(op, inputs, attrs):
    """The converted module's output: the eager op does not quantise its input at all."""
    x, w, bias, gs = inputs["input"], inputs.pop("weights"), inputs.get("bias"), attrs["group_size"]
    lin = torch.nn.Linear(w.shape[1], w.shape[0], bias=bias is not None)
    lin.load_state_dict({"weight": w} | ({} if bias is None else {"bias": bias}))
    module = torch.nn.Sequential(lin).eval()
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(gs)
    )
    quantize_(module, config)
    q = module[0].weight
    asymmetric = {"mapping_type": "ASYMMETRIC", "block_size": [1, x.shape[1]]}
    scale, zero = choose(op, {"input": x}, asymmetric | {"quant_min": -128, "quant_max": 127})
    inputs |= {"input_scales": scale, "input_zp": zero, "weights": pack_4bit_weight_tensor(q.qdata)}
    inputs["weight_scales"] = q.scale.t().contiguous()
    inputs["weight_sums"] = q.qdata.view(len(w), -1, gs).sum(-1).t().to(torch.int32).contiguous()
    return [module(x)]


RUN = {
    **dict.fromkeys(("quantize_per_tensor", "dequantize_per_tensor"), decomposed),
    "linear_q8ta_q8csw": q8csw,
    **dict.fromkeys(
        ("q8ta_conv2d", "q8ta_conv2d_pw", "q8ta_conv2d_dw", "q8ta_conv2d_transposed"), conv
    ),
    "choose_qparams_affine": choose,
    "linear_dq8ca_q4gsw": dynamic,
}
