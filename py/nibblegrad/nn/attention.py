"""Causal self-attention with rotary positions, grouped key heads and an optional cache."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable

from .. import ops
from ..core.dtype import f32
from ..core.launch import Sym
from ..tensor import Tensor, tensor, zeros
from .layers import Layer


class Rope:
    """Rotary tables, cos and sin, grown when longer texts come.

    `interleaved`: adjacent elements pair up (GGUF's llama); else halves do (Hugging Face).
    """

    def __init__(self, head_dim: int, theta: float, interleaved: bool):
        self.head_dim, self.theta, self.interleaved = head_dim, theta, interleaved
        self.rows = 0
        self.cos: Tensor
        self.sin: Tensor

    def reserve(self, rows: int) -> None:
        """Make the tables at least this long. Not while recording."""
        if rows <= self.rows:
            return
        self.rows = 1 << max(6, (rows - 1).bit_length())
        half = self.head_dim // 2
        steps = [_f32(1.0 / self.theta ** (2 * i / self.head_dim)) for i in range(half)]
        columns = steps if self.interleaved else steps * 2
        angles = [_f32(row * step) for row in range(self.rows) for step in columns]
        self.cos, self.sin = (_table(f, angles, len(columns)) for f in (math.cos, math.sin))

    def __call__(self, q: Tensor, k: Tensor, pos: int | Sym) -> tuple[Tensor, Tensor]:
        """Queries and keys at pos, pos + 1, .."""
        halves = not self.interleaved
        return ops.rotary_pair(q, k, self.cos, self.sin, pos=pos, halves=halves)

    def cached(
        self, q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, pos: int | Sym
    ) -> Tensor:
        """The queries, turned in place; keys, turned, and values go into the caches at pos."""
        halves = not self.interleaved
        return ops.rotary_cache(q, k, v, keys, values, self.cos, self.sin, pos=pos, halves=halves)


def _f32(value: float) -> float:
    return array("f", [value])[0]


def _table(function: Callable[[float], float], angles: list[float], columns: int) -> Tensor:
    flat = tensor(array("f", map(function, angles)), f32)
    return flat.reshape(-1, columns)


class Cache:
    """Keys and values of up to `length` positions for each layer: f32 [1, length, heads, size]."""

    def __init__(self, layers: int, length: int, heads: int, head_dim: int):
        self.length = length
        self.keys = [zeros((1, length, heads, head_dim)) for _ in range(layers)]
        self.values = [zeros((1, length, heads, head_dim)) for _ in range(layers)]


class Attention(Layer):
    """q, k, v and output projections around causal attention."""

    def __init__(self, q_proj: Layer, k_proj: Layer, v_proj: Layer, o_proj: Layer,
                 heads: int, kv_heads: int, head_dim: int):  # fmt: skip
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = q_proj, k_proj, v_proj, o_proj
        self._sizes = heads, kv_heads, head_dim

    def __call__(
        self, x: Tensor, rope: Rope, pos: int | Sym = 0, cache: Cache | None = None, layer: int = 0
    ) -> Tensor:
        b, t, _ = x.shape
        heads, kv_heads, size = self._sizes
        q = self.q_proj(x).reshape(b, t, heads, size)  # type: ignore[operator]
        k = self.k_proj(x).reshape(b, t, kv_heads, size)  # type: ignore[operator]
        v = self.v_proj(x).reshape(b, t, kv_heads, size)  # type: ignore[operator]
        if cache:
            keys, values = cache.keys[layer], cache.values[layer]
            q, k, v = rope.cached(q, k, v, keys, values, pos), keys, values
        else:
            q, k = rope(q, k, pos)
        out = ops.attend(q, k, v, size**-0.5, pos if cache else 0)
        return self.o_proj(out.reshape(b, t, heads * size))  # type: ignore[operator]
