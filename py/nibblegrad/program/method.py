"""One method: recorded once for each shape of its inputs, replayed from then on."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

from .. import ops
from ..core.errors import DTypeError, FormatError, ShapeError
from ..io.pte_tables import Tensor as Declared
from ..tensor import Plan, Tensor, no_grad, record
from ..tensor.tensor import default_device
from .arguments import Position, check, flat, like, whole
from .inputs import Given, given, plain
from .walk import Walker

KEPT = 8  # plans of different shapes kept at once
MOVING = 8  # positions of one input at most: a plan's step block is small


class _Asks(Exception):
    """A walk that is being recorded needs a number from the device: it cannot be recorded."""


@dataclass
class Recorded:
    """A plan, the tensors it reads and gives, and the positions that move from replay to replay."""

    plan: Plan
    inputs: list[Tensor]
    outs: list[Any]
    positions: dict[int, list[Position]]

    def steps(self, i: int, numbers: Any) -> Iterator[tuple[Position, int]]:
        """The positions of input i with their numbers; ShapeError for one that goes too far."""
        for position, n in zip(self.positions[i], map(whole, flat(numbers)), strict=True):
            check(n, min(position.limits, default=n))
            yield position, n


class Method:
    """Call it: `outs = await method(*inputs)`."""

    def __init__(self, walker: Walker):
        self.walker, self.plan, self.name = walker, walker.plan, walker.plan.name
        self.asked = walker.asked() & set(self.plan.inputs)
        self.moving = {i for i in walker.moving() & self.asked if self._small(i)}
        self.recorded: dict[Any, Recorded] = {}
        self.eager: set[Any] = set()  # shapes that no plan serves

    async def __call__(self, *inputs: Any) -> list[Any]:
        """The outputs: tensors of their own (i32 where the program says int64), or numbers."""
        wanted = self.plan.inputs
        if len(inputs) != len(wanted):
            raise FormatError(f"{self.name}: takes {len(wanted)} inputs, got {len(inputs)}")
        values: dict[int, Any] = {}
        for at, (i, x) in enumerate(zip(wanted, inputs, strict=True)):
            who, declared = f"{self.name}: input {at}", self.plan.values[i]
            is_tensor = isinstance(declared, Declared)
            values[i] = given(x, declared, who) if is_tensor else plain(x, who)
        numbers = {i: await values[i].numbers() for i in self.asked}
        with no_grad():
            return await self._run(values, numbers)

    async def _run(self, values: dict[int, Any], numbers: dict[int, Any]) -> list[Any]:
        key = self._key(values, numbers)
        if key not in self.eager and key not in self.recorded:
            self._record(key, values, numbers)
        if key in self.eager:
            placed = {i: v.place() if isinstance(v, Given) else v for i, v in values.items()}
            with self._blamed(values):
                return [_own(x) for x in await _answered(self.walker.run(placed, numbers))]
        found = self.recorded[key] = self.recorded.pop(key)  # the latest comes last
        steps = {p.name: n for i in self.moving for p, n in found.steps(i, numbers[i])}
        for v, x in zip((v for v in values.values() if isinstance(v, Given)), found.inputs,
                        strict=True):  # fmt: skip
            v.fill(x)
        found.plan.replay(**steps)
        return [_own(x) for x in found.outs]

    def _small(self, i: int) -> bool:
        value = self.plan.values[i]
        return isinstance(value, Declared) and prod(value.shape) <= MOVING

    def _key(self, values: dict[int, Any], numbers: dict[int, Any]) -> Any:
        shapes = tuple(v.shape if isinstance(v, Given) else v for v in values.values())
        return shapes, tuple(str(numbers[i]) for i in sorted(self.asked - self.moving))

    def _record(self, key: Any, values: dict[int, Any], numbers: dict[int, Any]) -> None:
        placed = {i: v.place() if isinstance(v, Given) else v for i, v in values.items()}
        names = {i: [f"v{i}_{j}" for j in range(len(flat(numbers[i])))] for i in self.moving}
        plan = record(default_device(), **{n: "i" for some in names.values() for n in some})
        positions: dict[int, list[Position]] = {}
        try:
            with self._blamed(values), plan:
                for i, some in names.items():
                    positions[i] = [Position(n, plan[n].slot, "i") for n in some]
                known = {**numbers, **{i: like(numbers[i], p) for i, p in positions.items()}}
                outs = _finished(self.walker.run(placed, known))
        except _Asks:
            self.eager.add(key)
            return
        while len(self.recorded) >= KEPT:
            self.recorded.pop(next(iter(self.recorded))).plan.drop()
        inputs = [x for x in placed.values() if isinstance(x, Tensor)]
        self.recorded[key] = Recorded(plan, inputs, outs, positions)

    @contextmanager
    def _blamed(self, values: dict[int, Any]) -> Iterator[None]:
        """Inputs as large as they are declared, of whose numbers the host needs none but positions,
        fit together: what the program cannot do with them is its own fault, a FormatError."""
        try:
            yield
        except (DTypeError, ShapeError) as error:
            full = (
                isinstance(v, Given) and v.shape == getattr(self.plan.values[i], "shape", None)
                for i, v in values.items()
            )
            if self.asked <= self.moving and all(full):
                raise FormatError(f"pte {self.name}: {error}") from None
            raise

    def __str__(self) -> str:
        rows = [f"{self.name}:"]
        for what, ids in (("input", self.plan.inputs), ("output", self.plan.outputs)):
            rows += [f"  {what} {at}: {self._shown(i)}" for at, i in enumerate(ids)]
        states = [self.walker.state, *(d.state for d in self.walker.delegates)]
        rows += [f"  state: {t.dtype}{list(t.shape)}" for s in states for t in s.values()]
        counts: dict[str, int] = {}
        for name in self.walker.names():
            counts[name] = counts.get(name, 0) + 1
        return "\n".join([*rows, *(f"  {c:4} {n}" for n, c in sorted(counts.items()))])

    def _shown(self, i: int) -> str:
        value = self.plan.values[i]
        if not isinstance(value, Declared):
            return f"{type(value).__name__}"
        bound = "" if value.dynamism == "static" else " at most"
        return f"{value.dtype}{bound} {list(value.shape)}"


def _own(x: Any) -> Any:
    """A tensor whose bytes nothing will write again."""
    return ops.clone(x) if isinstance(x, Tensor) else x


def _finished(walk: Generator[Tensor, Any, list[Any]]) -> list[Any]:
    try:
        next(walk)
    except StopIteration as end:
        return end.value
    raise _Asks


async def _answered(walk: Generator[Tensor, Any, list[Any]]) -> list[Any]:
    """Run eagerly, with each number that is asked for read back."""
    try:
        asked = next(walk)
        while True:
            asked = walk.send(await asked.tolist())
    except StopIteration as end:
        return end.value
