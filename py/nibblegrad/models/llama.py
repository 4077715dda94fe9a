"""Llama: attribute names are Hugging Face's, so a dotted path is a tensor's name there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from .. import ops
from ..core.errors import ShapeError
from ..core.launch import Sym
from ..io.config import LlamaConfig
from ..nn import Attention, Cache, Embedding, Layer, RMSNorm, Rope
from ..tensor import Tensor, checkpoint, no_grad, tensor


class MLP(Layer):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, gate_proj: Any, up_proj: Any, down_proj: Any):
        self.gate_proj, self.up_proj, self.down_proj = gate_proj, up_proj, down_proj

    def __call__(self, x: Tensor) -> Tensor:
        return self.down_proj(ops.silu_mul(self.gate_proj(x), self.up_proj(x)))


class Block(Layer):
    """Attention and MLP, each behind a norm, each added to its input."""

    def __init__(self, norm: RMSNorm, attention: Attention, norm2: RMSNorm, mlp: MLP):
        self.input_layernorm, self.self_attn = norm, attention
        self.post_attention_layernorm, self.mlp = norm2, mlp

    def __call__(self, x: Tensor, *where: Any) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), *where)
        return x + self.mlp(self.post_attention_layernorm(x))


class Body(Layer):
    """Embedding, blocks, final norm."""

    def __init__(self, embed_tokens: Embedding, layers: list[Block], norm: RMSNorm):
        self.embed_tokens, self.layers, self.norm = embed_tokens, layers, norm


class Llama(Layer):
    """A causal language model. Made by `nibblegrad.load`.

    `model(ids)` gives logits f32 [tokens, vocab] of one text, or [batch, tokens, vocab] of several.
    """

    def __init__(self, config: LlamaConfig, body: Body, lm_head: Any, rope: Rope):
        self.config, self.model, self.lm_head, self.rope = config, body, lm_head, rope
        self.tokenizer: Any = None
        self.info: dict[str, Any] = {}
        self._generators: dict[Any, Any] = {}

    def hidden(self, ids: Tensor, pos: int | Sym = 0, cache: Cache | None = None,
               checkpointing: bool = False) -> Tensor:  # fmt: skip
        """The last block's output [batch, tokens, hidden], before the final norm.

        checkpointing: the tape keeps the blocks' inputs only, and the way back runs each anew.
        """
        x = self.model.embed_tokens(ids)
        for i, block in enumerate(self.model.layers):
            where = (self.rope, pos, cache, i)
            x = checkpoint(block, x, *where) if checkpointing else block(x, *where)
        return x

    def head(self, hidden: Tensor) -> Tensor:
        """Logits [..., vocab] of hidden states."""
        return self.lm_head(self.model.norm(hidden))

    def head_at(self, hidden: Tensor, rows: Tensor) -> Tensor:
        """Logits at some rows of the flattened hidden states: the head is the dearest matrix."""
        return self.head(_rows(hidden, rows))

    def normed_at(self, hidden: Tensor, rows: Tensor) -> Tensor:
        """What the head reads at some rows of the flattened hidden states: [rows, hidden]."""
        return self.model.norm(_rows(hidden, rows))

    def __call__(self, ids: Sequence[int] | Sequence[Sequence[int]] | Tensor) -> Tensor:
        if not isinstance(ids, Tensor):
            ids = tensor(list(ids), "i32")
        rows = ids if len(ids.shape) == 2 else ids.reshape(1, -1)
        if not rows.shape[1]:
            raise ShapeError("llama: at least one token is needed, got none")
        if rows.shape[1] > self.config.max_position_embeddings:
            limit = self.config.max_position_embeddings
            raise ShapeError(f"llama: {rows.shape[1]} tokens; this model reads at most {limit}")
        self.rope.reserve(rows.shape[1])
        logits = self.head(self.hidden(rows))
        return logits if len(ids.shape) == 2 else logits.reshape(logits.shape[1:])

    async def generate(self, prompt: Any, **options: Any) -> str:
        """The model's answer as text. Options: see `models.generate.stream`."""
        return "".join([piece async for piece in self.stream(prompt, **options)])

    def stream(self, prompt: Any, **options: Any) -> AsyncIterator[str]:
        """The answer piece by piece, as it is made."""
        from .generate import stream

        with no_grad():
            return stream(self, prompt, **options)


def _rows(hidden: Tensor, rows: Tensor) -> Tensor:
    return ops.embedding(hidden.reshape(-1, hidden.shape[-1]), rows)
