"""One run's values by their ids, over those that stay: constants, and state written in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..core.errors import FormatError
from ..tensor import Tensor


class Frame:
    """Reading gives what was last put; putting into state writes over it."""

    def __init__(self, fixed: dict[int, Any], state: dict[int, Tensor]):
        self.values, self.state = {**fixed, **state}, state
        self._kept = {id(t._view.storage) for t in state.values()}

    def __getitem__(self, i: int) -> Any:
        if i not in self.values:
            raise FormatError(f"value {i} is read before anything has written it")
        return self.values[i]

    def put(self, i: int, x: Any) -> None:
        """Value i becomes x."""
        mine = self.state.get(i)
        if mine is not None and not isinstance(x, Tensor):
            raise FormatError(f"value {i} is a buffer, and becomes a {type(x).__name__}")
        if mine is None or x._view.storage is mine._view.storage:
            self.values[i] = x
        else:
            ops.assign(mine, x)
            if x.shape != mine.shape:  # a part of it, from its first element on
                self.values[i] = Tensor(type(x._view)(mine._view.storage, 0, x._view.info))

    def put_all(self, ids: Iterable[int], found: Iterable[Any], in_place: bool) -> None:
        """Results of a call. What only looks at state is copied: the state may change later."""
        for i, x in zip(ids, found, strict=False):
            if not in_place and isinstance(x, Tensor) and id(x._view.storage) in self._kept:
                mine = self.state.get(i)
                if mine is None or mine._view.storage is not x._view.storage:
                    x = ops.clone(x)
            self.put(i, x)
