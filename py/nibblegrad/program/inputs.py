"""What a caller gives, as the device wants it: bytes for host data, tensors as they are."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from math import prod
from typing import Any

from .. import ops
from ..core.dtype import DType, Shape
from ..core.errors import DTypeError, ShapeError
from ..core.lazy import np
from ..io.pte_tables import Tensor as Declared
from ..tensor import Tensor
from ..tensor.tensor import empty
from ..tensor.values import code, flatten, nest, numpy_type, shape_of, values
from .arguments import NUMBERS, kind


@dataclass
class Given:
    """One input: its shape, and its bytes or the tensor that it is."""

    shape: Shape
    dtype: DType
    data: bytes | None
    tensor: Tensor | None

    def place(self) -> Tensor:
        """A tensor of its own."""
        return self.fill(empty(self.shape, self.dtype))

    def fill(self, x: Tensor) -> Tensor:
        """x with these elements."""
        if self.data is not None:
            return x.write_(self.data)
        return ops.assign(x, self.tensor) if prod(self.shape) else x

    async def numbers(self) -> Any:
        """Nested lists of what is in it."""
        if self.tensor is not None:
            return await self.tensor.tolist()
        flat = array(code(self.dtype))
        flat.frombytes(self.data or b"")
        return nest(values(flat, self.dtype), self.shape)


def given(value: Any, declared: Declared, who: str) -> Given:
    """An argument against what the program declares; ShapeError, DTypeError."""
    to = kind(declared.dtype, who)
    if isinstance(value, Tensor):
        if value.dtype is not to:
            raise DTypeError(f"{who} must be {to}, got {value.dtype}")
        found = Given(value.shape, to, None, value)
    elif hasattr(value, "__array_interface__"):
        found = Given(tuple(value.shape), to, _from_numpy(value, to, who), None)
    else:
        shape = shape_of(value)
        found = Given(shape, to, _packed(list(flatten(value, shape)), to, who), None)
    _check(found.shape, declared, who)
    return found


def plain(value: Any, who: str) -> Any:
    """A number where the program takes no tensor; DTypeError."""
    if not isinstance(value, NUMBERS):
        raise DTypeError(f"{who} must be a number, got {type(value).__name__}")
    return value


def _check(shape: Shape, declared: Declared, who: str) -> None:
    most = declared.shape
    fits = len(shape) == len(most) and all(n <= m for n, m in zip(shape, most, strict=True))
    if not fits or (declared.dynamism == "static" and shape != most):
        upto = "" if declared.dynamism == "static" else "at most "
        raise ShapeError(f"{who} must be {upto}{list(most)}, got {list(shape)}")


def _from_numpy(data: Any, to: DType, who: str) -> bytes:
    if {"b": 0, "u": 1, "i": 1}.get(data.dtype.kind, 2) > {"b": 0, "u": 1, "i": 1}.get(to.kind, 2):
        raise DTypeError(f"{who} must be {to}, got {data.dtype}")
    cast = np.asarray(data, numpy_type(to), order="C")
    if to.kind in "iu" and data.size and not np.array_equal(cast, data):
        raise DTypeError(f"{who}: a number does not fit into {to}")
    return cast.tobytes()


def _packed(flat: list[Any], to: DType, who: str) -> bytes:
    whole = all(isinstance(v, int) for v in flat)
    if to.kind != "f" and not whole:
        raise DTypeError(f"{who} must be {to}, got a number that is not whole")
    try:
        return array(code(to), flat).tobytes()
    except (OverflowError, TypeError) as error:
        raise DTypeError(f"{who} must be {to}: {error}") from None
