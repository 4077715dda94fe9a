"""build.py run, as a person has it: files in and out, streams, exit status, tracebacks, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driver.say import DriverError
from driver.session import Session

BUILD = Path(__file__).parents[2] / "build.py"
EVERYTHING = """\
import asyncio, os, sys
import nibblegrad
await asyncio.sleep(0)
print(__name__, sys.argv, sorted(os.listdir("/files")))
print("to stderr", file=sys.stderr)
os.makedirs("/out/sub")
for name in ("a.txt", "sub/é.txt"):
    with open("/out/" + name, "w") as file:
        file.write(open("/files/in.txt").read())

def fails():
    raise RuntimeError("on purpose")

fails()
"""


def build(folder: Path, code: str, *argv: str) -> subprocess.Popen[str]:
    (folder / "script.py").write_text(code)
    command = [sys.executable, str(BUILD), "run", "script.py", *argv]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def test_whole_contract(tmp_path: Path):
    (tmp_path / "in.txt").write_text("hello")
    run = build(tmp_path, EVERYTHING, "--file", "in.txt", "--out", "results", "--", "x", "--file")
    out, err = run.communicate(timeout=300)
    assert run.returncode == 1
    assert out == "__main__ ['script.py', 'x', '--file'] ['in.txt']\n"
    assert "to stderr\nTraceback (most recent call last):\n" in err
    assert '  File "script.py", line 14, in <module>\n    fails()\n' in err
    assert '  File "script.py", line 12, in fails\n' in err
    assert err.endswith("RuntimeError: on purpose\n")
    assert (tmp_path / "results/a.txt").read_text() == "hello"
    assert (tmp_path / "results/sub/é.txt").read_text() == "hello"


def test_oldest_pyodide_has_numpy_and_needs_no_isolation(tmp_path: Path):
    code = (
        "import numpy, js\nprint(numpy.ones(3).sum(), js.crossOriginIsolated)\nraise SystemExit(7)"
    )
    run = build(tmp_path, code, "--pyodide", "0.27.7", "--no-isolation")
    out, err = run.communicate(timeout=300)
    assert (run.returncode, out) == (7, "3.0 False\n"), err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "forever", ["while True: pass", "import asyncio; await asyncio.sleep(999)"]
)
def test_ctrl_c_keeps_what_was_written(tmp_path: Path, forever: str):
    run = build(tmp_path, f"open('/out/kept', 'w').write('k')\nprint('go')\n{forever}")
    assert run.stdout and run.stdout.readline() == "go\n"
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "KeyboardInterrupt" in err
    assert (tmp_path / "out/kept").read_text() == "k"


def renderers(pid: int) -> list[int]:
    """The pages' processes below this one."""
    table = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in table.splitlines()]
    below, found = {str(pid)}, []
    for _ in range(8):  # generations
        below |= {child for child, parent, *_ in rows if parent in below}
    for child, _, *words in rows:
        if child in below and "--type=renderer" in "".join(words):
            found.append(int(child))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads ps as Linux prints it")
def test_a_crashed_page_is_told_at_once(tmp_path: Path):
    run = build(tmp_path, "print('go')\nwhile True: pass")
    assert run.stdout and run.stdout.readline() == "go\n"
    start = time.monotonic()
    for pid in renderers(run.pid):
        os.kill(pid, signal.SIGKILL)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "browser: the page crashed" in err
    assert time.monotonic() - start < 20


def test_a_dead_interpreter_is_told_and_its_files_come(tmp_path: Path):
    run = build(tmp_path, "import os\nopen('/out/kept', 'w').close()\nos.abort()")
    _, err = run.communicate(timeout=300)
    assert run.returncode == 1
    assert "python: the interpreter ended" in err
    assert (tmp_path / "out/kept").exists()


def test_syntax_error_names_the_line(page: Session):
    end = page.run_python("x = 1\nif x\n", filename="mine.py")
    assert (end.ok, end.status) == (False, 1)
    assert end.error.startswith('  File "mine.py", line 2\n    if x\n')


@pytest.mark.parametrize(("code", "status", "error"), [
    ("raise SystemExit", 0, ""), ("import sys; sys.exit(3)", 3, ""), ("exit('why')", 1, "why\n"),
])  # fmt: skip
def test_exit_status(page: Session, code: str, status: int, error: str):
    end = page.run_python(code)
    assert (end.status, end.error) == (status, error)


def test_streams_are_apart_and_whole(page: Session):
    end = page.run_python("import sys\nprint('é' * 100_000)\nprint('no', end='', file=sys.stderr)")
    assert (end.stdout, end.stderr) == ("é" * 100_000 + "\n", "no")


def test_nothing_is_left_of_the_script_before(page: Session):
    assert page.run_python("mine = 1").ok
    assert "NameError" in page.run_python("mine").error


def test_input_is_at_its_end(page: Session):
    assert "EOFError" in page.run_python("input()").error


def test_a_file_may_be_given_anew(page: Session, tmp_path: Path):
    for text in ("one", "three"):
        (tmp_path / "f.txt").write_text(text)
        end = page.run_python("print(open('/files/f.txt').read())", files=[tmp_path / "f.txt"])
        assert end.stdout == text + "\n", end.error


def test_evaluate_gives_the_last_value(page: Session):
    code = "import asyncio\nawait asyncio.sleep(0)\n[len(data['x']), None, True]"
    assert page.evaluate_python(code, {"x": "a" * 5_000_000}) == [5_000_000, None, True]
    assert page.evaluate_python("x = 1") is None
    with pytest.raises(DriverError, match=r"(?s)line 2, in <module>.*ZeroDivisionError"):
        page.evaluate_python("x = 1\nx / 0")


def test_python_can_wait_without_await(page: Session):
    assert page.evaluate_python("from pyodide.ffi import can_run_sync\ncan_run_sync()")
