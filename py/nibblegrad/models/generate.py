"""Generating: a prefill and a decode plan, recorded once and replayed a token at a time."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import ops
from ..core.errors import ShapeError
from ..core.launch import Sym
from ..nn import Cache
from ..tensor import Tensor, no_grad, record, zeros


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen; temperature 0 takes the likeliest."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int = 0


async def stream(
    model: Any,
    prompt: Any,
    *,
    max_new_tokens: int = 128,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    repetition_penalty: float = 1.0,
    seed: int = 0,
    stop: Sequence[str] = (),
) -> AsyncIterator[str]:
    """Yield the answer to a prompt, piece by piece.

    prompt: a question (put through the chat template), a list of {role, content} messages, or a
    list of token ids taken as they are. Ends at the model's end token, a stop string (left out) or
    max_new_tokens. temperature 0 is greedy; top_k 0 and top_p 1.0 cut nothing.
    """
    ids = list(prompt) if _is_ids(prompt) else model.tokenizer.encode_prompt(prompt)
    how = Sampling(temperature, top_k, top_p, repetition_penalty, seed)
    text = ""
    async for piece in _pieces(model, ids, max_new_tokens, how):
        text += piece
        cut = min((text.find(s) for s in stop if s in text), default=-1)
        if cut >= 0:
            if piece_end := text[:cut][len(text) - len(piece) :]:
                yield piece_end
            return
        yield piece


def _is_ids(prompt: Any) -> bool:
    return isinstance(prompt, (list, tuple)) and all(isinstance(i, int) for i in prompt)


async def _pieces(model: Any, ids: list[int], count: int, how: Sampling) -> AsyncIterator[str]:
    """Text as it becomes certain: half a UTF-8 character waits for its rest."""
    made: list[int] = []
    shown = ""
    async for token in tokens(model, ids, count, how):
        made.append(token)
        text = model.tokenizer.decode(made)
        if not text.endswith("\ufffd") and len(text) > len(shown):
            yield text[len(shown) :]
            shown = text
    rest = model.tokenizer.decode(made)[len(shown) :] if made else ""
    if rest:
        yield rest


async def tokens(model: Any, ids: list[int], count: int, how: Sampling) -> AsyncIterator[int]:
    """Token ids after `ids`, up to `count`, ending before the model's end token."""
    if not ids:
        raise ShapeError("generate: the prompt is empty; at least one token is needed")
    limit = model.config.max_position_embeddings
    if len(ids) >= limit:
        raise ShapeError(f"generate: the prompt has {len(ids)} tokens; this model reads {limit}")
    count = min(count, limit - len(ids))
    ends = set(model.tokenizer.eos_ids if model.tokenizer else model.config.eos_token_id)
    run = _decoder(model, _bucket(len(ids) + count), how)
    token = await run.prefill(ids)
    for i in range(count):
        if token in ends:
            return
        yield token
        if i + 1 < count:
            token = await run.decode(token, len(ids) + i)


def _bucket(n: int) -> int:
    return 1 << max(5, (n - 1).bit_length())


def _decoder(model: Any, length: int, how: Sampling) -> Decoder:
    """The model's decoder for this cache length and sampling; one is kept."""
    key = (length, how, getattr(model, "_version", 0))
    if key not in model._generators:
        model._generators.clear()
        model._generators[key] = Decoder(model, length, how)
    return model._generators[key]


class Decoder:
    """A KV cache with a decode plan, and a prefill plan a prompt length."""

    def __init__(self, model: Any, length: int, how: Sampling):
        c = model.config
        self.model, self.how, self.length = model, how, length
        model.rope.reserve(length)
        self.cache = Cache(c.num_hidden_layers, length, c.num_key_value_heads, c.head_dim)
        self.seen = zeros((length,), "i32") if how.repetition_penalty != 1.0 else None
        self.plans: dict[int, Any] = {}

    async def prefill(self, ids: list[int]) -> int:
        """Read the prompt; the first new token. Padding past the prompt is overwritten later."""
        if self.seen is not None:
            self.seen.write_(array("i", ids + [-1] * (self.length - len(ids))))
        width = min(self.length, -(-len(ids) // 16) * 16)
        return await self._run(width, ids + [0] * (width - len(ids)), len(ids) - 1, 0)

    async def decode(self, token: int, pos: int) -> int:
        """The token after `token`, which stands at `pos`."""
        if self.seen is not None:
            view = self.seen._view
            self.seen.device.write(view.storage.handle, view.offset + 4 * pos, array("i", [token]))
        return await self._run(1, [token], 0, pos)

    async def _run(self, width: int, ids: list[int], row: int, pos: int) -> int:
        if width not in self.plans:
            self.plans[width] = self._record(width)
        plan, tokens_in, row_in, out = self.plans[width]
        tokens_in.write_(array("i", ids))
        row_in.write_(array("i", [row]))
        plan.replay(pos=pos, stream=pos + row)
        return int(await out.item())

    def _record(self, width: int) -> tuple[Any, Tensor, Tensor, Tensor]:
        tokens_in, row_in = zeros((1, width), "i32"), zeros((1,), "i32")
        with no_grad(), record(pos="i", stream="i") as plan:
            hidden = self.model.hidden(tokens_in, plan["pos"], self.cache)
            logits = self.model.head_at(hidden, row_in)
            out = choose(logits.reshape(-1), self.how, self.seen, plan["stream"])
        return plan, tokens_in, row_in, out


def choose(logits: Tensor, how: Sampling, seen: Tensor | None, stream: Sym) -> Tensor:
    """i32 [1]: the next token of logits [vocab]."""
    if seen is not None:
        logits = ops.repetition_penalty(logits, seen, penalty=how.repetition_penalty)
    if how.temperature <= 0:
        return ops.argmax(logits).reshape(1)
    return ops.sample(logits, how.temperature, how.top_k, how.top_p, how.seed, stream)
