"""build.py conformance less its browser: the rule, the options, and a page that gets lost."""

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from driver import cli, conformance, program, programs, upstream, verdicts
from driver.agree import agree
from driver.programs import Answer, Job, Runner
from driver.say import DriverError, Mistake

F = np.float32
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("got", "want", "passed"), [
    ([1.0009], [1.0], True), ([0.0009], [0.0], True),  # either bound is enough
    ([1000.9], [1000.0], True), ([1002.0], [1000.0], False), ([0.002], [0.0], False),
    ([1e-9], [0.0], True), ([1.0, 2.0], [1.0, 2.1], False),
    ([NAN], [1.0], False), ([1.0], [NAN], False), ([NAN], [NAN], False), ([INF], [1.0], False),
    ([], [], True),
])  # fmt: skip
def test_a_float_agrees_by_either_bound(got: list, want: list, passed: bool):
    assert agree(np.array(got, F), np.array(want, F)).passed == passed


def test_what_is_not_a_float_agrees_only_if_equal():
    one, two = np.array([1, 2], np.int32), np.array([1, 3])
    assert agree(one, one.astype(np.int64)).passed
    assert agree(one, two).why == "1 of 2 differ, most [1]: 2, not 3"
    assert not agree(np.array([True]), np.array([False])).passed
    assert agree(np.array([1.0], F), np.array([1])).why == "dtype is float32, where int64 is wanted"
    assert not agree(np.array(2), np.array(2.0, F)).passed


def test_zero_tolerance_wants_the_same_number():
    x = np.array([1.0, -3.5], F)
    assert agree(x, x, 0, 0).passed
    assert not agree(x, np.nextafter(x, 9, dtype=F), 0, 0).passed


def test_a_shape_must_be_the_same():
    assert agree(np.zeros((2, 1), F), np.zeros(2, F)).why == "shape is [2, 1], not [2]"


def test_own_programs_may_give_nan_where_torch_does():
    x = np.array([NAN, INF, -INF, 1], F)
    assert agree(x, x, nan=True).passed
    assert not agree(x, np.array([NAN, INF, INF, 1], F), nan=True).passed


ROWS = [{"op": op, "case": case} for op in ("add", "mul") for case in ("a", "b")]


def test_only_takes_ops_and_cases():
    assert conformance.chosen(ROWS, []) == ROWS
    assert conformance.chosen(ROWS, ["mul", "add/b"]) == [ROWS[1], *ROWS[2:]]
    with pytest.raises(Mistake, match="upstream has no add/c, sub; --list tells all"):
        conformance.chosen(ROWS, ["add/c", "add", "sub"])


def options(*argv: str) -> Namespace:
    found = cli.parse(["conformance", *argv])
    assert found is not None
    return found


@pytest.mark.parametrize(("argv", "message"), [
    (["--inputs", "x.npz"], "--inputs and --out are for a --program; name one"),
    (["--program", "x.pte"], "--program needs --inputs FILE.npz"),
    (["--program", "x.pte", "--only", "add"], "--only and --list choose upstream's cases"),
    (["--record", "--only", "add"], "--record keeps a whole run"),
    (["--program", "no.pte", "--inputs", "no.npz"], "no.pte is not a file"),
])  # fmt: skip
def test_refuses(argv: list[str], message: str):
    with pytest.raises(Mistake, match=message):
        conformance.check(options(*argv))


def test_calls_of_an_npz(tmp_path: Path):
    path = tmp_path / "x.npz"
    np.savez(path, **{"in/0": 1, "in/1": 2, "out/0": 3})
    names, inputs, wanted = program.calls(path)
    assert (names, inputs, wanted) == ([""], [("forward", [1, 2])], [[3]])
    np.savez(path, **{f"m/{i}/in/0": i for i in (10, 9)}, **{"m/9/out/0": 5})
    names, inputs, wanted = program.calls(path)
    assert names == ["m/9/", "m/10/"]
    assert (inputs, wanted) == ([("m", [9]), ("m", [10])], [[5], []])
    for key in ("x", "in/1"):
        np.savez(path, **{key: 1})
        with pytest.raises(Mistake, match=key if key == "x" else r"in/ \[1\]; number them from 0"):
            program.calls(path)


def test_inputs_have_32_bits():
    assert programs.narrowed(np.array([1, -2])).dtype == np.int32
    assert programs.narrowed(np.array(0.5)).dtype == F
    with pytest.raises(Mistake, match="more than 32 bits"):
        programs.narrowed(np.array([1 << 40]))
    with pytest.raises(Mistake, match="dtype complex64"):
        programs.narrowed(np.array([1j], np.complex64))


def test_a_verdict_takes_every_output():
    good, bad = np.zeros(2, F), np.ones(2, F)
    row = conformance.verdict(Answer([[good, bad]]), [[good, good]], 1e-3, 1e-3)
    assert (row["passed"], row["why"]) == (False, "2 of 2 differ, most [0]: 1, not 0")
    assert not conformance.verdict(Answer([[good]]), [[good, good]], 1, 1)["passed"]
    assert not conformance.verdict(Answer([[good]]), [[]], 1, 1)["passed"]
    assert conformance.verdict(Answer([[good]]), [[good]], 0, 0)["passed"]
    assert conformance.verdict(Answer([], error="no"), [[good]], 1, 1)["why"] == "no"


class Page:
    """A session where some programs break everything and some refuse."""

    opened = 0

    def __init__(self):
        Page.opened += 1
        self.files: dict[str, Path] = {}

    def add_file(self, path: Path, name: str | None = None) -> str:
        self.files[name or path.name] = path
        return f"/files/{name or path.name}"

    def evaluate_python(self, code: str, cases: list[dict], seconds: float) -> list[dict]:
        names = [self.files[case["pte"].split("/")[-1]].stem for case in cases]
        if "breaks" in names:
            raise DriverError("page: lost")
        self.names = names
        assert seconds > 0
        compile(code, "page", "exec", flags=0x2000)  # PyCF_ALLOW_TOP_LEVEL_AWAIT
        out = {"outs": [[{"shape": [2], "dtype": "f32"}]], "load_s": 0, "run_s": 0}
        return [{"error": "refused"} if name == "refuses" else out for name in names]

    def save_out(self, folder: Path) -> None:
        """The program's answer is its input."""
        folder.mkdir(exist_ok=True)
        for i in range(len(self.names)):
            (folder / f"{i}.bin").write_bytes(self.files[f"{i}.bin"].read_bytes())

    def clear_out(self) -> None: ...

    def close(self) -> None: ...


def test_one_broken_case_costs_only_itself():
    names = ["a", "refuses", "breaks", "b"]
    jobs = [Job(name, Path(f"{name}.pte"), [("forward", [np.array([i, 1], F)])])
            for i, name in enumerate(names)]  # fmt: skip
    Page.opened = 0
    with Runner(Page) as runner:
        found = {job.name: answer for job, answer in runner.run(jobs)}
    assert [found[name].error for name in names] == ["", "refused", "page: lost", ""]
    np.testing.assert_array_equal(found["b"].outs[0][0], np.array([3, 1], F))
    assert Page.opened == 3


def test_groups_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(programs, "TOGETHER_BYTES", 20)
    jobs = [Job("x", Path("x"), [("forward", [np.zeros(n, F)])]) for n in (1, 2, 9, 3, 3)]
    assert [len(group) for group in programs.together(jobs)] == [2, 1, 1, 1]


def test_the_generator_is_watched(tmp_path: Path):
    script = tmp_path / "made.py"
    script.write_text("print('1 2 add__a 0.5 s ')\nprint('2 2 add__b 0.1 s ValueError: no, no')\n")
    told = []
    found = dict(upstream._watch(["python3", script], lambda *one: told.append(one)))
    assert found == {"add__b": "ValueError: no, no"}
    assert told == [(1, 2, "add__a"), (2, 2, "add__b")]
    script.write_text("raise SystemExit('why')")
    with pytest.raises(DriverError, match=r"ended with 1\n    why"):
        dict(upstream._watch(["python3", script], lambda *_: None))


def test_the_table_names_what_failed(capsys):
    good = {"passed": True, "error": 1e-5, "share": 0.01, "why": ""}
    bad = {"passed": False, "error": None, "share": None, "why": "no such operator"}
    rows = [ROWS[0] | good, ROWS[1] | good | {"error": 2e-5}, ROWS[2] | bad]
    totals = {"suites": 2, "cases": 3, "passed": 2, "failed": 1, "adapter": {"description": "g"}}
    verdicts.table(totals, rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["add", "2", "2", "2e-05", "0.01"]
    assert lines[3].split() == ["mul", "1", "0", "-", "-", "<-", "fails"]
    assert lines[-2:] == [
        "failed  mul/a: no such operator", "2 suites, 3 cases: 2 passed, 1 failed, 0 skipped"
    ]  # fmt: skip
