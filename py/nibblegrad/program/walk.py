"""A method's instructions, walked once: kernel calls, delegates, moves, jumps."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from math import prod
from typing import Any

from .. import ops
from ..core.errors import FormatError
from ..core.schema import Info
from ..io.flatbuffer import Span
from ..io.pte_tables import DelegateCall, Free, IntList, JumpFalse, Kernel, Move, Plan, TensorList
from ..io.pte_tables import Tensor as Declared
from ..tensor import Tensor, zeros
from .arguments import kind, whole
from .bindings import find, run
from .constants import Constants
from .delegate import Delegate
from .frame import Frame
from .host_ops import HOST, compute

READ = "aten::_local_scalar_dense"
STEPS, MOST = 1 << 14, 1 << 17  # a loop that goes on longer has lost its end
Numbers = dict[int, Any]  # what the host knows of tensors, by value


class Walker:
    """One method's instructions with what they need: constants, state, delegates."""

    def __init__(self, plan: Plan, delegates: list[Delegate]):
        self.plan, self.delegates = plan, delegates
        self.chain = [instruction for chain in plan.chains for instruction in chain]
        self.fixed: dict[int, Any] = {}
        self.state: dict[int, Tensor] = {}
        self._values = list(enumerate(plan.values))

    def names(self) -> Iterator[str]:
        """Operators that need a binding, the delegates' with them."""
        for step in self.chain:
            if isinstance(step, Kernel) and step.op not in HOST and step.op != READ:
                yield step.op
        for delegate in self.delegates:
            yield from delegate.names()

    def asked(self) -> set[int]:
        """Values that must be numbers on the host: conditions, positions."""
        found = set()
        for step in self.chain:
            if isinstance(step, JumpFalse):
                found.add(step.condition)
            elif isinstance(step, Kernel) and step.op == READ:
                found.add(step.args[0])
            elif isinstance(step, DelegateCall):
                found.update(step.args[at] for at in self.delegates[step.delegate].reads)
        return {i for i in found if isinstance(self.plan.values[i], Declared)}

    def moving(self) -> set[int]:
        """Of the asked, those that delegates only take as positions."""
        found, other = set(), set()
        for step in self.chain:
            if isinstance(step, DelegateCall):
                delegate = self.delegates[step.delegate]
                for at in delegate.reads:
                    (found if at in delegate.moving else other).add(step.args[at])
            elif isinstance(step, JumpFalse):
                other.add(step.condition)
            elif isinstance(step, Kernel) and step.op == READ:
                other.add(step.args[0])
            elif isinstance(step, Move):
                other.update((step.source, step.target))
        return found - other

    def spans(self) -> Iterator[Span]:
        """The parts of the file that are constants or first values."""
        for value in self.plan.values:
            if isinstance(value, Declared) and value.data is not None:
                yield value.data
        for delegate in self.delegates:
            yield from delegate.spans()

    async def load(self, constants: Constants) -> None:
        """Constants, and buffers: with their first values, or zeros where they start undefined."""
        for i, value in self._values:
            what = f"{self.plan.name} value {i}"
            if not isinstance(value, Declared):
                if not isinstance(value, (IntList, TensorList)):
                    self.fixed[i] = getattr(value, "items", value)
            elif value.data is not None:
                self.fixed[i] = await constants.load(value.data, value.dtype, value.shape, what)
        for i in self._written():
            info = self._info(i)
            if i in self.fixed:
                self.state[i] = ops.clone(self.fixed.pop(i))
            elif info:
                self.state[i] = zeros(info.shape, info.dtype)
        for delegate in self.delegates:
            await delegate.load(constants)

    def _written(self) -> set[int]:
        """Buffers: constants that something writes, and tensors read before anything wrote them."""
        made, found = set(self.plan.inputs), set()
        for step in self.chain:
            reads, writes = self._touched(step)
            found.update(i for i in reads if i not in made and not self._is_constant(i))
            found.update(i for i in writes if self._is_constant(i))
            made.update(writes)
        return {i for i in found if isinstance(self.plan.values[i], Declared)}

    def _is_constant(self, i: int) -> bool:
        value = self.plan.values[i]
        return isinstance(value, Declared) and value.data is not None

    def _touched(self, step: Any) -> tuple[list[int], list[int]]:
        if isinstance(step, Kernel):
            binding = find(step.op)
            at = binding.mutates if binding else ()
            mutated = [i for k, i in enumerate(step.inputs) if k in at]
            return self._flat(step.inputs), [*step.outputs, *mutated]
        if isinstance(step, DelegateCall):
            n = len(self.delegates[step.delegate].graph.inputs)
            return self._flat(step.args[:n]), list(step.args[n:])
        if isinstance(step, Move):
            return [step.source], [step.target]
        return [], []

    def _flat(self, ids: Any) -> list[int]:
        out: list[int] = []
        for i in ids:
            value = self.plan.values[i]
            lists = isinstance(value, (IntList, TensorList))
            out += [j for j in value.ids if j is not None] if lists else [i]
        return out

    def run(self, inputs: dict[int, Any], numbers: Numbers) -> Generator[Tensor, Any, list[Any]]:
        """Run it: yields each tensor whose numbers it must know, returns the outputs."""
        frame, numbers = Frame(self.fixed, self.state), dict(numbers)
        for i, x in inputs.items():
            frame.put(i, x)
        at = 0
        limit = self._limit()
        for _ in range(limit):
            if at >= len(self.chain):
                return [frame[i] for i in self.plan.outputs]
            step = self.chain[at]
            at += 1
            if isinstance(step, JumpFalse):
                if not (yield from self._number(frame, numbers, step.condition)):
                    at = step.to
            else:
                yield from self._step(step, frame, numbers)
        raise FormatError(f"pte {self.plan.name}: {limit} instructions, and no end of a loop")

    def _limit(self) -> int:
        """Steps at most: loops go over rows, and there are no more rows than elements."""
        sizes = [prod(v.shape) for v in self.plan.values if isinstance(v, Declared)]
        return min(max(STEPS, len(self.chain) * max(sizes, default=0)), MOST)

    def _step(self, step: Any, frame: Frame, numbers: Numbers) -> Generator[Tensor, Any, None]:
        if isinstance(step, Move):
            frame.put(step.target, frame[step.source])
            self._forget(numbers, (step.target,))
            if step.source in numbers:
                numbers[step.target] = numbers[step.source]
        elif isinstance(step, Kernel):
            yield from self._kernel(step, frame, numbers)
        elif isinstance(step, DelegateCall):
            yield from self._delegate(step, frame, numbers)
        else:
            assert isinstance(step, Free)  # what nothing refers to frees itself

    def _kernel(self, step: Kernel, frame: Frame, numbers: Numbers) -> Any:
        if step.op == READ:
            number = yield from self._number(frame, numbers, step.args[0])
            frame.put(step.outputs[0], number)
            return
        values = [self._value(frame, i) for i in step.inputs]
        if step.op in HOST:
            frame.put(step.outputs[0], compute(step.op, values))
            return
        binding = find(step.op)
        assert binding is not None  # load_pte has refused the others
        found = run(binding, values, [self._info(i) for i in step.outputs])
        frame.put_all(step.outputs, found, bool(binding.mutates))
        self._forget(numbers, step.outputs)

    def _delegate(self, step: DelegateCall, frame: Frame, numbers: Numbers) -> Any:
        delegate = self.delegates[step.delegate]
        n = len(delegate.graph.inputs)
        inputs = [frame[i] for i in step.args[:n]]
        for at in delegate.reads:
            known = yield from self._number(frame, numbers, step.args[at], whole_list=True)
            inputs[at] = (inputs[at], known)
        outs = step.args[n:]
        frame.put_all(outs, delegate(inputs, len(outs)), False)
        self._forget(numbers, outs)

    def _number(self, frame: Frame, numbers: Numbers, i: int, whole_list: bool = False) -> Any:
        """A value's number on the host; a tensor's is asked for, once."""
        found = frame[i]
        if isinstance(found, Tensor):
            if i not in numbers:
                numbers[i] = yield found
            found = numbers[i]
        while isinstance(found, list) and not whole_list:
            if len(found) != 1:
                raise FormatError(f"value {i}: one number is needed, got {len(found)}")
            found = found[0]
        return found

    def _forget(self, numbers: Numbers, ids: Any) -> None:
        for i in ids:
            numbers.pop(i, None)

    def _value(self, frame: Frame, i: int) -> Any:
        value = self.plan.values[i]
        if isinstance(value, IntList):
            return [whole(frame[j]) for j in value.ids]
        if isinstance(value, TensorList):
            return [None if j is None else frame[j] for j in value.ids]
        return frame[i]

    def _info(self, i: int) -> Info | None:
        value = self.plan.values[i]
        if isinstance(value, Declared):
            return Info(value.shape, kind(value.dtype, f"value {i}"))
        return None
