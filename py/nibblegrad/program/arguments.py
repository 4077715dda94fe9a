"""A call's arguments as ops take them. Programs share scalars by Python's equality, so a whole
number may come as a float, a float as an int, and either as a bool: all are read as meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from .. import ops
from ..core.dtype import DTYPES, DType
from ..core.errors import FormatError, ShapeError
from ..core.launch import Sym
from ..tensor import Tensor

RANK = {"b": 0, "i": 1, "u": 1, "f": 2}  # bool, whole, float: the higher decides
F32_MAX = (2 - 2**-23) * 2.0**127
NUMBERS = (bool, int, float)

# torch's dtypes here: no 64 bits on a GPU, and halves are computed with as f32
KINDS = {
    "bool": "bool", "uint8": "u8", "int8": "i8", "int16": "i32", "int32": "i32", "int64": "i32",
    "uint16": "i32", "uint32": "u32", "float16": "f32", "bfloat16": "f32", "float32": "f32",
    "float64": "f32",
}  # fmt: skip


def kind(dtype: str, what: str) -> DType:
    """The dtype that stands for torch's; FormatError if none does."""
    if dtype not in KINDS:
        raise FormatError(f"pte: {what} is {dtype}; supported: {' '.join(KINDS)}")
    return DTYPES[KINDS[dtype]]


def whole(value: Any) -> int:
    """A whole number, however it is stored."""
    if not isinstance(value, NUMBERS) or int(value) != value:
        raise FormatError(f"a whole number is needed, got {_shown(value)}")
    return int(value)


def number(value: Any) -> int | float:
    """A number; a bool is 0 or 1."""
    if not isinstance(value, NUMBERS):
        raise FormatError(f"a number is needed, got {_shown(value)}")
    if isinstance(value, float) and abs(value) > F32_MAX:
        return inf if value > 0 else -inf  # no bound at all is stored as f64's largest number
    return int(value) if isinstance(value, bool) else value


def real(value: Any) -> float:
    return float(number(value))


@dataclass(frozen=True)
class Position(Sym):
    """A step symbol that knows how far it may go: a recorded plan serves every position."""

    limits: list[int] = field(default_factory=list, compare=False)


def within(pos: int | Sym, rows: int, room: int) -> int | Sym:
    """pos, with `rows` rows from there on fitting into `room`; ShapeError if they do not."""
    if isinstance(pos, Position):
        pos.limits.append(room - rows)
    elif not isinstance(pos, Sym):
        check(pos, room - rows)
    return pos


def check(pos: int, most: int) -> None:
    if not 0 <= pos <= most:
        raise ShapeError(f"the position must be in 0 .. {most}, got {pos}")


def truth(value: Any) -> bool:
    return bool(number(value))


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise FormatError(f"a text is needed, got {_shown(value)}")
    return value


def tensor_of(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise FormatError(f"a tensor is needed, got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {value!s:.40}"


def _several(one: Any) -> Any:
    def read(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise FormatError(f"a list is needed, got {_shown(value)}")
        return [one(v) for v in value]

    return read


def _optional(one: Any) -> Any:
    return lambda value: None if value is None else one(value)


READ: dict[str, Any] = {"t": tensor_of, "i": whole, "n": number, "f": real, "b": truth, "s": text}
READ |= {f"{k}?": _optional(f) for k, f in READ.items()}
READ |= {f"{k}s": _several(f) for k, f in READ.items()}
READ |= {"is?": _optional(READ["is"]), "fs?": _optional(READ["fs"]), "!t": tensor_of}
READ["t?s"] = _several(READ["t?"])
READ["@i"] = lambda value: value if isinstance(value, Sym) else whole(value)
READ["p"] = READ["tn"] = lambda value: value


def decode(kinds: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """The values by their kinds: one of READ's names (`tn` is a tensor or a number, `p` those of a
    call brought to one dtype), `-` (dropped), a last `...` (all further ones dropped)."""
    rest = kinds[-1:] == ("...",)
    kinds = kinds[:-1] if rest else kinds
    if len(values) < len(kinds) or (len(values) > len(kinds) and not rest):
        raise FormatError(f"takes {len(kinds)} arguments, got {len(values)}")
    pairs = [(k, v) for k, v in zip(kinds, values, strict=False) if k != "-"]
    found = [READ[k](v) for k, v in pairs]
    if any(k == "p" for k, _ in pairs):
        at = [i for i, (k, _) in enumerate(pairs) if k == "p"]
        for i, v in zip(at, promote([found[i] for i in at]), strict=True):
            found[i] = v
    return found


def promote(values: list[Any]) -> list[Tensor]:
    """Tensors of one dtype, numbers among them as tensors of rank 0: torch's promotion for the
    three kinds there are. A number alone never makes a tensor of floats whole, or more precise."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        raise FormatError("a tensor is needed among the operands")
    wide = [t for t in tensors if t.shape] or tensors
    top = max(wide + tensors, key=lambda t: RANK[t.dtype.kind]).dtype
    for v in values:
        if not isinstance(v, Tensor):
            rank = 2 if isinstance(number(v), float) else 0 if isinstance(v, bool) else 1
            if rank > RANK[top.kind]:
                top = DTYPES["f32" if rank == 2 else "i32"]
    return [cast(v, top) if isinstance(v, Tensor) else filled(v, top) for v in values]


def cast(x: Tensor, to: DType) -> Tensor:
    """x in that dtype; itself if it is."""
    return x if x.dtype is to else ops.to_copy(x, to)


def filled(value: Any, to: DType) -> Tensor:
    """A number as a tensor of rank 0, made by a kernel: it may be recorded."""
    return ops.full(size=(), fill_value=number(value), dtype=to.name)


def flat(numbers: Any) -> list[Any]:
    """The numbers of nested lists."""
    return [n for part in numbers for n in flat(part)] if isinstance(numbers, list) else [numbers]


def like(numbers: Any, others: list[Any]) -> Any:
    """`others` nested as `numbers` are."""
    left = iter(others)

    def nested(part: Any) -> Any:
        return [nested(p) for p in part] if isinstance(part, list) else next(left)

    return nested(numbers)
