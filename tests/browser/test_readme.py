"""The README's example, as it stands there, in the page."""

import json
import re
from pathlib import Path

import pytest
import tiny

from driver.session import Result, Session

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
[EXAMPLE] = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """What the example finds under /files: a model so small that its 20 steps are quick."""
    model, data = tmp_path / "model.gguf", tmp_path / "data.jsonl"
    tiny.gguf_file(model, tiny.Tiny(), "Q4_1")
    data.write_bytes((ROOT / "py/nibblegrad/data/plume.jsonl").read_bytes())
    return [model, data]


def works(end: Result, page: Session, out: Path) -> str:
    """Its steps and its adapter; the last line it printed."""
    assert end.ok, end.error
    steps = re.findall(r"^step (\d+)/20  loss \d+\.\d+  grad_norm ", end.stdout, re.M)
    assert steps == [str(i + 1) for i in range(20)]
    page.save_out(out)
    assert json.loads((out / "adapter/adapter_config.json").read_text())["r"] == 8
    assert (out / "adapter/adapter_model.safetensors").stat().st_size > 1000
    return end.stdout.splitlines()[-1]


def test_it_is_short():
    assert len(EXAMPLE.splitlines()) <= 15
    assert max(map(len, EXAMPLE.splitlines())) <= 102


def test_it_runs_where_numpy_is(page_numpy: Session, files: list[Path], tmp_path: Path):
    page_numpy.clear_out()
    code = EXAMPLE + "print(type(logits).__name__, logits.ndim, logits.shape[1])\n"
    end = page_numpy.run_python(code, files=files, filename="README.md")
    assert works(end, page_numpy, tmp_path / "out") == "ndarray 2 320"


def test_it_runs_without_numpy(page: Session, files: list[Path], tmp_path: Path):
    page.clear_out()
    assert EXAMPLE.count(".numpy()") == 1
    code = EXAMPLE.replace(".numpy()", ".tolist()")
    code += "print(type(logits).__name__, type(logits[0]).__name__, len(logits[0]))\n"
    end = page.run_python(code, files=files, filename="README.md")
    assert works(end, page, tmp_path / "out") == "list list 320"


def test_every_file_it_names_is_there():
    for name in re.findall(r"\]\((?!https?:)([^)]+)\)", README):
        assert (ROOT / name).is_file(), name
