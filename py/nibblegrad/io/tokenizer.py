"""What @huggingface/tokenizers needs, from a GGUF's metadata or from Hugging Face's two files.

The text work is JavaScript's (web/text/tokenizer.js); here it is only described.
"""

from array import array
from collections import Counter
from typing import Any

from ..core.errors import FormatError
from .header import quote, refuse
from .json_text import loads_object
from .pretokenizer import (
    PRE,
    bos_first,
    byte_level,
    exact,
    sequence,
    split,
    starts_with,
    without_unknown,
)

CONTROL, USER = 3, 4  # tokenizer.ggml.token_type
SPECIAL = {  # tokenizer.ggml.X_token_id: its name in tokenizer_config.json
    "bos": "bos_token",
    "eos": "eos_token",
    "unknown": "unk_token",
    "padding": "pad_token",
    "eot": "eot_token",
    "eom": "eom_token",
}
# what ends an answer, whatever the file calls its eos (llama.cpp looks for the same names)
ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>")


def from_gguf(metadata: dict[str, Any]) -> dict[str, Any]:
    """Tokenizer, its config, chat template and special ids from tokenizer.ggml.* keys."""
    keys = {k.removeprefix("tokenizer.ggml."): v for k, v in metadata.items()}
    pre = checked_kind(keys.get("model"), keys.get("pre"))
    tokens: Any = keys.get("tokens")
    merges: Any = keys.get("merges")
    types: Any = keys.get("token_type", [])
    refuse("tokenizer", list_faults(tokens, merges, types))
    ids: dict[str, Any] = {
        name: checked_id(name, keys.get(name + "_token_id"), len(tokens)) for name in SPECIAL
    }
    added = [
        added_token(i, tokens[i], kind == CONTROL)
        for i, kind in enumerate(types)
        if kind in (CONTROL, USER)
    ]
    bos = ids["bos"]
    add_bos = keys.get("add_bos_token", pre == "llama-bpe") is True and bos is not None
    post = bos_first(tokens[bos], bos) if add_bos and bos is not None else None
    config = {
        key: None if ids[name] is None else tokens[ids[name]] for name, key in SPECIAL.items()
    }
    return {
        "tokenizer": tokenizer_json(pre, tokens, merges, added, post),
        "config": config | {"clean_up_tokenization_spaces": False},
        "template": checked_template(metadata.get("tokenizer.chat_template")),
        "eos_ids": end_ids([ids["eos"], ids["eot"], ids["eom"]], added),
        "bos_id": bos,
        "pad_id": ids["padding"],
        "add_bos": add_bos,
    }


def end_ids(ids: list[int | None], added: list[dict]) -> list[int]:
    """Every id that ends an answer, the file's own eos first."""
    ids = ids + [t["id"] for t in added if t["content"] in ENDS]
    return list(dict.fromkeys(i for i in ids if i is not None))


def checked_kind(model: Any, pre: Any) -> str:
    """tokenizer.ggml.pre, if this kind of tokenizer can be built."""
    if model != "gpt2":
        raise FormatError(
            f"tokenizer: model is {model!r:.80}, which is not supported; supported: gpt2"
        )
    if not isinstance(pre, str) or pre not in PRE:
        raise FormatError(
            f"tokenizer: pre-tokenizer is {pre!r:.80}, which is not supported;"
            f" supported: {' '.join(PRE)}"
        )
    return pre


def list_faults(tokens: Any, merges: Any, types: Any) -> list[str]:
    """What is wrong with the three long lists."""
    faults = []
    if not is_text_list(tokens):
        return ["tokenizer.ggml.tokens is no list of strings"]
    if len(set(tokens)) != len(tokens):
        faults.append(f"token {quote(Counter(tokens).most_common(1)[0][0])} is there twice")
    if not is_text_list(merges):
        faults.append("tokenizer.ggml.merges is no list of strings")
    elif bad := next((m for m in merges if m.count(" ") != 1), None):
        faults.append(f"merge {quote(bad)} is not two tokens with a space between")
    if not isinstance(types, list | array) or len(types) not in (0, len(tokens)):
        faults.append("tokenizer.ggml.token_type is not as long as tokenizer.ggml.tokens")
    return faults


def is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(type(v) is str for v in value)


def checked_id(name: str, value: Any, n_tokens: int) -> int | None:
    """A special token's id; none where there is none, or -1 in old files."""
    if value is None or value == -1:
        return None
    if type(value) is not int or not 0 <= value < n_tokens:
        raise FormatError(
            f"tokenizer: {name}_token_id is {value!r:.80}, but there are {n_tokens} tokens"
        )
    return value


def checked_template(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise FormatError(f"tokenizer: chat_template is {value!r:.80}, not text")
    return value


def tokenizer_json(
    pre: str, tokens: list[str], merges: list[str], added: list[dict], post: dict | None
) -> dict[str, Any]:
    """A tokenizer.json."""
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": pre == "llama-bpe",
        "vocab": {token: i for i, token in enumerate(tokens)},
        "merges": merges,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "NFC"} if pre == "qwen2" else None,
        "pre_tokenizer": without_unknown(sequence([*map(split, PRE[pre]), byte_level()]), model),
        "post_processor": post,
        "decoder": byte_level(),
        "model": model,
    }


def added_token(i: int, content: str, special: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": i, "content": content, **flags, "special": special}


def from_hf(
    tokenizer_json: bytes | str,
    tokenizer_config_json: bytes | str | None = None,
    template: str | None = None,
) -> dict[str, Any]:
    """The same from tokenizer.json and tokenizer_config.json (or a chat_template.jinja's text)."""
    spec = json_object("tokenizer.json", tokenizer_json)
    config = json_object("tokenizer_config.json", tokenizer_config_json or "{}")
    vocab, added = checked_spec(spec)
    ids = vocab | {t["content"]: t["id"] for t in added}
    names = {name: text_of(config.get(name + "_token")) for name in ("bos", "eos", "pad")}
    special = {name: ids.get(text) for name, text in names.items()}
    config |= {f"{name}_token": text for name, text in names.items()}
    config["clean_up_tokenization_spaces"] = False
    template = template or default_template(config.pop("chat_template", None))
    return {
        "tokenizer": spec
        | {"pre_tokenizer": without_unknown(exact(spec["pre_tokenizer"]), spec["model"])},
        "config": config,
        "template": checked_template(template),
        "eos_ids": end_ids([special["eos"]], added),
        "bos_id": special["bos"],
        "pad_id": special["pad"],
        "add_bos": starts_with(spec["post_processor"], names["bos"]),
    }


def json_object(who: str, raw: bytes | str) -> dict[str, Any]:
    try:
        return loads_object(raw)
    except ValueError as e:
        raise FormatError(f"{who}: {e}") from None


def checked_spec(spec: dict[str, Any]) -> tuple[dict[str, int], list[dict]]:
    """Vocabulary and added tokens of a tokenizer.json that is whole and of a kind we know."""
    faults = []
    model: Any = spec.get("model")
    added: Any = spec.setdefault("added_tokens", [])
    for key in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        if not isinstance(spec.setdefault(key, None), dict | None):
            faults.append(f"{key} is no object")
    kind = model.get("type") if isinstance(model, dict) else None
    if kind != "BPE":
        faults.append(f"model type is {kind!r:.80}, which is not supported; supported: 'BPE'")
    elif not isinstance(model.get("vocab"), dict) or not isinstance(model.get("merges"), list):
        faults.append("model has no vocab or no merges")
    whole = isinstance(added, list) and all(isinstance(t, dict) for t in added)
    if not whole or not all(type(t.get("content")) is str and is_id(t.get("id")) for t in added):
        faults.append("added_tokens is no list of tokens with content and id")
    refuse("tokenizer.json", faults)
    return model["vocab"], added


def is_id(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


def text_of(token: Any) -> str | None:
    """A special token is a string, or an object with its content."""
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) else None


def default_template(value: Any) -> Any:
    """One template, or several of which one is named default."""
    if not isinstance(value, list):
        return value
    named = {t.get("name"): t.get("template") for t in value if isinstance(t, dict)}
    return named.get("default")
