"""SmolLM2-135M end to end: a LoRA training step, prefill and decode, in tokens a second."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import nibblegrad as ng
from nibblegrad.models.generate import Decoder, Sampling
from nibblegrad.tune.lora import PROJECTIONS, detach

from . import table
from .clock import Clock

Row = dict[str, Any]


async def measure(
    clock: Clock,
    options: dict[str, Any],
    wanted: Callable[[str], bool],
    tell: Callable[[str], Any],
) -> list[Row]:
    """A row a stage that is asked for: train, prefill, decode."""
    stages = {"train": train, "prefill": prefill, "decode": decode}
    names = [name for name in stages if wanted(f"model {name}")]
    if not names or not options["model"]:
        return []
    start = time.perf_counter()
    model = await ng.load(options["model"])
    tell(f"model: loaded in {time.perf_counter() - start:.1f} s; "
         f"{'tokens/s':>12}{'wall ms':>10}{'GPU ms':>10}{'dispatches':>12}")  # fmt: skip
    tokens = options["tokens"] or (16 if clock.software else 512)
    rows = []
    for name in names:
        await clock.part()
        try:
            row = await stages[name](clock, model, tokens)
        except Exception as error:
            tell(f"model {name:8}  failed: {error}")
            rows.append({"what": f"model {name}", "shape": "", "error": str(error)})
            continue
        rows.append({"what": f"model {name}", **row})
        tell(f"{rows[-1]['what']:14}{row['shape']:>12}{table.number(row['tokens_per_s']):>12}"
             f"{table.number(row['wall_ms']):>10}{table.number(row['gpu_ms']):>10}"
             f"{row['dispatches']:>12}  {row['note']}")  # fmt: skip
    return rows


async def train(clock: Clock, model: Any, tokens: int) -> Row:
    """One optimiser step of LoRA r=8 on all linear layers, one text of `tokens` tokens."""
    ng.tune.lora(model, r=8, target_modules=PROJECTIONS)
    ids = _ids(model, tokens)
    trainer = ng.tune.Trainer(model, [(ids, ids)], max_length=tokens, max_steps=10**6)
    batches = trainer.next_batches()
    start = time.perf_counter()
    first = await trainer.step(batches)
    compiled = time.perf_counter() - start
    row = await _timed(clock, lambda: trainer.step(batches), tokens)
    peak = clock.dev.stats()["peak"]
    note = f"loss {first.loss:.3f}, first step {compiled:.2f} s, peak {peak / 2**20:.0f} MiB"
    detach(model)
    return {"shape": f"1x{tokens}", **row, "note": note, "first_s": compiled, "peak_bytes": peak}


async def prefill(clock: Clock, model: Any, tokens: int) -> Row:
    """Reading a prompt: the first new token of `tokens` tokens, greedy."""
    run = Decoder(model, 2 * tokens, Sampling())
    ids = _ids(model, tokens)
    await run.prefill(ids)
    row = await _timed(clock, lambda: run.prefill(ids), tokens)
    return {"shape": f"1x{tokens}", **row, "note": "logits of the last token only"}


async def decode(clock: Clock, model: Any, tokens: int) -> Row:
    """One token after a prompt, read back each time as generation does."""
    count = 2 if clock.software else 64
    run = Decoder(model, 2 * tokens, Sampling())
    await run.prefill(_ids(model, tokens))
    await run.decode(1, tokens)

    async def some() -> None:
        token = 1
        for i in range(min(count, tokens)):
            token = await run.decode(token, tokens + i)

    row = await _timed(clock, some, count)
    return {"shape": f"{count} after {tokens}", **row, "note": f"wall and GPU ms of {count} tokens"}


def _ids(model: Any, tokens: int) -> list[int]:
    draw = random.Random(11)
    return [draw.randrange(1000, model.config.vocab_size) for _ in range(tokens)]


async def _timed(clock: Clock, work: Callable[[], Awaitable[Any]], tokens: int) -> Row:
    """Median of several runs, each after the same work has kept the GPU busy."""
    gpu, wall, dispatches = [], [], 0
    for _ in range(clock.how["runs"]):
        until = time.perf_counter() + clock.how["warm"] / 1e3
        while time.perf_counter() < until:
            await work()
        spent, dispatches, waited = await clock.spans(work)
        wall.append(waited)
        if spent is not None:
            gpu.append(spent)
    ms = statistics.median(wall)
    return {
        "tokens_per_s": 1e3 * tokens / ms, "wall_ms": ms,
        "gpu_ms": statistics.median(gpu) if gpu else None, "dispatches": dispatches,
    }  # fmt: skip
