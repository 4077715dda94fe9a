"""SmolLM2-135M-Instruct (Apache-2.0) itself, as stored in 4 bits, in the page against torch.

One script in the page, run once: a software adapter needs about a minute for it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import reference_run
import torch

import driver.fetch

PROMPT_TOKENS, GREEDY, STEPS, WIDTH = 32, 20, 5, 32

PAGE = """
import nibblegrad as ng
from nibblegrad.models.generate import Sampling, tokens
from nibblegrad.job import builtin
from nibblegrad.tune.batch import make_batch

model = await ng.load(data["file"])
text = "A plume is a feather-shaped sensor for potted plants. It changes colour to show whether " \
       "the plant needs water, and it runs for a year on one small battery that you can buy."
prompt = model.tokenizer.encode(text)[: data["prompt"]]
logits = await model(prompt).tobytes()
question = model.tokenizer.encode_prompt("What is the capital of France?")
greedy = [t async for t in tokens(model, question, data["greedy"], Sampling())]
ng.tune.lora(model, r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], seed=3)
await ng.tune.save_adapter(model, "/out/start")
rows = []
for messages in builtin("plume.jsonl")[: data["steps"]]:
    ids, labels = ng.tune.encode_chat(model.tokenizer, messages)
    rows.append((ids[-data["width"]:], labels[-data["width"]:]))
trainer = ng.tune.Trainer(model, rows, learning_rate=1e-3, max_steps=data["steps"])
losses = [(await trainer.step([make_batch([row], 2)])).loss for row in rows]
await ng.tune.save_adapter(model, "/out/end")
import base64
{"prompt": prompt, "logits": base64.b64encode(logits).decode(), "question": question,
 "greedy": greedy, "rows": rows, "losses": losses, "stats": model.lm_head.weight.device.stats()}
"""


@pytest.fixture(scope="module")
def path() -> Path:
    return driver.fetch.model()


@pytest.fixture(scope="module")
def ours(page, path, tmp_path_factory) -> dict:
    data = {"file": page.add_file(path), "prompt": PROMPT_TOKENS, "greedy": GREEDY,
            "steps": STEPS, "width": WIDTH}  # fmt: skip
    page.clear_out()
    got = page.evaluate_python(PAGE, data)
    got["out"] = tmp_path_factory.mktemp("smollm2")
    page.save_out(got["out"])
    return got


@pytest.fixture(scope="module")
def base(path):
    torch.set_num_threads(1)
    return reference_run.load(path)


def test_logits(ours, base):
    """Of a 32-token prompt, within 2e-3 of their range."""
    import base64

    want = reference_run.logits(base, ours["prompt"])
    got = np.frombuffer(base64.b64decode(ours["logits"]), np.float32).reshape(want.shape)
    assert len(ours["prompt"]) == PROMPT_TOKENS
    assert np.abs(got - want).max() <= 2e-3 * np.ptp(want)


def test_greedy_text(ours, base):
    """20 tokens, or up to the end token, are torch's."""
    want = reference_run.greedy(base, ours["question"], GREEDY)
    ends = [i for i, t in enumerate(want) if t in (0, 2)]
    assert ours["greedy"] == want[: ends[0] if ends else GREEDY]


def test_losses_and_adapter(ours, path):
    """Five LoRA steps, each loss to 1e-3; PEFT loads the adapter, its weights are torch's."""
    init = reference_run.read_adapter(ours["out"] / "start/adapter_model.safetensors")
    peft = reference_run.with_lora(reference_run.load(path), 8, 16, ["q_proj", "v_proj"], init)
    steps = [[{"input_ids": [ids], "labels": [labels]}] for ids, labels in ours["rows"]]
    theirs = reference_run.train(peft, steps, 1e-3)
    np.testing.assert_allclose(ours["losses"], theirs["losses"], rtol=1e-3)
    ids = ours["prompt"]
    loaded = reference_run.adapter_logits(reference_run.load(path), ours["out"] / "end", ids)
    trained = reference_run.logits(peft, ids)
    assert np.abs(loaded - trained).max() <= 2e-3 * np.ptp(trained)


def test_gpu_bytes_are_counted(ours):
    """The model is 98 MB; training adds activations and no second copy of the weights."""
    assert 98e6 < ours["stats"]["peak"] < 500e6
