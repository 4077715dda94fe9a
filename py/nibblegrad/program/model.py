"""A loaded program: its methods, each called on tensors, arrays or numbers."""

from __future__ import annotations

from typing import Any

from ..core.errors import FormatError
from .method import Method


class Model:
    """What `load_pte` gives. Calling it calls `forward`, or the only method there is."""

    def __init__(self, methods: dict[str, Method], size: int):
        self.methods, self.size = methods, size

    def method(self, name: str) -> Method:
        """A method by name, to be awaited on its inputs."""
        if name not in self.methods:
            raise FormatError(f"pte: there is no method '{name}'; there are {[*self.methods]}")
        return self.methods[name]

    async def __call__(self, *inputs: Any) -> list[Any]:
        """`forward` on these inputs: a list of tensors (a number where the program gives one)."""
        only = next(iter(self.methods)) if len(self.methods) == 1 else "forward"
        return await self.method(only)(*inputs)

    def __str__(self) -> str:
        return "\n".join(str(m) for m in self.methods.values())
