"""A tiny Llama on the host against torch, transformers and PEFT: logits, text, a LoRA run."""

from __future__ import annotations

import asyncio
import random

import numpy as np
import pytest
import reference_run
import tiny
import torch

import nibblegrad as ng
from nibblegrad.gpu.host import HostDevice
from nibblegrad.models.generate import Sampling, tokens
from nibblegrad.tensor.tensor import set_default_device
from nibblegrad.tune.batch import make_batch

IDS = [1, 40, 7, 99, 150, 3, 77, 8, 201, 5, 64, 33]


@pytest.fixture(autouse=True)
def host():
    set_default_device(HostDevice())
    torch.set_num_threads(1)


def pairs(count: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Rows of unequal lengths whose second half carries loss."""
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        ids = [rng.randrange(260) for _ in range(rng.randrange(5, 14))]
        out.append((ids, [-100 if i < len(ids) // 2 else t for i, t in enumerate(ids)]))
    return out


def rows(batch_pairs: list) -> dict:
    """The reference's micro-batch of the same rows."""
    width = max(len(ids) for ids, _ in batch_pairs)
    return {
        "input_ids": [ids + [0] * (width - len(ids)) for ids, _ in batch_pairs],
        "labels": [marks + [-100] * (width - len(marks)) for _, marks in batch_pairs],
    }


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1"])
@pytest.mark.parametrize("tied", [True, False])
def test_gguf_logits_and_text(tmp_path, kind: str, tied: bool):
    path = tmp_path / "m.gguf"
    tiny.gguf_file(path, tiny.Tiny(tied=tied), kind)

    async def run():
        model = await ng.load(str(path))
        got = await model(IDS).numpy()
        made = [t async for t in tokens(model, IDS, 6, Sampling())]
        return got, made

    got, made = asyncio.run(run())
    reference = reference_run.load(path)
    want = reference_run.logits(reference, IDS)
    assert np.abs(got - want).max() <= 1e-4 * np.ptp(want)
    full = reference_run.greedy(reference, IDS, 6)
    assert made == full[: len(made)]


@pytest.mark.parametrize(
    "targets", [("q_proj", "v_proj"), ("q_proj", "k_proj", "o_proj", "down_proj")]
)
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_lora_run_equals_peft(tmp_path, targets: tuple, schedule: str):
    """Losses, gradient norms, the adapter of five steps, with accumulation and clipping."""
    path = tmp_path / "m.gguf"
    tiny.gguf_file(path, tiny.Tiny(), "Q4_1")
    data = pairs(20, 3)
    steps = [[data[4 * s : 4 * s + 2], data[4 * s + 2 : 4 * s + 4]] for s in range(5)]

    async def run():
        model = await ng.load(str(path))
        ng.tune.lora(model, r=4, lora_alpha=8, target_modules=targets, seed=5)
        await ng.tune.save_adapter(model, str(tmp_path / "start"))
        trainer = ng.tune.Trainer(
            model, data, learning_rate=2e-2, max_steps=5, weight_decay=0.1, max_grad_norm=0.5,
            lr_scheduler_type=schedule, warmup_steps=1,
        )  # fmt: skip
        out = [await trainer.step([make_batch(b, 0) for b in step]) for step in steps]
        await ng.tune.save_adapter(model, str(tmp_path / "end"))
        return out, await model(IDS).numpy()

    ours, tuned = asyncio.run(run())
    init = reference_run.read_adapter(tmp_path / "start" / "adapter_model.safetensors")
    base = reference_run.load(path)
    peft = reference_run.with_lora(base, 4, 8, targets, init)
    theirs = reference_run.train(
        peft, [[rows(b) for b in step] for step in steps], 2e-2, schedule=schedule,
        warmup_steps=1, weight_decay=0.1, max_grad_norm=0.5, total_steps=5,
    )  # fmt: skip
    np.testing.assert_allclose([s.loss for s in ours], theirs["losses"], rtol=1e-4)
    np.testing.assert_allclose([s.grad_norm for s in ours], theirs["grad_norms"], rtol=1e-3)
    np.testing.assert_allclose([s.learning_rate for s in ours], theirs["learning_rates"], rtol=1e-6)
    loaded = reference_run.adapter_logits(reference_run.load(path), tmp_path / "end", IDS)
    assert np.abs(loaded - tuned).max() <= 1e-4 * np.ptp(loaded)


def test_adapter_round_trip_and_faults(tmp_path):
    path = tmp_path / "m.gguf"
    tiny.gguf_file(path, tiny.Tiny(), "Q8_0")

    async def run():
        model = await ng.load(str(path))
        ng.tune.lora(model, r=4, seed=1)
        async for _ in ng.tune.Trainer(model, pairs(6, 1), learning_rate=1e-2, max_steps=2):
            pass
        await ng.tune.save_adapter(model, str(tmp_path / "a"))
        fresh = await ng.load(str(path))
        config = ng.tune.load_adapter(fresh, str(tmp_path / "a"))
        await ng.tune.save_adapter(fresh, str(tmp_path / "b"))
        ng.tune.lora(model, r=2, target_modules=["k_proj"])
        await ng.tune.save_adapter(model, str(tmp_path / "c"))
        (tmp_path / "c" / "adapter_config.json").write_bytes(
            (tmp_path / "a" / "adapter_config.json").read_bytes()
        )
        with pytest.raises(ng.FormatError, match=r"k_proj\.lora_A\.weight' belongs to no layer"):
            ng.tune.load_adapter(fresh, str(tmp_path / "c"))
        return config

    config = asyncio.run(run())
    assert (config.r, config.lora_alpha) == (4, 16)
    name = "adapter_model.safetensors"
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_nan_changes_nothing(tmp_path):
    """A loss that is not a number: the step changes nothing; three in a row end the run."""
    path = tmp_path / "m.gguf"
    tiny.gguf_file(path, tiny.Tiny(), "F32")

    async def run():
        model = await ng.load(str(path))
        ng.tune.lora(model, r=2, seed=1)
        trainer = ng.tune.Trainer(model, pairs(4, 1), max_steps=9)
        await trainer.step()
        norm = model.model.norm.weight
        good, before = await norm.tobytes(), await trainer.optimizer.flat.data.tobytes()
        norm.write_(np.full(norm.shape, np.nan, np.float32).tobytes())
        assert (await trainer.step()).skipped
        assert await trainer.optimizer.flat.data.tobytes() == before
        norm.write_(good)
        assert not (await trainer.step()).skipped
        norm.write_(np.full(norm.shape, np.inf, np.float32).tobytes())
        for _ in range(2):
            await trainer.step()
        with pytest.raises(ng.NibblegradError, match="not a number in 3 steps"):
            await trainer.step()

    asyncio.run(run())


def test_accumulation_equals_one_batch(tmp_path):
    """Unequal rows in one batch of four, or in four micro-batches: the same loss and gradient."""
    path = tmp_path / "m.gguf"
    tiny.gguf_file(path, tiny.Tiny(), "F32")
    data = pairs(4, 9)

    async def run(batches):
        model = await ng.load(str(path))
        ng.tune.lora(model, r=2, seed=1)
        trainer = ng.tune.Trainer(model, data, max_steps=1)
        return await trainer.step([make_batch(b, 0) for b in batches])

    one = asyncio.run(run([data]))
    four = asyncio.run(run([[p] for p in data]))
    assert abs(one.loss - four.loss) <= 1e-6 * one.loss
    assert abs(one.grad_norm - four.grad_norm) <= 1e-5 * one.grad_norm


REFUSED = [
    ({"r": 0}, "lora: r must be a positive whole number, got 0"),
    ({"lora_dropout": 1.0}, r"lora: lora_dropout must be in \[0, 1\), got 1.0"),
    ({"target_modules": ["w_proj"]}, "lora: no layer is called w_proj; target_modules may be "),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_lora_refuses(tmp_path, options: dict, message: str):
    path = tmp_path / "m.gguf"
    tiny.gguf_file(path, tiny.Tiny(), "F32")
    model = asyncio.run(ng.load(str(path)))
    with pytest.raises(ng.ShapeError, match=message):
        ng.tune.lora(model, **options)
