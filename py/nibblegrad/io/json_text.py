"""JSON from strangers: json.loads recurses, and in Pyodide that ends the interpreter, not the call.

Pyodide 314.0.7 dies of "Maximum call stack size exceeded" at some thousands of brackets, where
CPython raises RecursionError. So depth is counted first; 128 is the limit of Rust's serde_json.
"""

import json
import re
from typing import Any

DEEPEST = 128
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]+|[]}]+', re.DOTALL)


def loads(text: str, **hooks: Any) -> Any:
    """json.loads for text of any origin; every fault is a ValueError."""
    if text.count("[") + text.count("{") > DEEPEST and depth(text) > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return json.loads(text, **hooks)


def loads_object(raw: bytes | str) -> dict[str, Any]:
    """A JSON object, or a ValueError."""
    value = loads(raw if isinstance(raw, str) else raw.decode("utf-8-sig"))
    if not isinstance(value, dict):
        raise ValueError(f"a JSON {type(value).__name__}, not an object")
    return value


def depth(text: str) -> int:
    """The most brackets open at once, those in strings not counted."""
    now = most = 0
    for token in TOKEN.finditer(text):
        first = text[token.start()]
        if first in "[{":
            now += token.end() - token.start()
            most = max(most, now)
        elif first != '"':
            now -= token.end() - token.start()
    return most
