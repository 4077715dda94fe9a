"""Runs ExecuTorch programs in the page, many at once, each answered for itself."""

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .say import DriverError, Mistake
from .session import Session

PAGE = Path(__file__).with_name("program_page.py")
TOGETHER, TOGETHER_BYTES = 24, 64 << 20  # of one call to the page
PATIENCE = 300  # seconds for a case
NAMES = {"float32": "f32", "int32": "i32", "uint8": "u8", "int8": "i8", "bool": "bool"}
NARROW = {"float64": "float32", "float16": "float32", "int64": "int32"}
KINDS = {name: numpy for numpy, name in NAMES.items()} | {"u32": "uint32"}


@dataclasses.dataclass(frozen=True)
class Job:
    """A program and its calls, in order: (method, inputs)."""

    name: str
    program: Path
    calls: list[tuple[str, list[Any]]]

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for _, inputs in self.calls for x in inputs)


@dataclasses.dataclass(frozen=True)
class Answer:
    """The outputs of each call, or what went wrong."""

    outs: list[list[Any]]
    load_s: float = 0.0
    run_s: float = 0.0
    error: str = ""


def narrowed(x: Any, what: str = "input") -> Any:
    """As a page holds it: a GPU has no 64 bits."""
    kind = NARROW.get(x.dtype.name, x.dtype.name)
    if kind not in NAMES:
        known = ", ".join([*NAMES, *NARROW])
        raise Mistake(f"conformance: {what} is of dtype {x.dtype}; possible: {known}")
    small = np.ascontiguousarray(x.astype(kind)).reshape(x.shape)
    if x.dtype.kind == "i" and not np.array_equal(small, x):
        raise Mistake(f"conformance: {what} holds integers that need more than 32 bits")
    return small


def written(job: Job, data: Path) -> list[dict[str, Any]]:
    """Puts all inputs into one file; the page's list of what they are."""
    runs = []
    with data.open("wb") as file:
        for method, inputs in job.calls:
            arrays = [narrowed(x) for x in inputs]
            about = [{"shape": x.shape, "dtype": NAMES[x.dtype.name]} for x in arrays]
            runs.append({"method": method, "inputs": about})
            for x in arrays:
                file.write(x.tobytes())
    return runs


def read(answer: dict[str, Any], out: Path) -> Answer:
    """The page's answer with its outputs' bytes."""
    if "error" in answer:
        return Answer([], error=answer["error"])
    calls = []
    with out.open("rb") as file:
        for about in answer["outs"]:
            calls.append([_array(file, each) for each in about])
    return Answer(calls, answer["load_s"], answer["run_s"])


def _array(file: Any, about: dict[str, Any]) -> Any:
    if about["dtype"] == "value":
        return np.asarray(about["value"])
    if about["dtype"] not in KINDS:
        raise DriverError(f"conformance: an output is of dtype {about['dtype']}, read by none")
    kind, shape = np.dtype(KINDS[about["dtype"]]), about["shape"]
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(file.read(count * kind.itemsize), kind).reshape(shape)


class Runner:
    """Use as a context manager. A page that is lost is opened anew, without what lost it."""

    def __init__(self, open_session: Callable[[], Session], close: bool = True):
        self._open_session, self._close = open_session, close
        self._session: Session | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Runner":
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self.session()
        return self

    def __exit__(self, *_: object) -> None:
        self._drop()
        self._stack.close()

    def session(self) -> Session:
        """The open page."""
        if self._session is None:
            self._session = self._open_session()
        return self._session

    def adapter(self) -> dict[str, Any]:
        """What the page computes on."""
        code = "import nibblegrad as ng\n(await ng.device('webgpu')).info"
        return self.session().evaluate_python(code)

    def run(self, jobs: list[Job]) -> Iterator[tuple[Job, Answer]]:
        """Each job's answer, in order."""
        for group in together(jobs):
            try:
                answers = self._group(group)
            except DriverError as problem:
                self._drop()
                answers = self._alone(group, problem)
            yield from zip(group, answers, strict=True)

    def _alone(self, group: list[Job], problem: DriverError) -> Iterator[Answer]:
        """One of them broke the page: find which."""
        if len(group) == 1:
            yield Answer([], error=str(problem))
            return
        for job in group:
            try:
                yield from self._group([job])
            except DriverError as own:
                self._drop()
                yield Answer([], error=str(own))

    def _group(self, group: list[Job]) -> list[Answer]:
        session, cases = self.session(), []
        for i, job in enumerate(group):
            data = self._folder / f"{i}.bin"
            runs = written(job, data)
            case = {"pte": session.add_file(job.program, f"{i}.pte"), "runs": runs}
            cases.append(case | {"data": session.add_file(data), "out": f"/out/{i}.bin"})
        code = PAGE.read_text(encoding="utf-8") + "\nawait run_cases(data)\n"
        answers = session.evaluate_python(code, cases, PATIENCE * len(group))
        out = self._folder / "out"
        session.save_out(out)
        session.clear_out()
        return [read(answer, out / f"{i}.bin") for i, answer in enumerate(answers)]

    def _drop(self) -> None:
        if self._session and self._close:
            self._session.close()
        self._session = None


def together(jobs: list[Job]) -> Iterator[list[Job]]:
    """Groups that one call takes."""
    group: list[Job] = []
    for job in jobs:
        full = len(group) == TOGETHER or sum(j.nbytes for j in group) + job.nbytes > TOGETHER_BYTES
        if group and full:
            yield group
            group = []
        group.append(job)
    if group:
        yield group
