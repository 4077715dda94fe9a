"""Training rows from .jsonl and .txt, and their token ids with labels.

A row is a list of messages, [{"role": ..., "content": ...}, ...], or a string: a plain document.
Labels are aligned with ids, as in transformers (the loss shifts them); -100 carries no loss.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from ..core.errors import FormatError
from .header import refuse
from .json_text import loads

Message = dict[str, str]
Row = list[Message] | str
ROLES = ("system", "user", "assistant")
NO_LOSS = -100
SHOWN = 100  # bad rows named in one message


class Codec(Protocol):
    """What encoding asks of a tokenizer."""

    @property
    def eos_ids(self) -> Iterable[int]: ...

    def encode(self, text: str, special: bool, /) -> Iterable[int]: ...

    def render(self, messages_json: str, add_generation_prompt: bool, /) -> str: ...


def read_chat(source: str | Path) -> list[Row]:
    """Rows of a .jsonl or .txt file, or of its text (several lines, or one that begins with {)."""
    if isinstance(source, Path) or not ("\n" in source or source.lstrip().startswith("{")):
        path = Path(source)
        who, text, is_jsonl = path.name, file_text(path), path.suffix.lower() == ".jsonl"
    else:
        text = source.removeprefix("\ufeff")
        who, is_jsonl = "data", text.lstrip().startswith("{")
    rows = json_rows(who, text) if is_jsonl else documents(text)
    if not rows:
        raise FormatError(f"{who}: no examples; the file is empty")
    return rows


def file_text(path: Path) -> str:
    """A data file as text, or what is wrong with it."""
    if path.suffix.lower() not in (".jsonl", ".txt"):
        raise FormatError(f"{path.name}: cannot read '{path.suffix}'; give a .jsonl or .txt file")
    try:
        raw = path.read_bytes()
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        raise FormatError(f"{path.name}: line {line}: not UTF-8; save the file as UTF-8") from None
    except OSError as e:
        raise FormatError(f"{path.name}: cannot be read: {e.strerror}") from None


def documents(text: str) -> list[Row]:
    """Plain text, a document ends at a blank line."""
    parts = re.split(r"\n\s*\n", text.replace("\r\n", "\n"))
    return [part.strip("\n") for part in parts if part.strip()]


def json_rows(who: str, text: str) -> list[Row]:
    """One JSON object a line; all bad lines are told at once."""
    rows, faults = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(messages_of(parsed(line)))
        except ValueError as e:
            faults.append(f"line {number}: {e}")
    refuse(who, faults, SHOWN)
    return rows


def parsed(line: str) -> Any:
    try:
        return loads(line)
    except json.JSONDecodeError as e:
        raise ValueError(f"not JSON: {e.msg} at character {e.pos + 1}") from None


def messages_of(row: Any) -> list[Message]:
    """The messages of one row; ValueError says what is wrong with it."""
    if not isinstance(row, dict):
        raise ValueError(f"a JSON {type(row).__name__}; each line must be an object")
    if "messages" in row:
        messages = row["messages"]
    elif "prompt" in row and "completion" in row:
        pair = (("user", row["prompt"]), ("assistant", row["completion"]))
        messages = [{"role": role, "content": content} for role, content in pair]
    else:
        keys = ", ".join(map(str, row)) or "nothing"
        raise ValueError(f"needs messages, or prompt and completion; has {keys:.80}")
    if not isinstance(messages, list) or not messages:
        raise ValueError("messages must be a list with at least one message")
    out = [checked_message(i, m) for i, m in enumerate(messages, 1)]
    if not any(m["role"] == "assistant" for m in out):
        raise ValueError("no message is the assistant's, so there is nothing to learn")
    return out


def checked_message(i: int, message: Any) -> Message:
    """Role and content of one message; other keys are left out."""
    if not isinstance(message, dict):
        raise ValueError(f"message {i} is no object")
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise ValueError(f"message {i} has role {role!r:.40}; known: {' '.join(ROLES)}")
    if not isinstance(content, str):
        raise ValueError(f"message {i} has content of type {type(content).__name__}, not text")
    if role != "system" and not content.strip():
        raise ValueError(f"message {i} ({role}) is empty")
    if role == "system" and i > 1:
        raise ValueError(f"message {i} is the system's; only the first can be")
    if re.search("[\ud800-\udfff]", content):
        raise ValueError(f"message {i} holds half a surrogate pair, which is no text")
    return {"role": role, "content": content}


def encode_row(tokenizer: Codec, row: Row) -> tuple[list[int], list[int]]:
    """Ids and labels of one row; every token of a plain document carries loss."""
    if isinstance(row, str):
        ids = list(tokenizer.encode(row, True))
        return ids, list(ids)
    return encode_chat(tokenizer, row)


def encode_chat(tokenizer: Codec, messages: list[Message]) -> tuple[list[int], list[int]]:
    """Ids and labels: loss on what the assistant writes and on the token that ends its turn."""
    ends = set(tokenizer.eos_ids)
    ids: list[int] = []
    labels: list[int] = []
    for text, is_answer in pieces(tokenizer, messages, False):
        part = list(tokenizer.encode(text, False))
        n = learnt(part, ends) if is_answer else 0
        ids += part
        labels += part[:n] + [NO_LOSS] * (len(part) - n)
    return ids, labels


def encode_prompt(tokenizer: Codec, messages: list[Message]) -> list[int]:
    """The ids generation starts from: cut at the same borders, so training saw the same."""
    return [
        i for text, _ in pieces(tokenizer, messages, True) for i in tokenizer.encode(text, False)
    ]


def learnt(part: list[int], ends: set[int]) -> int:
    """How many tokens of an answer carry loss: to its last end token, not the newline after it."""
    last = max((i for i, token in enumerate(part) if token in ends), default=len(part) - 1)
    return last + 1


def pieces(
    tokenizer: Codec, messages: list[Message], open_turn: bool
) -> Iterator[tuple[str, bool]]:
    """The rendered chat, cut where answers begin and end: (text, whether it is an answer).

    Encoded in one go, a token could reach over a border that generation cannot reach over.
    """
    done = ""
    for i, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        for n, is_answer in ((i, False), (i + 1, True)):
            text = tokenizer.render(json.dumps(messages[:n]), not is_answer)
            yield grown(done, text, n), is_answer
            done = text
    if open_turn or messages[-1]["role"] != "assistant":
        text = tokenizer.render(json.dumps(messages), open_turn)
        yield grown(done, text, len(messages)), False


def grown(done: str, text: str, n: int) -> str:
    """What text adds to done."""
    if not text.startswith(done):
        raise FormatError(
            f"chat template: {n} messages do not begin like fewer of them, so that prompt and"
            " answer cannot be told apart; use a template that renders each turn by itself"
        )
    return text[len(done) :]
