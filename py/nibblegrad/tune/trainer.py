"""The training loop: `async for step in Trainer(...)`. transformers' TrainingArguments' names."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.errors import NibblegradError, ShapeError
from ..io.chat import encode_row
from ..optim import AdamW, schedule
from .batch import Batch, Pair, cut, make_batch, order, widest
from .lora import layers
from .memory import BUDGET, Memory, counted, estimate
from .plans import Plans

LOOKED_AT = 4096  # micro-batches whose sizes the estimate of memory is made for
MOST_BAD = 3  # steps with a loss or gradient that is not a number, one after another


@dataclass(frozen=True)
class Step:
    """One optimiser step. `skipped`: loss or gradient was not finite, so nothing was changed."""

    step: int
    steps: int
    loss: float
    grad_norm: float
    learning_rate: float
    tokens: int
    tokens_per_s: float
    step_ms: float
    epoch: float
    skipped: bool = False
    peak_gpu_bytes: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        flag = "  (skipped: not finite)" if self.skipped else ""
        return (
            f"step {self.step}/{self.steps}  loss {self.loss:.4f}  grad_norm {self.grad_norm:.3f}  "
            f"lr {self.learning_rate:.2e}  {self.tokens_per_s:.1f} tokens/s{flag}"
        )

    def row(self) -> dict[str, Any]:
        """For a log: plain values."""
        return {k: v for k, v in asdict(self).items() if k != "extra"}


class Trainer:
    """Trains the LoRA of `model` on rows (from read_chat) or on (ids, labels) pairs.

    loss = sum over the step's tokens / their number, over all its micro-batches, as transformers
    counts them. `callbacks` are called with each Step. The same seed gives the same losses.
    gradient_checkpointing: run each block anew on the way back instead of keeping what it computed;
    "auto" does so when `estimate` (bytes by part) without it is above memory_budget bytes.
    """

    def __init__(
        self,
        model: Any,
        train: Iterable[Any],
        *,
        learning_rate: float = 2e-4,
        max_steps: int = 100,
        batch_size: int = 1,
        gradient_accumulation_steps: int = 1,
        max_length: int = 512,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        max_grad_norm: float = 1.0,
        lr_scheduler_type: str = "constant",
        warmup_steps: int = 0,
        seed: int = 0,
        gradient_checkpointing: bool | str = "auto",
        memory_budget: int = BUDGET,
        callbacks: Iterable[Callable[[Step], Any]] = (),
    ):
        _positive(max_steps=max_steps, batch_size=batch_size, max_length=max_length,
                  gradient_accumulation_steps=gradient_accumulation_steps)  # fmt: skip
        if not learning_rate > 0 or not math.isfinite(learning_rate):
            raise ShapeError(f"Trainer: learning_rate must be positive, got {learning_rate}")
        if not layers(model):
            raise ShapeError("Trainer: the model has no LoRA; call tune.lora(model, ...) first")
        self.model, self.max_steps, self.seed = model, max_steps, seed
        self.pairs, self.dropped = cut(encode(model, train), max_length)
        self.batch_size, self.accumulation = batch_size, gradient_accumulation_steps
        self.callbacks = list(callbacks)
        self._factor = schedule(lr_scheduler_type, warmup_steps, max_steps)
        self.optimizer = AdamW(
            [t for _, layer in layers(model) for t in (layer.lora_A, layer.lora_B)],
            learning_rate, betas, eps, weight_decay,
        )  # fmt: skip
        self.estimate = self._choose(gradient_checkpointing, memory_budget)
        self.plans = Plans(model, self.optimizer, max_grad_norm, self.gradient_checkpointing)
        self._numbers = order(len(self.pairs), seed)
        self._stop, self.done, self.bad = False, 0, 0

    def stop(self) -> None:
        """End after the step that is running; what was learned stays."""
        self._stop = True

    def __aiter__(self) -> AsyncIterator[Step]:
        return self._steps()

    async def _steps(self) -> AsyncIterator[Step]:
        while self.done < self.max_steps and not self._stop:
            step = await self.step()
            for callback in self.callbacks:
                callback(step)
            yield step

    def _choose(self, wanted: bool | str, budget: int) -> Memory:
        """Settle checkpointing, and take the plans' scratch at once: what does not fit fails here,
        and plans of smaller batches find room in the largest one's."""
        if wanted not in (True, False, "auto"):
            raise ShapeError(
                f"Trainer: gradient_checkpointing is True, False or 'auto', got {wanted!r}"
            )
        shape = widest(self._batches(order(len(self.pairs), self.seed)))
        found = estimate(self.model, *shape, gradient_checkpointing=wanted is True)
        self.gradient_checkpointing = wanted is True
        if wanted == "auto" and found.memory.total > budget:
            found = estimate(self.model, *shape, gradient_checkpointing=True)
            self.gradient_checkpointing = True
        if reserve := getattr(self.optimizer.m.device, "reserve", None):
            reserve(found.arena)
        return found.memory

    def _batches(self, numbers: Iterator[int]) -> Iterator[list[Pair]]:
        """The rows of each micro-batch of the run, or of its first LOOKED_AT."""
        for _ in range(min(self.max_steps * self.accumulation, LOOKED_AT)):
            yield [self.pairs[next(numbers)] for _ in range(self.batch_size)]

    def memory(self) -> Memory:
        """The bytes that the device holds, by part."""
        return counted(self.model, self.optimizer, self.plans)

    def next_batches(self) -> list[Batch]:
        """The micro-batches of the next step."""
        pad = self.model.config.pad_token_id or 0
        return [
            make_batch([self.pairs[next(self._numbers)] for _ in range(self.batch_size)], pad)
            for _ in range(self.accumulation)
        ]

    async def step(self, batches: list[Batch] | None = None) -> Step:
        """One optimiser step over these micro-batches, else over the next ones of the data."""
        started = time.monotonic()
        batches = batches or self.next_batches()
        number = self.done + 1
        n_valid = sum(b.count for b in batches)
        self.plans.start()
        for i, batch in enumerate(batches):
            self.plans.micro(
                batch, n_valid, seed=(self.seed * 1_000_003 + number * 1_009 + i) % 2**31
            )
        loss, norm = await self.plans.read()
        rate = self.optimizer.lr * self._factor(self.done)
        finite = math.isfinite(loss) and math.isfinite(norm)
        if finite:
            self.optimizer.t += 1
            self.plans.update(rate, self.optimizer.t)
        self.done = number
        self._count_bad(finite)
        return self._report(batches, loss, norm, rate, finite, time.monotonic() - started)

    def _count_bad(self, finite: bool) -> None:
        self.bad = 0 if finite else self.bad + 1
        if self.bad >= MOST_BAD:
            raise NibblegradError(
                f"Trainer: loss or gradient was not a number in {self.bad} steps one after another;"
                f" the adapter is as it was before them; lower learning_rate={self.optimizer.lr}"
            )

    def _report(self, batches: list[Batch], loss: float, norm: float, rate: float,
                finite: bool, seconds: float) -> Step:  # fmt: skip
        tokens = sum(b.tokens for b in batches)
        rows = self.done * self.batch_size * self.accumulation
        return Step(
            self.done, self.max_steps, loss, norm, rate, tokens, tokens / max(seconds, 1e-9),
            seconds * 1e3, rows / len(self.pairs), not finite,
            self.optimizer.m.device.stats().get("peak", 0),
        )  # fmt: skip

    async def evaluate(self, rows: Iterable[Any], max_length: int = 512) -> float:
        """Mean loss over the tokens of held-out rows, without dropout."""
        pairs, _ = cut(encode(self.model, rows), max_length)
        pad = self.model.config.pad_token_id or 0
        batches = [make_batch([p], pad) for p in sorted(pairs, key=lambda p: len(p[0]))]
        total = sum(b.count for b in batches)
        self.plans.start()
        for batch in batches:
            self.plans.micro(batch, total, train=False)
        return (await self.plans.read())[0]


def encode(model: Any, rows: Iterable[Any]) -> list[Pair]:
    """(ids, labels) of each row; pairs are taken as they are."""
    return [r if isinstance(r, tuple) else encode_row(model.tokenizer, r) for r in rows]


def _positive(**values: int) -> None:
    for name, value in values.items():
        if not isinstance(value, int) or value < 1:
            raise ShapeError(f"Trainer: {name} must be a positive whole number, got {value}")
