"""Tiny Llamas in the page, on WebGPU: every format's logits, a LoRA run, generation, replays."""

from __future__ import annotations

import json

import numpy as np
import pytest
import reference_run
import tiny
import torch
from test_tiny_host import IDS, pairs, rows

LOGITS = """
import nibblegrad as ng
model = await ng.load(data["file"])
{"logits": await model(data["ids"]).tolist(),
 "text": await model.generate(data["ids"], max_new_tokens=6),
 "codes": model.tokenizer.encode("Hello plume 42")}
"""


def compare(got: list, path, tol: float = 1e-4) -> None:
    torch.set_num_threads(1)
    want = reference_run.logits(reference_run.load(path), IDS)
    assert np.abs(np.array(got) - want).max() <= tol * np.ptp(want)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1"])
def test_gguf(page, tmp_path, kind: str):
    path = tmp_path / f"tiny-{kind}.gguf"
    tiny.gguf_file(path, tiny.Tiny(tied=kind != "F16"), kind)
    got = page.evaluate_python(LOGITS, {"file": page.add_file(path), "ids": IDS})
    compare(got["logits"], path)


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_safetensors_is_quantised_while_loading(page, tmp_path, dtype: str):
    """The linear layers become q4gsw; the reference gets the same dequantised weights."""
    folder = tmp_path / dtype
    tiny.hf_folder(folder, tiny.Tiny(), dtype)
    for file in folder.iterdir():
        page.add_file(file)
    ask = LOGITS.replace("{\"logits\"", "kind = type(model.model.layers[0].mlp.up_proj).__name__\n"
                         "{\"kind\": kind, \"logits\"")  # fmt: skip
    got = page.evaluate_python(ask, {"file": "/files/model.safetensors", "ids": IDS})
    assert got["kind"] == "Q4Linear"
    reference = reference_run.load(folder)
    with torch.no_grad():
        for name, p in reference.named_parameters():
            if "_proj." in name:
                p.copy_(torch.from_numpy(four_bits(p.numpy())))
    want = reference_run.logits(reference, IDS)
    assert np.abs(np.array(got["logits"]) - want).max() <= 1e-4 * np.ptp(want)


def four_bits(w: np.ndarray, group: int = 32) -> np.ndarray:
    """torchao's symmetric int4 group quantisation, there and back."""
    g = w.reshape(w.shape[0], -1, group)
    scale = np.maximum(
        np.abs(g).max(-1, keepdims=True) / np.float32(7.5), np.finfo(np.float32).tiny
    )
    return (np.clip(np.rint(g * (1 / scale)), -8, 7) * scale).reshape(w.shape)


TRAIN = """
import nibblegrad as ng
from nibblegrad.tune.batch import make_batch
model = await ng.load(data["file"])
ng.tune.lora(model, r=4, lora_alpha=8, target_modules=data["targets"], lora_dropout=data["dropout"])
await ng.tune.save_adapter(model, "/out/start")
pairs = [(list(i), list(l)) for i, l in data["pairs"]]
trainer = ng.tune.Trainer(model, pairs, learning_rate=2e-2, max_steps=5, weight_decay=0.1,
                          max_grad_norm=0.5, lr_scheduler_type="linear", warmup_steps=1, seed=4,
                          gradient_checkpointing=data["checkpointing"])
steps = []
for s in range(5):
    four = pairs[4 * s : 4 * s + 4]
    step = await trainer.step([make_batch(four[:2], 0), make_batch(four[2:], 0)])
    steps.append([step.loss, step.grad_norm])
await ng.tune.save_adapter(model, "/out/end")
{"steps": steps, "tuned": await model(data["ids"]).tolist(),
 "flat": (await trainer.optimizer.flat.data.tobytes()).hex()}
"""


def ask(page, path, dropout: float = 0.0, checkpointing: bool = False) -> dict:
    data = {"file": page.add_file(path), "pairs": pairs(20, 3), "ids": IDS, "dropout": dropout,
            "targets": ["q_proj", "k_proj", "o_proj", "down_proj"],
            "checkpointing": checkpointing}  # fmt: skip
    return page.evaluate_python(TRAIN, data)


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "tiny-train.gguf"
    tiny.gguf_file(path, tiny.Tiny(), "Q4_1")
    return path


def test_lora_run_equals_peft(page, tmp_path, model_file):
    got = ask(page, model_file)
    page.save_out(tmp_path / "out")
    init = reference_run.read_adapter(tmp_path / "out/start/adapter_model.safetensors")
    base = reference_run.load(model_file)
    peft = reference_run.with_lora(base, 4, 8, ["q_proj", "k_proj", "o_proj", "down_proj"], init)
    data = pairs(20, 3)
    steps = [[rows(data[4 * s : 4 * s + 2]), rows(data[4 * s + 2 : 4 * s + 4])] for s in range(5)]
    theirs = reference_run.train(peft, steps, 2e-2, schedule="linear", warmup_steps=1,
                                 weight_decay=0.1, max_grad_norm=0.5, total_steps=5)  # fmt: skip
    np.testing.assert_allclose([s[0] for s in got["steps"]], theirs["losses"], rtol=1e-4)
    np.testing.assert_allclose([s[1] for s in got["steps"]], theirs["grad_norms"], rtol=1e-3)
    loaded = reference_run.adapter_logits(reference_run.load(model_file), tmp_path / "out/end", IDS)
    assert np.abs(loaded - np.array(got["tuned"])).max() <= 1e-4 * np.ptp(loaded)


def test_same_seed_same_bits(page, model_file):
    """Twice the same run, dropout and all, and once with every block run anew on the way back:
    losses and parameters to the last bit."""
    plain = ask(page, model_file, 0.1)
    assert ask(page, model_file, 0.1) == plain
    assert ask(page, model_file, 0.1, checkpointing=True) == plain


def test_a_plan_replays_without_growth(page, model_file):
    """1,000 replays: no byte, buffer or bind group more; and the replayed result stays the same."""
    code = """
import nibblegrad as ng
dev = await ng.device("webgpu")
model = await ng.load(data["file"])
model.rope.reserve(16)
ids = ng.tensor([data["ids"]])
with ng.no_grad(), ng.record() as plan:
    logits = model.head(model.hidden(ids))
plan.replay()
first, before = await logits.tobytes(), dev.stats()
for _ in range(1000):
    plan.replay()
last, after = await logits.tobytes(), dev.stats()
before.pop("dispatches"), after.pop("dispatches")
{"same": first == last, "before": before, "after": after, "records": len(plan)}
"""
    got = page.evaluate_python(code, {"file": page.add_file(model_file), "ids": IDS})
    assert got["same"] and got["before"] == got["after"] and got["records"] > 30


def test_generation_options(page, model_file):
    """Greedy equals torch; sampling repeats with its seed; stop strings and limits end it."""
    code = """
import nibblegrad as ng
from nibblegrad.models.generate import Sampling, tokens
model = await ng.load(data["file"])
async def ids(count, **how):
    return [t async for t in tokens(model, data["ids"], count, Sampling(**how))]
greedy = await ids(12)
hot = dict(temperature=1.5, top_k=50, top_p=0.9, repetition_penalty=1.2, seed=3)
text = await model.generate(data["ids"], max_new_tokens=12)
{"greedy": greedy, "a": await ids(12, **hot), "b": await ids(12, **hot),
 "c": await ids(12, **{**hot, "seed": 4}), "cold": await ids(12, temperature=1e-4, seed=1),
 "text": text,
 "stopped": await model.generate(data["ids"], max_new_tokens=12, stop=[text[2:4]]),
 "pieces": [p async for p in model.stream(data["ids"], max_new_tokens=12)]}
"""
    got = page.evaluate_python(code, {"file": page.add_file(model_file), "ids": IDS})
    want = reference_run.greedy(reference_run.load(model_file), IDS, 12)
    assert got["greedy"] == want[: len(got["greedy"])]
    assert got["cold"] == got["greedy"]
    assert got["a"] == got["b"] != got["c"]
    assert got["stopped"] == got["text"][: got["text"].index(got["text"][2:4])]
    assert "".join(got["pieces"]) == got["text"]


def test_bad_files_are_named(page, tmp_path, model_file):
    raw = model_file.read_bytes()
    half = tmp_path / "half.gguf"
    half.write_bytes(raw[: len(raw) // 2])
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GARBAGE" * 100)
    for path, words in ((half, "but the file has"), (other, "")):
        code = "import nibblegrad as ng\ntry:\n    await ng.load(data)\n    text = ''\n" \
               "except ng.FormatError as error:\n    text = str(error)\ntext"  # fmt: skip
        text = page.evaluate_python(code, page.add_file(path))
        assert text and words in text, json.dumps(text)


def test_a_lost_device_says_so(page):
    """destroy() is a loss: what comes after is a DeviceError with what to do, never a hang."""
    code = """
import nibblegrad as ng
from nibblegrad.gpu.webgpu import open_device
from nibblegrad.tensor.tensor import _current, caps_of
x = ng.tensor([1.0, 2.0])
y = ng.ops.silu(x)
x.device.rt.destroy()
try:
    await y.tolist()
    text = "no error"
except ng.DeviceError as error:
    text = str(error)
del x, y
_current.clear()
await ng.device("webgpu")
{"text": text, "again": await ng.ops.silu(ng.tensor([0.0, 1.0])).tolist()}
"""
    got = page.evaluate_python(code)
    assert "lost" in got["text"] and "reload" in got["text"].lower()
    assert abs(got["again"][1] - 0.7310586) < 1e-5
