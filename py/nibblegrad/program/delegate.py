"""A Vulkan delegate's graph: its constants, its state, its calls in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import ops
from ..core.errors import FormatError
from ..core.launch import Sym
from ..core.schema import Info
from ..io.flatbuffer import Span
from ..io.vkgraph_tables import Call, Graph, SymInt, ValueList
from ..io.vkgraph_tables import Tensor as Declared
from ..tensor import Tensor
from .arguments import flat, kind, whole
from .bindings import Binding, find, run
from .constants import Constants
from .frame import Frame
from .host_ops import HOST, compute

PREPACK, POSITION = "et_vk.prepack.default", "et_vk.select_as_symint.default"


@dataclass
class Step:
    """One call, bound."""

    call: Call
    binding: Binding | None
    declared: list[Info | None]


class Delegate:
    """One graph of a program."""

    def __init__(self, graph: Graph, who: str):
        self.graph, self.who = graph, who
        self.steps = [Step(c, find(c.name), self._declared(c)) for c in graph.chain]
        self.fixed: dict[int, Any] = {}
        self.state: dict[int, Tensor] = {}
        asked = {s.call.args[0] for s in self.steps if s.call.name == POSITION}
        # inputs of which the host needs the numbers
        self.reads = {
            at
            for at, i in enumerate(graph.inputs)
            if i in asked or isinstance(graph.values[i], SymInt)
        }
        if lost := sorted(asked - set(graph.inputs)):
            raise FormatError(f"{who}: value {lost[0]} is read as a number, but is no input")
        # of these, those that are nothing but positions, which a plan takes as step symbols
        self.moving = {at for at in self.reads if self._only_moves(graph.inputs[at])}
        self.carried: dict[int, int] = {}  # output: the state that it is the next value of

    def _only_moves(self, i: int) -> bool:
        found = {i} if isinstance(self.graph.values[i], SymInt) else set()
        found |= {
            s.call.outputs[0] for s in self.steps if s.call.name == POSITION and i in s.call.args
        }
        for step in self.steps:
            for at, arg in enumerate(step.call.args):
                if found & set(self.graph.flat((arg,))) and step.call.name != POSITION:
                    kinds = step.binding.kinds if step.binding else ()
                    # what is dropped, like a length that q's shape tells as well, may move too
                    if kinds[at : at + 1] not in (("@i",), ("-",)):
                        return False
        return not found & set(self.graph.outputs)

    def names(self) -> list[str]:
        """Operators that need a binding."""
        return [c.name for c in self.graph.chain if c.name not in HOST and c.name != POSITION]

    def _declared(self, call: Call) -> list[Info | None]:
        found = [self.graph.values[i] for i in call.outputs]
        return [
            Info(v.shape, kind(v.dtype, self.who)) if isinstance(v, Declared) else None
            for v in found
        ]

    def spans(self) -> Iterator[Span]:
        """The parts of the file that its constants are."""
        for value in self.graph.values:
            if isinstance(value, Declared) and value.constant is not None:
                yield self.graph.constants[value.constant].data

    async def load(self, constants: Constants) -> None:
        """Constants to the device; what is written in place gets bytes of its own."""
        values, written = self.graph.values, self._written()
        for i, value in enumerate(values):
            if isinstance(value, Declared) and value.constant is not None:
                span = self.graph.constants[value.constant].data
                what = f"{self.who} value {i}"
                self.fixed[i] = await constants.load(span, value.dtype, value.shape, what)
            elif not isinstance(value, (Declared, SymInt, ValueList)):
                self.fixed[i] = getattr(value, "items", value)
        for step in self.steps:
            if step.call.name == PREPACK:
                if step.call.args[0] not in self.fixed:
                    raise FormatError(f"{self.who}: {PREPACK} of what is no constant")
                self.fixed[step.call.outputs[0]] = self.fixed[step.call.args[0]]
        for i in sorted(written & self.fixed.keys()):
            if not isinstance(self.fixed[i], Tensor):
                raise FormatError(f"{self.who}: value {i} is written, but is no tensor")
            self.state[i] = ops.clone(self.fixed.pop(i))
        self.steps = [s for s in self.steps if s.call.name != PREPACK]

    def _written(self) -> set[int]:
        """Values that a call changes: arguments written in place, results in the place of one."""
        found = set(self.carried.values())
        for step in self.steps:
            if step.call.name != PREPACK:
                found.update(step.call.outputs)
            if step.binding:
                at = step.binding.mutates
                found.update(i for k, i in enumerate(step.call.args) if k in at)
        return found

    def carry(self, n_outputs: int) -> None:
        """Outputs that the program has no value for are the next values of buffers: of which one
        each is, nothing says, so it must be the only constant of its shape that it is made of."""
        if n_outputs < 0:
            n = len(self.graph.inputs)
            raise FormatError(f"{self.who}: takes {n} inputs, got {n + n_outputs}")
        extra = len(self.graph.outputs) - n_outputs
        if extra < 0:
            raise FormatError(f"{self.who}: {n_outputs} results are asked of {n_outputs + extra}")
        for out in self.graph.outputs[:extra]:
            behind = self._constants_behind(out)
            if out in behind:  # already in its place
                continue
            if len(behind) != 1:
                raise FormatError(
                    f"{self.who}: result {out} is the next value of a buffer, and {len(behind)}"
                    " could be it; export with alias_buffer_mutations"
                )
            self.carried[out] = behind.pop()

    def _constants_behind(self, out: int) -> set[int]:
        """Prepacked constants with out's shape and dtype that its value depends on."""
        values = self.graph.values
        packed = {s.call.outputs[0] for s in self.steps if s.call.name == PREPACK}
        seen, wanted = {out}, values[out]
        for step in reversed(self.steps):
            if seen & set(step.call.outputs) and step.call.name != PREPACK:
                seen.update(self.graph.flat(step.call.args))
        same = {i for i in seen & packed if _alike(values[i], wanted)}
        return same

    def __call__(self, inputs: list[Any], n_outputs: int) -> list[Any]:
        """Run it. An input of `reads` is a pair: the tensor, and its numbers as nested lists."""
        graph = self.graph
        frame = Frame(self.fixed, self.state)
        numbers: dict[int, Any] = {}
        for at, (i, x) in enumerate(zip(graph.inputs, inputs, strict=True)):
            if at in self.reads:
                x, numbers[i] = x
            frame.put(i, flat(numbers[i])[0] if isinstance(graph.values[i], SymInt) else x)
        for step in self.steps:
            values = [self._value(frame, i) for i in step.call.args]
            outputs = step.call.outputs
            if step.call.name == POSITION:
                frame.put(outputs[0], _element(numbers[step.call.args[0]], *values[1:]))
            elif step.binding is None:
                frame.put(outputs[0], compute(step.call.name, values))
            else:
                found = run(step.binding, values, step.declared)
                frame.put_all(outputs, found, bool(step.binding.mutates))
        outs = [frame[i] for i in graph.outputs]
        for out, state in self.carried.items():
            frame.put(state, frame[out])
        return outs[len(outs) - n_outputs :]

    def _value(self, frame: Frame, i: int) -> Any:
        value = self.graph.values[i]
        return [frame[j] for j in value.ids] if isinstance(value, ValueList) else frame[i]


def _alike(a: Any, b: Any) -> bool:
    return isinstance(a, Declared) and (a.shape, a.dtype) == (b.shape, b.dtype)


def _element(numbers: Any, dim: Any, index: Any) -> int | Sym:
    """The only number along dim at index."""
    levels = numbers
    for _ in range(whole(dim)):
        levels = levels[0]
    try:
        return flat(levels[whole(index)] if isinstance(levels, list) else levels)[0]
    except IndexError:
        raise FormatError(f"{POSITION}: there is no number at {index} along {dim}") from None
