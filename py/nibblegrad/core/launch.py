"""What a kernel route answers: which file, how many workgroups, which constants and parameters."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from math import isqrt, prod

from .errors import PlanError

MAX_GROUPS = 65535
STEP_SLOTS = 64
NO_SLOT = 0xFFFFFFFF


@dataclass(frozen=True)
class Sym:
    """A number that moves between replays: it lives in slot `slot` of the plan's step block."""

    name: str
    slot: int
    kind: str = "f"

    def __repr__(self) -> str:
        return f"step.{self.name}"


@dataclass(frozen=True)
class Generated:
    """A one-expression WGSL function that a skeleton kernel calls; `key` names it in labels."""

    key: str
    text: str


@dataclass(frozen=True)
class Launch:
    """One dispatch. `kernel` is a path under shaders/ without .wgsl; `params` are u32 or f32 words;
    `weights` names the arguments that a linked format binds in group 2 (else those of kind w)."""

    grid: tuple[int, int, int]
    params: tuple[int | float, ...] = ()
    override: dict[str, int | float] = field(default_factory=dict)
    const: dict[str, int | str] = field(default_factory=dict)
    link: tuple[str | Generated, ...] = ()
    kernel: str = ""
    weights: tuple[str, ...] = ()

    def named(self, kernel: str) -> Launch:
        """The same launch of that kernel file."""
        return replace(self, kernel=kernel)


def size(shape: tuple[int, ...]) -> int:
    """Elements of a shape."""
    return prod(shape)


def ceil_div(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def grid1(n: int, per_group: int) -> tuple[int, int, int]:
    """Workgroups for n items, folded into two dimensions above WebGPU's 65,535."""
    groups = max(1, ceil_div(n, per_group))
    if groups <= MAX_GROUPS:
        return (groups, 1, 1)
    x = min(MAX_GROUPS, isqrt(groups - 1) + 1)
    return (x, ceil_div(groups, x), 1)


def dyn(value: float | int | Sym, kind: str = "f") -> tuple[int | float, ...]:
    """Two params words for a number that may be a step symbol: its bits, and its slot or none."""
    if isinstance(value, Sym):
        return (0, value.slot)
    return (float(value) if kind == "f" else int(value), NO_SLOT)


def pack(words: tuple[int | float, ...]) -> bytes:
    """Little-endian words: an int as u32 (negative ones in two's complement), a float as f32."""
    return b"".join(
        struct.pack("<f", w) if isinstance(w, float) else struct.pack("<I", w & 0xFFFFFFFF)
        for w in words
    )


def pack_step(symbols: dict[str, Sym], values: dict[str, float]) -> bytes:
    """The 256-byte step block; PlanError when a value is missing or not one of the plan's."""
    missing, extra = symbols.keys() - values.keys(), values.keys() - symbols.keys()
    if missing or extra:
        wants = ", ".join(symbols) or "no step values"
        raise PlanError(f"plan: replay takes {wants}; got {', '.join(values) or 'none'}")
    block = bytearray(4 * STEP_SLOTS)
    for name, sym in symbols.items():
        code = "<f" if sym.kind == "f" else "<i"
        struct.pack_into(code, block, 4 * sym.slot, values[name])
    return bytes(block)
