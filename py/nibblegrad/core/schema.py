"""One term per positional argument, as in einsum: `f[*b k], w[n k] -> f[*b n]`.

A name seen twice must agree. `*b` is any run of dims, `#b` a run that broadcasts, `f[n]?` an
argument that may be left out, `?` an output whose shape a function gives. From this come shape
inference and the guards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .dtype import CLASSES, UNIFORM, DType, Shape
from .errors import DTypeError, ShapeError

_TERM = re.compile(r"(?P<kind>[a-z]\d*)(\[(?P<dims>[^\]]*)\])?(?P<opt>\?)?")


@dataclass(frozen=True)
class Term:
    """One argument or output: its dtype class and its dims (None: the op's shape function says)."""

    kind: str
    dims: tuple[str, ...] | None
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.kind}[{'?' if self.dims is None else ' '.join(self.dims)}]"


@dataclass(frozen=True)
class Info:
    """What the guards know of a tensor: shape and dtype."""

    shape: Shape
    dtype: DType


class Dims:
    """One call: `d.n` a size, `d.b` a run of sizes, `d.x` an argument, `d.eps` an attribute."""

    def __init__(self, values: dict[str, Any], args: dict[str, Any], attrs: dict[str, Any]):
        self.values, self.args, self.attrs = values, args, attrs
        self.out: tuple[Info, ...] = ()
        self.caps: Any = None

    def __getattr__(self, name: str) -> Any:
        for table in (self.values, self.attrs, self.args):
            if name in table:
                return table[name]
        raise AttributeError(name)


@dataclass(frozen=True)
class Schema:
    """The parsed text: inputs, outputs."""

    text: str
    inputs: tuple[Term, ...]
    outputs: tuple[Term, ...]


def parse(text: str) -> Schema:
    """Read a schema; ValueError on text that is not one (a developer's mistake)."""
    left, _, right = text.partition("->")
    return Schema(text, _terms(left), _terms(right))


def _terms(text: str) -> tuple[Term, ...]:
    parts = [p.strip() for p in re.split(r",(?![^\[]*\])", text) if p.strip()]
    return tuple(_term(p) for p in parts)


def _term(text: str) -> Term:
    match = _TERM.fullmatch(text)
    if not match or match["kind"] not in CLASSES:
        raise ValueError(f"schema: '{text}' is not a term")
    dims = None if match["dims"] == "?" else tuple((match["dims"] or "").split())
    return Term(match["kind"], dims, bool(match["opt"]))


def bind(
    who: str, schema: Schema, names: Sequence[str], args: Sequence[Info | None]
) -> dict[str, Any]:
    """Sizes by name, or ShapeError/DTypeError naming the argument and the two values."""
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for term, name, info in zip(schema.inputs, names, args, strict=True):
        if info is None:
            if not term.optional:
                raise ShapeError(f"{who}: {name} is missing; give a tensor {term}")
            continue
        _check_dtype(who, name, term, info, values)
        _bind_one(who, name, term, info.shape, values, origin)
    return values


def _check_dtype(who: str, name: str, term: Term, info: Info, values: dict[str, Any]) -> None:
    admitted = CLASSES[term.kind]
    if term.kind in UNIFORM and info.dtype in admitted:
        admitted = values.setdefault(f"dtype {term.kind}", (info.dtype,))
    if info.dtype not in admitted:
        wanted = " or ".join(d.name for d in admitted)
        raise DTypeError(f"{who}: {name} must be {wanted}, got {info.dtype}")


def _bind_one(
    who: str, name: str, term: Term, shape: Shape, values: dict[str, Any], origin: dict[str, str]
) -> None:
    if term.dims is None:
        return
    star = next((i for i, d in enumerate(term.dims) if d[0] in "*#"), None)
    fixed = len(term.dims) - (star is not None)
    if len(shape) < fixed or (star is None and len(shape) != fixed):
        raise ShapeError(f"{who}: {name} must be {term}, got {list(shape)}")
    if len(shape) > 8:
        raise ShapeError(f"{who}: {name} has {len(shape)} dims, got {list(shape)}; at most 8")
    for dim, size in _pairs(term.dims, star, shape):
        _agree(who, name, dim, size, values, origin)


def _pairs(dims: tuple[str, ...], star: int | None, shape: Shape) -> list[tuple[str, Any]]:
    if star is None:
        return list(zip(dims, shape, strict=True))
    tail = len(dims) - star - 1
    run = shape[star : len(shape) - tail]
    ends = shape[len(shape) - tail :] if tail else ()
    heads = list(zip(dims[:star], shape[:star], strict=True))
    return [*heads, (dims[star], run), *zip(dims[star + 1 :], ends, strict=True)]


def _agree(
    who: str, name: str, dim: str, size: Any, values: dict[str, Any], origin: dict[str, str]
) -> None:
    if dim.isdigit():
        if size != int(dim):
            raise ShapeError(f"{who}: {name} has {size} where {dim} is needed")
        return
    key = dim.lstrip("*#")
    if key not in values:
        values[key], origin[key] = size, name
    elif dim[0] == "#":
        values[key] = broadcast(who, values[key], size)
    elif values[key] != size:
        have, was = _show(size), _show(values[key])
        raise ShapeError(f"{who}: {name} has {key}={have} but {origin[key]} has {key}={was}")


def _show(size: Any) -> Any:
    return list(size) if isinstance(size, tuple) else size


def broadcast(who: str, a: Shape, b: Shape) -> Shape:
    """The shape both broadcast to, as in numpy."""
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True))
    if any(x != y and 1 not in (x, y) for x, y in pairs):
        raise ShapeError(f"{who}: {list(a)} and {list(b)} do not broadcast")
    return tuple(y if x == 1 else x for x, y in pairs)


def output_shape(term: Term, values: dict[str, Any]) -> Shape:
    """The output's shape from the bound sizes."""
    shape: list[int] = []
    for dim in term.dims or ():
        value = int(dim) if dim.isdigit() else values[dim.lstrip("*#")]
        shape.extend(value if isinstance(value, tuple) else (value,))
    return tuple(shape)
