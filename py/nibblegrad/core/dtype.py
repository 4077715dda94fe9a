"""Element types: plain numbers, and the block formats that weights are stored in."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .errors import DTypeError, ShapeError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class DType:
    """One element type. `kind`: f i u b are numbers, w is read only through a weight format."""

    name: str
    kind: str
    block_bytes: int
    block: int = 1

    def nbytes(self, shape: Shape) -> int:
        """Bytes of a tensor of this shape; the last dimension holds whole blocks."""
        if self.block > 1 and (not shape or shape[-1] % self.block):
            raise ShapeError(
                f"{self.name}: the last dimension must be a multiple of {self.block}, "
                f"got {list(shape)}"
            )
        return prod(shape) // self.block * self.block_bytes

    def __repr__(self) -> str:
        return self.name


f32 = DType("f32", "f", 4)
i32 = DType("i32", "i", 4)
u32 = DType("u32", "u", 4)
u8 = DType("u8", "u", 1)
i8 = DType("i8", "i", 1)
bool_ = DType("bool", "b", 1)  # one byte an element, four in a u32 word of a shader
f16 = DType("f16", "w", 2)
bf16 = DType("bf16", "w", 2)
q8_0 = DType("q8_0", "w", 34, 32)
q4_0 = DType("q4_0", "w", 18, 32)
q4_1 = DType("q4_1", "w", 20, 32)

DTYPES = {d.name: d for d in (f32, i32, u32, u8, i8, bool_, f16, bf16, q8_0, q4_0, q4_1)}

# The letters of a schema term, and what each admits. `x`: any number of four bytes, the same
# for every `x` of one call; so too `n` (numbers), `e` (numbers or truth), `l` (whole or truth),
# `y` (whatever is only moved). `q8`: quantised numbers. `w`: whatever a weight may be stored in.
CLASSES: dict[str, tuple[DType, ...]] = {
    "f": (f32,),
    "i": (i32,),
    "u": (u32,),
    "u8": (u8,),
    "i8": (i8,),
    "q8": (i8, u8),
    "b": (bool_,),
    "x": (f32, i32, u32),
    "n": (f32, i32),
    "e": (f32, i32, bool_),
    "l": (bool_, i32),
    "y": (f32, i32, u32, u8, i8, bool_),
    "w": (f32, f16, bf16, q8_0, q4_0, q4_1),
}

# Of these letters one call has one dtype.
UNIFORM = frozenset("xnely")


def dtype(name: str | DType) -> DType:
    """The dtype of that name, e.g. "f32"; DTypeError names the known ones."""
    if isinstance(name, DType):
        return name
    if name not in DTYPES:
        raise DTypeError(f"dtype: '{name}' is not known; known: {' '.join(DTYPES)}")
    return DTYPES[name]
