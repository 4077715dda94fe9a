"""A Llama's hyper-parameters in Hugging Face's names, from a GGUF header or a config.json.

What would change the maths and is not built is refused by name: a model that runs a little wrong
is worse than one that does not run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import FormatError
from .header import Header, refuse
from .json_text import loads_object

LARGEST = 1 << 31
MOST_LAYERS = 1000  # expected() names nine tensors for each: keep a lie from filling the memory


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    """transformers' LlamaConfig, the fields that shape a forward pass."""

    model_type: str
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    max_position_embeddings: int
    vocab_size: int
    tie_word_embeddings: bool
    bos_token_id: int | None
    eos_token_id: tuple[int, ...]
    pad_token_id: int | None


def from_gguf(header: Header) -> LlamaConfig:
    """The config of a GGUF file; embeddings are tied where it has no output.weight."""
    meta = header.metadata
    arch = meta.get("general.architecture")
    if arch != "llama":
        raise FormatError(f"gguf: architecture is {arch!r:.80}, not supported; supported: 'llama'")
    f = Fields("gguf", meta)
    hidden, heads = f.size("llama.embedding_length"), f.size("llama.attention.head_count")
    words = meta.get("tokenizer.ggml.tokens")
    out = {
        "hidden_size": hidden,
        "intermediate_size": f.size("llama.feed_forward_length"),
        "num_hidden_layers": f.size("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": f.size("llama.attention.head_count_kv", heads),
        "head_dim": f.size("llama.attention.key_length", hidden // heads or None),
        "rms_norm_eps": f.real("llama.attention.layer_norm_rms_epsilon"),
        "rope_theta": f.real("llama.rope.freq_base", 10000.0),
        "max_position_embeddings": f.size("llama.context_length", 2048),
        "vocab_size": f.size("llama.vocab_size", len(words) if isinstance(words, list) else None),
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "bos_token_id": f.token("tokenizer.ggml.bos_token_id"),
        "eos_token_id": f.tokens("tokenizer.ggml.eos_token_id"),
        "pad_token_id": f.token("tokenizer.ggml.padding_token_id"),
    }
    head_dim = out["head_dim"]
    f.only("llama.rope.dimension_count", head_dim, "partial rotary embedding")
    f.only("llama.attention.value_length", head_dim, "values as long as keys")
    for key, (usual, what) in GGUF_REFUSED.items():
        f.only(key, usual, what)
    if "rope_freqs.weight" in header.tensors:
        f.faults.append("rope_freqs.weight means llama3 rope scaling, which is not supported")
    return f.config("llama", out)


GGUF_REFUSED = {  # key: (the value that changes nothing, what any other one means)
    "llama.rope.scaling.type": ("none", "rope scaling"),
    "llama.rope.scaling.factor": (1.0, "rope scaling"),
    "llama.rope.scale_linear": (1.0, "rope scaling"),
    "llama.expert_count": (0, "mixture of experts"),
    "llama.attention.sliding_window": (0, "sliding-window attention"),
    "llama.attention.scale": (0.0, "a scale of its own for attention"),
    "llama.attention.clamp_kqv": (0.0, "clamped attention"),
    "llama.attention.max_alibi_bias": (0.0, "alibi"),
    "llama.attention.causal": (True, "attention that looks ahead"),
    "llama.use_parallel_residual": (False, "parallel residual"),
    "llama.logit_scale": (1.0, "scaled logits"),
    "llama.residual_scale": (1.0, "scaled residuals"),
    "llama.embedding_scale": (1.0, "scaled embeddings"),
}


def from_hf(config_json: bytes | str) -> LlamaConfig:
    """The config of a checkpoint in Hugging Face's layout."""
    try:
        meta = loads_object(config_json)
    except ValueError as e:
        raise FormatError(f"config.json: {e}") from None
    if meta.get("model_type") != "llama":
        kind = meta.get("model_type")
        raise FormatError(
            f"config.json: model_type is {kind!r:.80}, not supported; supported: 'llama'"
        )
    f = Fields("config.json", meta)
    hidden, heads = f.size("hidden_size"), f.size("num_attention_heads")
    rope = rope_fields(f)
    out = {
        "hidden_size": hidden,
        "intermediate_size": f.size("intermediate_size"),
        "num_hidden_layers": f.size("num_hidden_layers"),
        "num_attention_heads": heads,
        "num_key_value_heads": f.size("num_key_value_heads", heads),
        "head_dim": f.size("head_dim", hidden // heads or None),
        "rms_norm_eps": f.real("rms_norm_eps", 1e-6),
        "rope_theta": rope.real("rope_theta", f.real("rope_theta", 10000.0)),
        "max_position_embeddings": f.size("max_position_embeddings", 2048),
        "vocab_size": f.size("vocab_size"),
        "tie_word_embeddings": f.flag("tie_word_embeddings", False),
        "bos_token_id": f.token("bos_token_id"),
        "eos_token_id": f.tokens("eos_token_id"),
        "pad_token_id": f.token("pad_token_id"),
    }
    for key, (usual, what) in HF_REFUSED.items():
        f.only(key, usual, what)
    return f.config("llama", out)


HF_REFUSED = {
    "hidden_act": ("silu", "another activation"),
    "attention_bias": (False, "attention bias"),
    "mlp_bias": (False, "mlp bias"),
    "partial_rotary_factor": (1.0, "partial rotary embedding"),
    "sliding_window": (None, "sliding-window attention"),
    "quantization_config": (None, "a checkpoint that is already quantised"),
}


def rope_fields(f: "Fields") -> "Fields":
    """transformers 5 moved rope_theta and rope_scaling into one object, rope_parameters."""
    rope: dict[str, Any] = {}
    for key in ("rope_scaling", "rope_parameters"):
        value = f.meta.get(key) or {}
        if not isinstance(value, dict):
            f.faults.append(f"{key} is {value!r:.80}, not an object")
            continue
        kind = value.get("rope_type", value.get("type", "default"))
        if kind != "default":
            f.faults.append(f"{key} is {kind!r:.80}: rope scaling, which is not supported")
        rope |= value
    inner = Fields(f.who, rope)
    inner.faults = f.faults
    return inner


class Fields:
    """Typed reading of a mapping from a file; faults are collected, then told together."""

    def __init__(self, who: str, meta: Mapping[str, Any]):
        self.who, self.meta, self.faults = who, meta, []

    def get(self, key: str, default: Any, good: Any, what: str) -> Any:
        value = self.meta.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            self.faults.append(f"{key} is missing")
        elif not good(value):
            self.faults.append(f"{key} is {value!r:.80}; it must be {what}")
        else:
            return value
        return 1  # goes nowhere: config() raises

    def size(self, key: str, default: int | None = None) -> int:
        return self.get(key, default, lambda v: is_int(v) and 0 < v < LARGEST, "a size")

    def real(self, key: str, default: float | None = None) -> float:
        return float(self.get(key, default, is_positive, "a number above 0"))

    def flag(self, key: str, default: bool) -> bool:
        return self.get(key, default, lambda v: isinstance(v, bool), "true or false")

    def token(self, key: str) -> int | None:
        ids = self.tokens(key)
        return ids[0] if ids else None

    def tokens(self, key: str) -> tuple[int, ...]:
        """One id, several, or none: Llama 3 ends a turn with any of three."""
        value = self.meta.get(key)
        ids = value if isinstance(value, list) else [] if value is None else [value]
        if not all(is_int(v) and -1 <= v < LARGEST for v in ids):
            self.faults.append(f"{key} is {value!r:.80}; it must be a token id")
            return ()
        return tuple(v for v in ids if v >= 0)  # -1 is none, in old files

    def only(self, key: str, usual: Any, what: str) -> None:
        value = self.meta.get(key)
        if value is not None and value != usual:
            self.faults.append(f"{key} is {value!r:.80}: {what}, which is not supported")

    def config(self, model_type: str, out: dict[str, Any]) -> LlamaConfig:
        """The config, if everything was there and fits together."""
        refuse(self.who, self.faults)
        config = LlamaConfig(model_type, **out)
        refuse(self.who, misfits(config))
        return config


def misfits(c: LlamaConfig) -> list[str]:
    """Values that are right alone and wrong together."""
    out = []
    if c.num_hidden_layers > MOST_LAYERS:
        out.append(f"num_hidden_layers is {c.num_hidden_layers}; at most {MOST_LAYERS} are read")
    if c.num_attention_heads % c.num_key_value_heads:
        out.append(
            f"num_attention_heads={c.num_attention_heads} is not a multiple of"
            f" num_key_value_heads={c.num_key_value_heads}"
        )
    if c.head_dim % 2:
        out.append(f"head_dim is {c.head_dim}; rotary embedding needs an even one")
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        ids = getattr(c, name)
        for i in ids if isinstance(ids, tuple) else (ids,):
            if i is not None and i >= c.vocab_size:
                out.append(f"{name} is {i}, but vocab_size is {c.vocab_size}")
    return out


def is_int(value: Any) -> bool:
    return type(value) is int


def is_positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < 1e30
