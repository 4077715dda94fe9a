"""The tiny models and the torch reference run: they agree with each other and themselves."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))


def near(got, want, rtol=1e-5, atol=1e-5):
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol * max(1.0, np.abs(want).max()))


@pytest.fixture(scope="module")
def ref():
    pytest.importorskip("transformers")
    return pytest.importorskip("reference_run")


IDS = [1, 120, 118, 300, 13, 90, 2, 0, 319, 40]


@pytest.mark.parametrize("tied", [True, False])
def test_tiny_gguf_equals_tiny_safetensors(ref, tmp_path, tied):
    import tiny

    shape = tiny.Tiny(tied=tied)
    for dtype, tol in (("F32", 0), ("F16", 0.02), ("BF16", 0.2)):
        a = ref.logits(ref.load(tiny.gguf_file(tmp_path / "m.gguf", shape, dtype)), IDS)
        b = ref.logits(ref.load(tiny.hf_folder(tmp_path / dtype, shape, dtype)), IDS)
        near(a, b, atol=tol or 1e-6)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_1"])
def test_tiny_quantised_files_load(ref, tmp_path, kind):
    import tiny

    files = [tiny.gguf_file(tmp_path / f"{i}.gguf", kind=kind, embedding="Q8_0") for i in (0, 1)]
    assert files[0].read_bytes() == files[1].read_bytes()
    got = ref.logits(ref.load(files[0]), IDS)
    want = ref.logits(ref.load(tiny.gguf_file(tmp_path / "f.gguf", kind="F32")), IDS)
    assert np.abs(got - want).max() < (0.05 if kind == "Q8_0" else 0.5) * np.abs(want).max()


def test_tiny_tokenizer_round_trips(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tiny = pytest.importorskip("tiny")
    folder = tiny.hf_folder(tmp_path)
    t = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    text = "<|im_start|>user\nWhat does the plume do? 42 é 你好 🙂\n<|im_end|>"
    ids = t.encode(text).ids
    assert ids[0] == 1 and ids[-1] == 2 and len(ids) < len(text.encode())
    assert t.decode(ids, skip_special_tokens=False) == text


def test_reference_run_learns_and_its_adapter_loads(ref, tmp_path):
    import tiny

    base = ref.load(tiny.gguf_file(tmp_path / "m.gguf"))
    rows = {"input_ids": [IDS, [*IDS[:5], *[2] * 5]], "labels": [IDS, [*IDS[:5], *[-100] * 5]]}
    halves = [{k: v[i : i + 1] for k, v in rows.items()} for i in (0, 1)]
    runs, untuned = [], ref.logits(base, IDS)
    for steps in ([[rows]] * 6, [halves] * 6):  # accumulated or not: one and the same run
        given = ref.random_a(base, 4, ["q_proj", "down_proj"], seed=3)
        model = ref.with_lora(base, 4, 8, ["q_proj", "down_proj"], given)
        runs.append(ref.train(model, steps, 1e-2, "linear", 2, 8, weight_decay=0.01))
        ref.save_adapter(model, tmp_path / "adapter")
        tuned = ref.logits(model, IDS)
        base = model.unload()
    for key in runs[0]:
        near(runs[0][key], runs[1][key], rtol=1e-3)
    assert runs[0]["learning_rates"][0] == 0 and runs[0]["losses"][-1] < runs[0]["losses"][0]
    near(ref.adapter_logits(base, tmp_path / "adapter", IDS), tuned, atol=1e-6)
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["r"] == 4 and sorted(config["target_modules"]) == ["down_proj", "q_proj"]
    (tmp_path / "adapter" / "adapter_config.json").write_text(
        json.dumps(config | {"target_modules": ["q_proj"]})
    )
    with pytest.raises(ValueError, match="keys differ"):
        ref.adapter_logits(base, tmp_path / "adapter", IDS)
    near(ref.logits(base, IDS), untuned, atol=1e-6)
