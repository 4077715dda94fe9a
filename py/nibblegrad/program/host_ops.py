"""Whole numbers and truth values that a program computes on the host: sizes, positions, loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import ceil, prod, trunc
from typing import Any

from ..core.errors import FormatError
from ..tensor import Tensor


def _size(x: Tensor, dim: int) -> int:
    n = len(x.shape)
    if not -n <= dim < n:
        raise FormatError(f"dim must be in {-n} .. {n - 1}, got dim={dim}")
    return x.shape[dim]


_SYMBOLS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg, "eq": operator.eq,
    "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "sym_max": max, "sym_min": min, "sym_not": operator.not_, "sym_float": float, "ceil": ceil,
    "round": round, "trunc": trunc,
}  # fmt: skip
HOST: dict[str, Callable[..., Any]] = {
    **_SYMBOLS,
    **{f"executorch_prim::{name}.Scalar": f for name, f in _SYMBOLS.items()},
    "sym_size.int": _size,
    "aten::sym_size.int": _size,
    "sym_numel": lambda x: prod(x.shape),
    "aten::sym_numel": lambda x: prod(x.shape),
}
LIMIT = 2**31


def compute(name: str, values: list[Any]) -> Any:
    """The result, on Python's numbers; FormatError for what has none."""
    of_tensor = name.rpartition(":")[2].startswith(("sym_size", "sym_numel"))
    numbers = values[1:] if of_tensor and isinstance(values[0], Tensor) else values
    if not all(isinstance(v, (bool, int, float)) for v in numbers):
        raise FormatError(f"{name}: numbers are needed, got {values!s:.60}")
    # an integral float is a whole number: scalars are shared by Python's equality
    given = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]
    try:
        found = HOST[name](*given)
    except (TypeError, ArithmeticError, AttributeError, ValueError) as error:
        raise FormatError(f"{name}: {error}") from None
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None
    if not -LIMIT <= found < LIMIT:
        raise FormatError(f"{name}: {found} does not fit into 32 bits")
    return found
