"""build.py bench without a browser: options, what it refuses, the table, the files it sends."""

from argparse import Namespace
from pathlib import Path

import pytest
from bench import table

from driver import bench, cli
from driver.say import Mistake

ROW = {
    "what": "mm", "shape": "1x2x3", "gpu_ms": 0.0123, "wall_ms": 0.5, "gflops": 12345.6,
    "gbs": 1.234, "of_limit": 0.5, "of_tile": None, "route": "matmul/mm_tile",
}  # fmt: skip


def options(*argv: str) -> Namespace:
    found = cli.parse(["bench", *argv])
    assert found is not None
    return found


def test_options():
    found = options("--only", "mm", "--only", "q4", "--peers", "--json", "--tokens", "64")
    assert found.only == ["mm", "q4"] and found.peers and found.json
    told = bench.settings(options("--no-model", "--routes", "--only", "mm", "--tokens", "64"))
    assert told == {"only": ["mm"], "routes": True, "tokens": 64, "model": None}
    assert bench.settings(options())["model"].endswith(".gguf")


@pytest.mark.parametrize(("argv", "message"), [
    (["--", "nope"], "bench: no script nope; after -- may stand conv, replay, routes"),
    (["--json", "--", "replay"], "bench: scripts after -- print tables of their own"),
    (["--only", "("], "bench: --only (: missing ), unterminated subpattern"),
    (["--tokens", "1"], "bench: --tokens must be 2 to 1024, got 1"),
])  # fmt: skip
def test_refusals(argv: list[str], message: str):
    with pytest.raises(Mistake) as problem:
        bench.check(options(*argv))
    assert str(problem.value).startswith(message)


def test_site_must_be_a_folder(tmp_path: Path):
    (tmp_path / "a").write_text("")
    with pytest.raises(Mistake, match="is a file; name a folder"):
        bench.check(options("--site", str(tmp_path / "a")))


def test_everything_the_page_imports_is_sent():
    sent = bench.files()
    assert {"main.py", "table.py", "passes.js", "probes/tile.wgsl", "__init__.py"} <= sent.keys()
    assert not any(name.startswith(("scripts", "peers/")) for name in sent)


@pytest.mark.parametrize(("value", "text"), [
    (None, "-"), (0.0, "0"), (0.01234, "0.0123"), (0.5, "0.500"), (1.234, "1.23"),
    (12.34, "12.3"), (123.4, "123"), (12345.6, "12346"),
])  # fmt: skip
def test_numbers_have_three_figures(value: float | None, text: str):
    assert table.number(value) == text


def test_a_line_has_its_columns_and_peers():
    peers = {"tfjs": {"gpu_ms": 0.0246, "wall_ms": 0.25}, "jax-js": {"error": "no adapter"}}
    text = table.line(ROW | {"peers": peers})
    cells = text.split(";")[0].split()
    assert cells == ["mm", "1x2x3", "0.0123", "0.500", "12346", "1.2", "50%", "-", ROW["route"]]
    assert text.endswith("; tfjs 2.00x (0.500x), jax-js failed (no adapter)")
    assert table.header().split()[:2] == ["what", "shape"]


def test_a_failed_row_says_why():
    row = {"what": "mm", "shape": "1x2x3", "error": "webgpu: lost"}
    assert table.line(row).endswith("failed: webgpu: lost")
    assert "| failed |" in table.markdown([row])


def test_a_peer_without_timestamps_has_its_wall_time():
    assert table.beside(ROW, {"gpu_ms": None, "wall_ms": 1.0}) == "- (2.00x)"


def test_markdown_has_a_cell_for_each_peer():
    text = table.markdown([ROW | {"peers": {"tfjs": {"gpu_ms": 0.0246, "wall_ms": 1.0}}}, ROW])
    lines = text.splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert lines[2].endswith("| 2.00x (2.00x) |") and lines[3].endswith("|  |")
