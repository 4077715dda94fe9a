"""GGUF's tensor names and Hugging Face's, which tensors a Llama has, and where rotary rows lie.

Rotary embedding turns pairs of rows of q and k. Hugging Face pairs row j of a head with row
j + head_dim/2; llama.cpp pairs neighbours, 2j with 2j + 1, so its converter permutes attn_q and
attn_k of every file whose general.architecture is "llama" (convert_hf_to_gguf.py,
LlamaModel.permute), and of no other architecture that we might read. No key in the file says so:
the rule is the architecture's name.

Measured on SmolLM2-135M-Instruct Q4_1 (tests/unit/test_config.py repeats it): in transformers'
Llama the rows as stored give perplexity 87.6 on plain English and no answer; put back in order
they give 13.6 and "The capital of France is Paris." safetensors are never permuted.
"""

import re

from .config import LlamaConfig
from .header import Header, TensorInfo, quote, refuse

OUTER = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTER_BACK = {hf: gguf for gguf, hf in OUTER.items()}
INNER_BACK = {hf: gguf for gguf, hf in INNER.items()}
# buffers that old checkpoints carry though they follow from rope_theta
IGNORED = re.compile(r"(model\.layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq")


def hf_name(gguf: str) -> str | None:
    """blk.3.attn_q.weight -> model.layers.3.self_attn.q_proj.weight; None if there is none."""
    if m := re.fullmatch(r"blk\.(\d{1,4})\.(\w+)\.(weight|bias)", gguf):
        layer, inner, kind = m.groups()
        return f"model.layers.{layer}.{INNER[inner]}.{kind}" if inner in INNER else None
    outer, _, kind = gguf.rpartition(".")
    return f"{OUTER[outer]}.{kind}" if outer in OUTER and kind in ("weight", "bias") else None


def gguf_name(hf: str) -> str | None:
    """The other way round."""
    if m := re.fullmatch(r"model\.layers\.(\d{1,4})\.([\w.]+)\.(weight|bias)", hf):
        layer, inner, kind = m.groups()
        return f"blk.{layer}.{INNER_BACK[inner]}.{kind}" if inner in INNER_BACK else None
    outer, _, kind = hf.rpartition(".")
    known = outer in OUTER_BACK and kind in ("weight", "bias")
    return f"{OUTER_BACK[outer]}.{kind}" if known else None


def expected(config: LlamaConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor of the model in Hugging Face's names, with its shape [out, in]."""
    c = config
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm": (c.hidden_size,),
        "self_attn.q_proj": (q, c.hidden_size),
        "self_attn.k_proj": (kv, c.hidden_size),
        "self_attn.v_proj": (kv, c.hidden_size),
        "self_attn.o_proj": (c.hidden_size, q),
        "post_attention_layernorm": (c.hidden_size,),
        "mlp.gate_proj": (c.intermediate_size, c.hidden_size),
        "mlp.up_proj": (c.intermediate_size, c.hidden_size),
        "mlp.down_proj": (c.hidden_size, c.intermediate_size),
    }
    out: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c.vocab_size, c.hidden_size)}
    for i in range(c.num_hidden_layers):
        out |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    out["model.norm.weight"] = (c.hidden_size,)
    if not c.tie_word_embeddings:
        out["lm_head.weight"] = (c.vocab_size, c.hidden_size)
    return out


def check(header: Header, config: LlamaConfig) -> dict[str, TensorInfo]:
    """The file's tensors by Hugging Face name, if they are exactly the model's."""
    is_gguf = header.format == "gguf"
    found, faults = {}, []
    for stored, info in header.tensors.items():
        name = hf_name(stored) if is_gguf else stored
        if name is None or name in found:
            faults.append(f"tensor {quote(stored)} is not part of a llama")
        else:
            found[name] = info
    want = expected(config)
    for name in found:
        if name not in want and not may_be_ignored(name, config):
            faults.append(f"tensor {quote(found[name].name)} is not part of this model")
    for name, shape in want.items():
        here = gguf_name(name) if is_gguf else name
        if name not in found:
            faults.append(f"tensor '{here}' is missing")
        elif found[name].shape != shape:
            got = list(found[name].shape)
            faults.append(f"tensor '{here}' has shape {got}, but the config asks for {list(shape)}")
    refuse(header.format, faults)
    return {name: found[name] for name in want}


def may_be_ignored(name: str, config: LlamaConfig) -> bool:
    """Rotary buffers, and the copy of tied embeddings that some checkpoints keep."""
    tied = config.tie_word_embeddings and name == "lm_head.weight"
    return tied or IGNORED.fullmatch(name) is not None


def unpermute_rows(n_head: int, head_dim: int) -> list[int]:
    """Undo llama.cpp's permutation: Hugging Face's row i is the stored row order[i]."""
    half = head_dim // 2
    return [
        head * head_dim + 2 * j + side
        for head in range(n_head)
        for side in range(2)
        for j in range(half)
    ]
