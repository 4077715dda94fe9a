"""Values between Python and bytes: nested lists, array codes, numpy's names. No device here."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from math import prod
from typing import Any

from ..core.dtype import DType, Shape, bool_, f32, i32
from ..core.errors import DTypeError, ShapeError

CODES = {"f32": "f", "i32": "i", "u32": "I", "u8": "B", "i8": "b", "bool": "B"}
NUMPY = {"f32": "float32", "i32": "int32", "u32": "uint32", "u8": "uint8", "i8": "int8",
          "bool": "bool"}  # fmt: skip
NARROW = {"float64": "float32", "int64": "int32", "float16": "float32"}


def kind_of(flat: list[Any]) -> DType:
    kinds = {type(v) for v in flat}
    return bool_ if kinds == {bool} else i32 if kinds and kinds <= {int, bool} else f32


def numpy_type(kind: DType) -> str:
    if kind.name not in NUMPY:
        raise DTypeError(f"numpy: {kind} is a storage format; numpy has no such dtype")
    return NUMPY[kind.name]


def code(kind: DType) -> str:
    if kind.name not in CODES:
        raise DTypeError(f"tolist: {kind} is a storage format; read it with tobytes()")
    return CODES[kind.name]


def shape_of(data: Any) -> Shape:
    if not isinstance(data, (list, tuple, array)):
        return ()
    return (len(data), *(shape_of(data[0]) if len(data) else ()))


def flatten(data: Any, shape: Shape) -> Iterable[Any]:
    if not shape:
        if isinstance(data, (list, tuple)):
            raise ShapeError("tensor: the nested lists are ragged")
        yield data
        return
    if not isinstance(data, (list, tuple, array)) or len(data) != shape[0]:
        raise ShapeError("tensor: the nested lists are ragged")
    for item in data:
        yield from flatten(item, shape[1:])


def values(flat: array[Any], kind: DType) -> list[Any]:
    return [v != 0 for v in flat] if kind is bool_ else flat.tolist()


def nest(flat: list[Any], shape: Shape) -> Any:
    if not shape:
        return flat[0]
    for n in reversed(shape[1:]):
        flat = [flat[i * n : (i + 1) * n] for i in range(len(flat) // n if n else prod(shape[:-1]))]
    return flat
