"""The whole job, as the page and `build.py finetune` run it: load, measure, train, measure, save.

It tells what it does as events, plain dicts with a field `event`; it knows nothing of who listens.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from .core.errors import FormatError, NibblegradError
from .io.chat import read_chat
from .models import load
from .tensor import device
from .tune.adapter import save_adapter_async
from .tune.batch import cut
from .tune.lora import lora
from .tune.trainer import Step, Trainer, encode

Emit = Callable[..., None]
QUESTION = "What is a plume?"

# (steps, longest row, held-out rows, tokens of the sample answer) by kind of adapter
SOFTWARE = (10, 64, 3, 16)
GPU = (100, 256, 64, 48)


@dataclass
class Job:
    """Options by their command-line names, None where not given; see `defaults`."""

    model: str
    data: str | None = None
    steps: Any = None
    seq_len: Any = None
    batch_size: Any = None
    gradient_accumulation_steps: Any = None
    learning_rate: Any = None
    lora_r: Any = None
    lora_alpha: Any = None
    target_modules: Any = None
    seed: Any = None
    out: str = "/out"
    eval_rows: int = 0
    sample_tokens: int = 0
    prompt: str = QUESTION
    losses: list[float] = field(default_factory=list)

    def defaults(self, software: bool) -> None:
        """Fill in what was not given, by what the adapter can bear."""
        steps, seq_len, self.eval_rows, self.sample_tokens = SOFTWARE if software else GPU
        usual: dict[str, Any] = {
            "steps": steps, "seq_len": seq_len, "batch_size": 1 if software else 4,
            "gradient_accumulation_steps": 1, "learning_rate": 4e-3 if software else 1e-3,
            "lora_r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"], "seed": 0,
        }  # fmt: skip
        for name, value in usual.items():
            if getattr(self, name) is None:
                setattr(self, name, value)

    def options(self) -> dict[str, Any]:
        """The options as they were resolved."""
        skipped = ("losses", "eval_rows", "sample_tokens", "prompt")
        return {k: v for k, v in vars(self).items() if k not in skipped and not k.startswith("_")}


_running: list[Trainer] = []
_stopped: list[bool] = []


def stop() -> None:
    """Ask the running job to end after this step; it keeps and saves what it learned."""
    _stopped.append(True)
    for trainer in _running:
        trainer.stop()


async def finetune(
    config: dict[str, Any], emit: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run the job; the summary, which is also the last event, `done`."""
    job = Job(**config)
    _stopped.clear()

    def say(event: str, **fields: Any) -> None:
        emit({"event": event, **fields})

    dev = await device("webgpu")
    say("adapter", info=dev.info)
    job.defaults(dev.caps.software)
    if dev.caps.software:
        say("note", text="a software adapter: few, short steps by default; a GPU does 100")
    source, rows, held = _rows(job)  # before the model: bad data is told at once
    model = await _load(job, say)
    train, heldout = _data(job, model, source, rows, held, say)
    lora(model, r=job.lora_r, lora_alpha=job.lora_alpha, target_modules=job.target_modules,
         seed=job.seed)  # fmt: skip
    say("config", **job.options())
    trainer = Trainer(
        model, train, learning_rate=job.learning_rate, max_steps=job.steps,
        batch_size=job.batch_size, max_length=job.seq_len, seed=job.seed,
        gradient_accumulation_steps=job.gradient_accumulation_steps,
    )  # fmt: skip
    return await _run(job, model, trainer, heldout, say)


async def _load(job: Job, say: Emit) -> Any:
    told = [0.0]

    def progress(loaded: int, total: int) -> None:
        if loaded == total or time.monotonic() - told[0] > 0.2:
            told[0] = time.monotonic()
            say("loading", loaded=loaded, total=total)

    model = await load(job.model, progress=progress)
    say("model", **model.info)
    return model


def _rows(job: Job) -> tuple[str, list[Any], list[Any]]:
    """Source, training and held-out rows: our own set, or one row in ten of the user's held out."""
    if not job.data:
        name = "the Plume, nibblegrad's own (Apache-2.0)"
        return name, builtin("plume.jsonl"), builtin("plume-heldout.jsonl")
    rows = read_chat(job.data)
    every = max(2, min(10, len(rows)))
    train = [row for i, row in enumerate(rows) if i % every != every - 1]
    return job.data.rpartition("/")[2], train, rows[every - 1 :: every]


def _data(job: Job, model: Any, source: str, train: list[Any], heldout: list[Any],
          say: Emit) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """(training, held-out) pairs of token ids and labels."""
    pairs, dropped = cut(encode(model, train), job.seq_len or 0)
    if dropped:
        say("note", text=f"{dropped} of {len(train)} rows have nothing to learn within "
            f"{job.seq_len} tokens and are left out; --seq-len raises that")  # fmt: skip
    held, _ = cut(encode(model, heldout), job.seq_len or 0) if heldout else ([], 0)
    held = held[: job.eval_rows]
    say("data", train=len(pairs), heldout=len(held), source=source,
        tokens=sum(len(ids) for ids, _ in pairs))  # fmt: skip
    return pairs, held


def builtin(name: str) -> list[Any]:
    """Rows of a data set in the wheel."""
    return read_chat((resources.files("nibblegrad") / "data" / name).read_text(encoding="utf-8"))


async def _run(job: Job, model: Any, trainer: Trainer, heldout: list[Any], say: Emit) -> Any:
    _running.append(trainer)
    try:
        before = await _measure(job, model, trainer, heldout, "before", say)
        steps = await _train(job, trainer, say)
        after = await _measure(job, model, trainer, heldout, "after", say)
    finally:
        _running.remove(trainer)
    files = await _save(job, model, say)
    summary = _summary(job, model, steps, before, after, files)
    say("done", **summary)
    return summary


async def _measure(job: Job, model: Any, trainer: Trainer, heldout: list[Any], when: str,
                   say: Emit) -> float | None:  # fmt: skip
    """Held-out loss and a sample answer; nothing more once the person wants to stop."""
    if _stopped:
        return None
    loss = await trainer.evaluate(heldout, job.seq_len or 0) if heldout else None
    if loss is not None:
        say("eval", when=when, loss=loss)
    if model.tokenizer.has_template and not _stopped:
        text = await model.generate(job.prompt, max_new_tokens=job.sample_tokens)
        say("sample", when=when, prompt=job.prompt, text=text.strip())
    return loss


async def _train(job: Job, trainer: Trainer, say: Emit) -> list[Step]:
    """Every step goes to log.jsonl as it is made: a crash loses the step it was in, no more."""
    Path(job.out).mkdir(parents=True, exist_ok=True)
    done: list[Step] = []
    with (Path(job.out) / "log.jsonl").open("w") as log:
        async for step in trainer:
            done.append(step)
            log.write(json.dumps(step.row()) + "\n")
            log.flush()
            seconds = sum(s.step_ms for s in done[-5:]) / len(done[-5:]) / 1e3
            say("step", eta_s=(step.steps - step.step) * seconds, **step.row())
    return done


async def _save(job: Job, model: Any, say: Emit) -> list[str]:
    try:
        files = await save_adapter_async(model, job.out)
    except (FormatError, OSError) as error:
        raise NibblegradError(f"finetune: trained, but not saved: {error}") from None
    files.append(f"{job.out}/log.jsonl")
    names = [f.removeprefix(job.out).lstrip("/") for f in files]
    say("saved", files=names)
    return names


def _summary(job: Job, model: Any, steps: list[Step], before: float | None, after: float | None,
             files: list[str]) -> dict[str, Any]:  # fmt: skip
    """Speeds leave out the first step, which records the plan and compiles its kernels."""
    timed = steps[1:] or steps
    seconds = sum(s.step_ms for s in timed) / 1e3
    stats = model.lm_head.weight.device.stats()
    return {
        "adapter": model.lm_head.weight.device.info, "model": model.info["name"],
        "license": model.info.get("license"), "steps": len(steps),
        "losses": [s.loss for s in steps], "eval_before": before, "eval_after": after,
        "tokens_per_s": sum(s.tokens for s in timed) / seconds if seconds else 0.0,
        "step_ms": seconds * 1e3 / len(timed) if timed else 0.0,
        "load_s": model.info["load_s"], "peak_gpu_bytes": stats["peak"],
        "stopped": bool(_stopped), "config": job.options(), "files": files,
    }  # fmt: skip
