# python3 -m venv /tmp/et && /tmp/et/bin/pip install torch==2.13.0 executorch==1.5.1 \
#   torchao==0.18.0 && /tmp/et/bin/python tests/oracle/make_et_vk.py
"""Writes et_vk.npz: runs upstream ExecuTorch's ops and its ahead-of-time packer on CPU."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

warnings.filterwarnings("ignore")
sys.path.insert(0, str(Path(__file__).parent))

import executorch.backends.vulkan.custom_ops_lib  # noqa: F401, E402
from et_vk import FILE, make  # noqa: E402
from et_vk_cases import FAMILIES  # noqa: E402
from et_vk_int8_cases import INT8  # noqa: E402
from executorch.backends.transforms.addmm_mm_to_linear import (  # noqa: E402
    AddmmToLinearTransform,
)
from executorch.backends.vulkan._passes import FuseQuantizedOpsTransform  # noqa: E402
from executorch.backends.vulkan._passes.fuse_patterns import FusePatternsPass  # noqa: E402
from executorch.backends.vulkan.patterns.weight_packing_utils import (  # noqa: E402
    pack_4bit_weight_tensor,
)
from executorch.backends.vulkan.quantizer import vulkan_quantizer as vq  # noqa: E402
from executorch.backends.vulkan.vulkan_preprocess import apply_passes  # noqa: E402
from executorch.exir import EdgeCompileConfig, to_edge  # noqa: E402
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401, E402
from make_et_vk_int8 import RUN as INT8_RUN  # noqa: E402
from torchao.quantization.granularity import PerGroup  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: E402
from torchao.quantization.quant_api import IntxWeightOnlyConfig, quantize_  # noqa: E402

NAMESPACE = {"sdpa_with_kv_cache": "llama"}
MUTATED = {"sdpa_with_kv_cache": ("key_cache", "value_cache")}


def call(op, inputs, attrs):
    """An eager op by its schema's names; what it mutates is given back after its results."""
    inputs = {name: t.clone() for name, t in inputs.items()}
    out = getattr(getattr(torch.ops, NAMESPACE.get(op, "et_vk")), op)(**inputs, **attrs)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    return out + [inputs[name] for name in MUTATED.get(op, ())]


def fuse(module, x):
    """Exports a module and lets upstream's fusion passes repack its constants."""
    program = torch.export.export(module, (x,), strict=True)
    config = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True)
    passes = [AddmmToLinearTransform(), FusePatternsPass(), FuseQuantizedOpsTransform()]
    program = apply_passes(to_edge(program, compile_config=config).exported_program(), passes)
    return program, {**program.state_dict, **program.constants}


def node_of(program, op):
    """The fused node, and which constant stands behind each placeholder."""
    sig = program.graph_signature
    names = {
        **sig.inputs_to_parameters,
        **sig.inputs_to_buffers,
        **sig.inputs_to_lifted_tensor_constants,
    }
    node = next(n for n in program.graph.nodes if op in str(n.target))
    return [names.get(getattr(a, "name", None), a) for a in node.args]


def pack(op, inputs, attrs):
    """codes, scales [N, G] of torchao; packed, scales [G, padded_N], bias of the exporter."""
    w, bias, gs = inputs["weight"], inputs.get("bias"), attrs["group_size"]
    lin = torch.nn.Linear(w.shape[1], w.shape[0], bias=bias is not None)
    lin.load_state_dict({"weight": w} | ({} if bias is None else {"bias": bias}))
    module = torch.nn.Sequential(lin).eval()
    quantize_(module, IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(gs)))
    q = module[0].weight
    assert (q.zero_point == 0).all()
    if w.shape[0] % 4 or w.shape[1] % 8:  # its own pass fails or its runtime refuses: parts only
        wide = torch.nn.functional.pad(q.scale.t().contiguous(), (0, -w.shape[0] % 4))
        parts = [pack_4bit_weight_tensor(q.qdata), wide]
        parts += [] if bias is None else [torch.nn.functional.pad(bias, (0, -w.shape[0] % 4))]
    else:
        program, state = fuse(module, torch.zeros(3, w.shape[1]))
        _, weight, scale, size, b = node_of(program, "linear_q4gsw")
        assert size == gs
        parts = [state[weight], state[scale]] + ([] if b is None else [state[b]])
    return [q.qdata, q.scale, *parts]


def qcs4w(op, inputs, attrs):
    """The converted model's output, which is the true maths; then the eager op's, which is not:

    it forgets the offset of 8. The weight becomes what the exporter serialises.
    """
    x, w = inputs["self"], inputs.pop("weight")
    lin = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
    lin.load_state_dict({"weight": w})
    quantizer = vq.VulkanQuantizer()
    quantizer.set_global(vq.get_symmetric_quantization_config(is_dynamic=False, weight_bits=4))
    graph = torch.export.export(torch.nn.Sequential(lin).eval(), (x,), strict=True).module()
    ready = prepare_pt2e(graph, quantizer)
    ready(x)
    model = convert_pt2e(ready)
    program, state = fuse(model, x)
    _, weight, scales = node_of(program, "linear_qcs4w")
    inputs |= {"weight": state[weight], "scales": state[scales]}
    return [model(x), *call(op, inputs, attrs)]


RUN = {"pack_q4gsw": pack, "linear_qcs4w": qcs4w, **INT8_RUN}


def record(arrays, at, about, spec, attrs, out, inputs):
    """One case's entries; what a recipe makes is left out, except where the run replaced it."""
    recipes = {n: r for n, r in spec.items() if isinstance(r, dict) and n in inputs}
    recipes = {n: r for n, r in recipes.items() if np.array_equal(make(r), inputs[n].numpy())}
    facts = {"about": about, "inputs": list(inputs), "attrs": attrs, "recipes": recipes}
    arrays[f"{at}/attr"] = np.array(json.dumps(facts | {"n_outputs": len(out)}))
    arrays |= {f"{at}/in/{n}": t.numpy() for n, t in inputs.items() if n not in recipes}
    arrays |= {f"{at}/out/{j}": t.detach().contiguous().numpy() for j, t in enumerate(out)}
    print(at, about, *[(str(t.dtype), tuple(t.shape)) for t in out])


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    arrays, count = {}, {}
    for op, about, spec, attrs in (case for family in (*FAMILIES, *INT8) for case in family()):
        i = count[op] = count.get(op, -1) + 1
        arrays_in = {n: make(v) if isinstance(v, dict) else v for n, v in spec.items()}
        inputs = {n: torch.from_numpy(a) for n, a in arrays_in.items()}
        out = RUN.get(op, call)(op, inputs, attrs)
        record(arrays, f"{op}/{i}", about, spec, attrs, out, inputs)
    np.savez_compressed(FILE, **arrays)
    print(FILE, FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
