"""A program's operators by name: what of the catalogue runs them, and what is not there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import ops
from ..core.dtype import DTYPES
from ..core.errors import FormatError, NibblegradError, ShapeError
from ..core.schema import Info
from ..ops.op import CATALOGUE
from ..tensor import Tensor
from . import composed, special
from .arguments import cast, decode
from .table import MORE, TABLE

CASTS = [DTYPES[name] for name in ("f32", "i32", "bool")]


@dataclass(frozen=True)
class Binding:
    """How one name is run: the operator's name, a `:` in front if special, and its arguments."""

    name: str
    operator: str
    kinds: tuple[str, ...]

    @property
    def mutates(self) -> tuple[int, ...]:
        """Which arguments it writes in place."""
        return tuple(i for i, k in enumerate(self.kinds) if k[0] == "!")

    def function(self) -> Any:
        """What to call, or None while the catalogue lacks it."""
        if self.operator.startswith(":"):
            name = self.operator[1:]
            return getattr(special, name, None) or getattr(composed, name)
        if self.operator in CATALOGUE:
            return CATALOGUE[self.operator]
        found = getattr(ops, self.operator, None)
        return found if callable(found) else None


@cache
def bindings() -> dict[str, Binding]:
    """Every name that is bound."""
    found = {}
    for line in (TABLE + MORE).splitlines():
        if line:
            name, overloads, operator, *kinds = line.split()
            for overload in overloads.split(","):
                full = f"{name}.{overload}".rstrip(".")
                found[full] = Binding(full, operator, tuple(kinds))
    return found


def find(name: str) -> Binding | None:
    """The binding of a delegate's `aten.add.Tensor` or a kernel call's `aten::add.out`."""
    plain = name.replace("::", ".")
    found = bindings().get(plain) or bindings().get(f"{plain}.default")
    return found if found and found.function() else None


def run(binding: Binding, values: list[Any], declared: list[Info | None]) -> list[Any]:
    """Call it: results as they are declared in dtype, and no larger."""
    first = next((info for info in declared if info), Info((), DTYPES["f32"]))
    try:
        given = decode(binding.kinds, values)
        function = binding.function()
        is_special = binding.operator.startswith(":")
        made = function(first, *given) if is_special else function(*given)
        found = list(made) if isinstance(made, (tuple, list)) else [made]
        if len(found) < len(declared):
            raise FormatError(f"gives {len(found)} results where {len(declared)} are declared")
        return [_as_declared(x, info) for x, info in zip(found, declared, strict=False)]
    except NibblegradError as error:
        raise type(error)(f"{binding.name}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # arguments that no exporter writes: too few dims, a number too large
        raise FormatError(f"{binding.name}: {error}") from error


def _as_declared(x: Tensor, info: Info | None) -> Tensor:
    if info is None:
        return x
    if x.dtype is not info.dtype:
        if not (x.dtype in CASTS and info.dtype in CASTS):
            raise FormatError(f"gives {x.dtype} where {info.dtype} is declared")
        x = cast(x, info.dtype)
    fits = len(x.shape) == len(info.shape)
    if not fits or any(n > most for n, most in zip(x.shape, info.shape, strict=True)):
        raise ShapeError(f"gives {list(x.shape)} where {list(info.shape)} is declared")
    return x


def refuse_unknown(who: str, names: Iterable[str]) -> None:
    """FormatError that lists every operator there is no binding for, each once, with its count."""
    counts: dict[str, int] = {}
    for name in names:
        if not find(name):
            counts[name] = counts.get(name, 0) + 1
    if counts:
        listed = ", ".join(f"{n} ({c}x)" if c > 1 else n for n, c in sorted(counts.items()))
        raise FormatError(f"{who}: operators that are not supported: {listed}")
