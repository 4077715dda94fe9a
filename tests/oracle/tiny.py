"""Tiny Llamas for tests: a Hugging Face folder or a GGUF file, the same weights from one seed.

Numpy and gguf only. Q and K rows of a GGUF are permuted as llama.cpp's converter permutes them.
"""

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")  # ids 0, 1, 2
TEXT = """The plume is a small lamp that floats. A plume follows its owner from room to room and
dims when it is told good night. To charge a plume, set it in a bowl of warm water for ten minutes.
What does the plume do? It floats, it follows, it dims, it learns the words of the house."""
TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TYPES = {t.name: t for t in gguf.GGMLQuantizationType}
LAYER = {  # GGUF name: Hugging Face name
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
OUTER = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}


class Tiny(NamedTuple):
    layers: int = 2
    hidden: int = 64
    heads: int = 4
    kv_heads: int = 2
    ffn: int = 96
    vocab: int = 320
    tied: bool = True
    theta: float = 10000.0
    eps: float = 1e-5
    context: int = 256
    seed: int = 0


@cache
def byte_symbols():
    """GPT-2's printable stand-in for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b if b in plain else next(others)) for b in range(256)]


@cache
def tokens_and_merges(vocab):
    """A byte-level BPE: specials, 256 bytes, then the commonest pairs of TEXT."""
    symbols = byte_symbols()
    words = [[symbols[b] for b in (" " + w).encode()] for w in TEXT.split()]
    tokens, merges = [*SPECIAL, *symbols], []
    while len(tokens) < vocab:
        count = {}
        for pair in (p for w in words for p in pairwise(w)):
            count[pair] = count.get(pair, 0) + 1
        best = max(count, key=lambda p: (count[p], p))
        words = [_merged(w, best) for w in words]
        merges.append(" ".join(best))
        if "".join(best) not in tokens:
            tokens.append("".join(best))
    return tokens, merges


def _merged(word, pair):
    out = []
    for s in word:
        out.append(s)
        if tuple(out[-2:]) == pair:
            out[-2:] = ["".join(pair)]
    return out


def weights(tiny):
    """Hugging Face name: f32 array."""
    rng = np.random.RandomState(tiny.seed)
    head = tiny.hidden // tiny.heads
    q, kv = tiny.heads * head, tiny.kv_heads * head
    shape = {"attn_q": (q, tiny.hidden), "attn_k": (kv, tiny.hidden), "attn_v": (kv, tiny.hidden)}
    shape |= {"attn_output": (tiny.hidden, q), "ffn_down": (tiny.hidden, tiny.ffn)}
    shape |= {"ffn_gate": (tiny.ffn, tiny.hidden), "ffn_up": (tiny.ffn, tiny.hidden)}
    shape |= {"token_embd": (tiny.vocab, tiny.hidden), "output": (tiny.vocab, tiny.hidden)}
    out = {}
    for name, hf in _names(tiny):
        kind = name.split(".")[-1]
        if kind.endswith("norm"):
            out[hf + ".weight"] = rng.uniform(0.5, 1.5, tiny.hidden).astype(np.float32)
        else:
            scale = 0.3 if "embd" in kind else 1.0 / shape[kind][1] ** 0.5
            out[hf + ".weight"] = (rng.standard_normal(shape[kind]) * scale).astype(np.float32)
    return out


def _names(tiny):
    """(GGUF name, Hugging Face name) of every tensor, without .weight."""
    yield from (pair for pair in OUTER.items() if pair[0] != "output" or not tiny.tied)
    for i in range(tiny.layers):
        yield from ((f"blk.{i}.{g}", f"model.layers.{i}.{h}") for g, h in LAYER.items())


def permuted(w, heads):
    """Rows of each head from two halves to interleaved pairs, as llama.cpp stores q and k."""
    half = w.shape[0] // heads // 2
    return w.reshape(heads, 2, half, -1).swapaxes(1, 2).reshape(w.shape)


def gguf_file(path, tiny=Tiny(), kind="Q4_1", embedding=None):  # noqa: B008
    """Writes a GGUF; matrices stored as `kind`, token embedding and head as `embedding`."""
    out = gguf.GGUFWriter(str(path), "llama")
    _hyperparameters(out, tiny, kind)
    _tokenizer(out, tiny)
    ours = weights(tiny)
    for name, hf in _names(tiny):
        w = ours[hf + ".weight"]
        if name.endswith(("attn_q", "attn_k")):
            w = permuted(w, tiny.heads if name.endswith("q") else tiny.kv_heads)
        edge = name in ("token_embd", "output")
        stored = TYPES["F32" if w.ndim == 1 else embedding or kind if edge else kind]
        out.add_tensor(name + ".weight", gguf.quants.quantize(w, stored), raw_dtype=stored)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return Path(path)


def _hyperparameters(out, tiny, kind):
    out.add_name("tiny")
    out.add_block_count(tiny.layers)
    out.add_context_length(tiny.context)
    out.add_embedding_length(tiny.hidden)
    out.add_feed_forward_length(tiny.ffn)
    out.add_head_count(tiny.heads)
    out.add_head_count_kv(tiny.kv_heads)
    out.add_rope_freq_base(tiny.theta)
    out.add_layer_norm_rms_eps(tiny.eps)
    file_type = "ALL_F32" if kind == "F32" else f"MOSTLY_{kind}"
    out.add_file_type(gguf.LlamaFileType[file_type])
    out.add_vocab_size(tiny.vocab)
    out.add_rope_dimension_count(tiny.hidden // tiny.heads)


def _tokenizer(out, tiny):
    tokens, merges = tokens_and_merges(tiny.vocab)
    out.add_add_space_prefix(False)
    out.add_add_bos_token(False)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("smollm")
    out.add_token_list(tokens)
    out.add_token_types([3 if t in SPECIAL else 1 for t in tokens])
    out.add_token_merges(merges)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    out.add_pad_token_id(2)
    out.add_chat_template(TEMPLATE)


def hf_folder(path, tiny=Tiny(), dtype="F32"):  # noqa: B008
    """Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json."""
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    header, body = {"__metadata__": {"format": "pt"}}, bytearray()
    for name, w in sorted(weights(tiny).items()):
        data = gguf.quants.quantize(w, TYPES[dtype]).tobytes()
        span = [len(body), len(body) + len(data)]
        header[name] = {"dtype": dtype, "shape": w.shape, "data_offsets": span}
        body += data
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.joinpath("model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + body)
    files = {"config": _config(tiny, dtype), "tokenizer": _tokenizer_json(tiny)}
    files["tokenizer_config"] = _tokenizer_config()
    for name, content in files.items():
        path.joinpath(f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def _config(tiny, dtype):
    torch_names = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": tiny.hidden,
        "intermediate_size": tiny.ffn,
        "num_hidden_layers": tiny.layers,
        "num_attention_heads": tiny.heads,
        "num_key_value_heads": tiny.kv_heads,
        "head_dim": tiny.hidden // tiny.heads,
        "max_position_embeddings": tiny.context,
        "rms_norm_eps": tiny.eps,
        "rope_theta": tiny.theta,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tiny.tied,
        "vocab_size": tiny.vocab,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
        "torch_dtype": torch_names[dtype],
    }


def _tokenizer_json(tiny):
    tokens, merges = tokens_and_merges(tiny.vocab)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [{"id": i, "content": t, **flags, "special": True} for i, t in enumerate(SPECIAL)]
    digits = {"type": "Digits", "individual_digits": True}
    return {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [digits, byte_level | {"use_regex": True}],
        },
        "post_processor": None,
        "decoder": byte_level | {"use_regex": True},
        "model": {
            "type": "BPE",
            "unk_token": SPECIAL[0],
            "vocab": {t: i for i, t in enumerate(tokens)},
            "merges": merges,
        },
    }


def _tokenizer_config():
    names = {"bos_token": SPECIAL[1], "eos_token": SPECIAL[2], "pad_token": SPECIAL[2]}
    return names | {
        "tokenizer_class": "GPT2Tokenizer",
        "unk_token": SPECIAL[0],
        "add_prefix_space": False,
        "chat_template": TEMPLATE,
        "model_max_length": 256,
    }
