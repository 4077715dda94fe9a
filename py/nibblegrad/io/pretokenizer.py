"""The parts of a tokenizer.json: patterns to split text at, byte level, and what goes in front.

Patterns are written for Oniguruma, as in tokenizer.json. The JavaScript library translates `Split`
patterns exactly, but its own `Digits` and `ByteLevel` patterns know ASCII digits and JavaScript's
blanks only (U+FEFF is one there, U+0085 is not). So both are spelled out as `Split`.

Some vocabularies lack bytes (SmolLM2 has 235 of 256). Rust drops such a byte before it merges, so
that its neighbours may join; the JavaScript library and llama.cpp drop it after. The models were
trained with Rust's way, so a last step takes those bytes out; only JavaScript knows that step.
"""

from typing import Any

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PRE = {  # tokenizer.ggml.pre: the patterns to split at, one after the other
    "smollm": (r"\p{N}", GPT2),
    "gpt-2": (GPT2,),
    "llama-bpe": (LLAMA3,),
    "qwen2": (LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"),),
}


def sequence(steps: list[dict]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": steps}


def split(pattern: str) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }


def byte_level() -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }


def without_unknown(pre: dict[str, Any] | None, model: dict[str, Any]) -> dict[str, Any] | None:
    """pre, with bytes that no token covers taken out; unchanged if the model replaces them."""
    steps = as_list(as_dict(pre).get("pretokenizers"))
    missing = "".join(letter for letter in alphabet() if letter not in model["vocab"])
    kept = model.get("unk_token") is not None or model.get("byte_fallback")
    if kept or not missing or not steps or steps[-1] != byte_level():
        return pre
    # the alphabet's letters are written as \u escapes: some are signs of the pattern language
    letters = "".join(f"\\u{ord(letter):04x}" for letter in missing)
    return sequence(
        [*steps, {"type": "Replace", "pattern": {"Regex": f"[{letters}]"}, "content": ""}]
    )


def alphabet() -> list[str]:
    """The letter that stands for each of the 256 bytes in byte-level vocabularies (as GPT-2's)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(c) for c in plain] + [chr(256 + n) for n in range(256 - len(plain))]


def bos_first(token: str, i: int) -> dict[str, Any]:
    """The post-processor that puts bos in front of a text."""
    bos = {"SpecialToken": {"id": token, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [bos, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [
            bos,
            {"Sequence": {"id": "A", "type_id": 0}},
            {"Sequence": {"id": "B", "type_id": 1}},
        ],
        "special_tokens": {token: {"id": token, "ids": [i], "tokens": [token]}},
    }


def exact(pre: Any) -> dict[str, Any] | None:
    """Digits and ByteLevel spelled out; one that adds a space in front stays as it is."""
    todo, steps = [pre], []
    while todo:
        step = as_dict(todo.pop(0))
        kind = step.get("type")
        if kind == "Sequence":
            todo = as_list(step.get("pretokenizers")) + todo
        elif kind == "Digits":
            steps.append(split(r"\p{N}" if step.get("individual_digits") else r"\p{N}+"))
        elif kind == "ByteLevel" and not step.get("add_prefix_space"):
            steps += [split(GPT2)] * bool(step.get("use_regex", True)) + [byte_level()]
        elif step:
            steps.append(step)
    return sequence(steps) if steps else None


def starts_with(post: Any, bos: str | None) -> bool:
    """Whether a post-processor puts bos in front."""
    for step in [post, *as_list(as_dict(post).get("processors"))]:
        first = as_dict(next(iter(as_list(as_dict(step).get("single"))), None))
        if bos and as_dict(first.get("SpecialToken")).get("id") == bos:
            return True
    return False


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
