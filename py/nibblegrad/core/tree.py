"""Finding the tensors of a plain object by walking its attributes: no base class, no registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def walk(obj: Any, wanted: type, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, object) of every `wanted` under obj, in attribute order, private ones not."""
    for name, value in _children(obj):
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, wanted):
            yield path, value
        else:
            yield from walk(value, wanted, path)


def _children(obj: Any) -> list[tuple[str, Any]]:
    if isinstance(obj, (list, tuple)):
        return [(str(i), v) for i, v in enumerate(obj)]
    if isinstance(obj, dict):
        return [(str(k), v) for k, v in obj.items()]
    if getattr(obj, "is_layer", False):
        return [(k, v) for k, v in vars(obj).items() if not k.startswith("_")]
    return []
