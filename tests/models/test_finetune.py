"""`build.py finetune` from the outside, on a tiny model: exit status, JSON, files, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import reference_run
import tiny

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "build.py"), "finetune"]
FILES = ["adapter_config.json", "adapter_model.safetensors", "log.jsonl", "loss.png"]


@pytest.fixture
def model(tmp_path) -> Path:
    path = tmp_path / "tiny.gguf"
    tiny.gguf_file(path, tiny.Tiny(), "Q4_1")
    return path


def test_json_files_and_peft(tmp_path, model):
    out = tmp_path / "out"
    data = tmp_path / "mine.jsonl"
    chats = [[{"role": "user", "content": f"say {n}"}, {"role": "assistant", "content": f"so {n}"}]
             for n in range(20)]  # fmt: skip
    data.write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in chats))
    options = ["--model", model, "--data", data, "--steps", 12, "--learning-rate", 2e-2,
               "--lora-r", 4, "--target-modules", "q_proj", "k_proj", "--batch-size", 2,
               "--out", out, "--json"]  # fmt: skip
    run = subprocess.run(
        [*COMMAND, *map(str, options)], capture_output=True, text=True, timeout=200
    )
    assert run.returncode == 0, run.stderr
    summary = json.loads(run.stdout.splitlines()[-1])
    assert summary["steps"] == len(summary["losses"]) == 12
    assert summary["eval_after"] < summary["eval_before"]
    assert sorted(Path(f).name for f in summary["files"]) == FILES
    assert (out / "loss.png").read_bytes()[:4] == b"\x89PNG"
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert [row["loss"] for row in rows] == summary["losses"]
    ids = [1, 40, 7, 99, 150, 3]
    plain = reference_run.logits(reference_run.load(model), ids)
    tuned = reference_run.adapter_logits(reference_run.load(model), out, ids)
    assert np.abs(tuned - plain).max() > 1e-3


def test_ctrl_c_keeps_what_was_learned(tmp_path, model):
    out = tmp_path / "out"
    options = ["--model", model, "--steps", 5000, "--out", out, "--json"]
    run = subprocess.Popen([*COMMAND, *map(str, options)], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        assert run.stderr is not None
        for line in run.stderr:
            if line.startswith("step"):
                break
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        stdout, _ = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 130
    summary = json.loads(stdout.splitlines()[-1])
    assert 0 < summary["steps"] < 5000 and summary["stopped"]
    assert (out / "adapter_model.safetensors").exists()
    assert len((out / "log.jsonl").read_text().splitlines()) == summary["steps"]
