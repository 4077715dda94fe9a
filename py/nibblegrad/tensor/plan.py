"""A plan: ordinary eager code, recorded once, replayed by one call."""

from __future__ import annotations

from typing import Any

from ..core.errors import PlanError
from ..core.launch import Sym
from .tensor import default_device


class Plan:
    """What was recorded between `with record(...)`'s lines. Inputs and outputs are the tensors
    used there: write to them, replay, read them."""

    def __init__(self, dev: Any, step: dict[str, str]):
        self.device, self._kinds = dev, step
        self._recording: Any = None
        self._plan: Any = None

    def __enter__(self) -> Plan:
        self._recording = self.device.begin(self._kinds)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        plan = self.device.end()
        if kind is None:
            self._plan = plan
        else:
            self.device.drop(plan)

    def __getitem__(self, name: str) -> Sym:
        """The symbol of a step value, to be given to ops in place of a number."""
        try:
            return self._recording.step[name]
        except KeyError:
            known = ", ".join(self._kinds) or "none"
            raise PlanError(f"plan: there is no step value '{name}'; recorded: {known}") from None

    def replay(self, **values: float) -> None:
        """Run it, with a value for each step symbol."""
        if self._plan is None:
            raise PlanError("plan: replay before the recording ended")
        self.device.replay(self._plan, values)

    def drop(self) -> None:
        """Forget what was recorded: its scratch and bind groups go."""
        if self._plan is not None:
            self.device.drop(self._plan)
            self._plan = None

    def __str__(self) -> str:
        return str(self._plan)

    def __len__(self) -> int:
        return len(str(self._plan).splitlines())


def record(dev: Any = None, **step: str) -> Plan:
    """Record a plan: `with record(pos="i", lr="f") as plan:`; ops inside are kept, not run."""
    return Plan(dev or default_device(), step)
