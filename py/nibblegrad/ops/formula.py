"""A WGSL expression as an op's kernel: the function it becomes, and what that is linked into."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..core.dtype import CLASSES, DType, f32
from ..core.errors import DTypeError
from ..core.launch import Generated, Launch, ceil_div, grid1, size
from ..core.schema import Dims, Info
from .op import Op

SKELETON = {1: "map/unary", 2: "map/binary", 3: "map/ternary"}


@dataclass(frozen=True)
class Formula:
    """A WGSL expression over the inputs, attributes and lets, in units of `link`.

    `also` holds other forms: by the value of the string attribute ("floor"), by dtype ("i32"), or
    both ("floor i32"). `of` and `to` are schema letters. `numbers` gives the attributes' numbers.
    """

    expr: str
    also: dict[str, str] = field(default_factory=dict)
    of: str = "f"
    to: str = ""
    link: tuple[str, ...] = ()
    numbers: Callable[[Dims], dict[str, Any]] | None = None
    lets: dict[str, str] = field(default_factory=dict)

    def form(self, mode: str, dtype: str) -> tuple[str, str]:
        """The key and the expression of that mode and dtype."""
        for key in (f"{mode} {dtype}".strip(), mode or dtype):
            if key in self.also:
                return key, self.also[key]
        return "", self.expr


def map_op(body: Callable[..., Any], formula: Formula, dtype: Any = None, tol: float = 1e-5) -> Op:
    """The op of a body and its formula; `dtype` overrides the output letter's."""
    count = sum(p.kind is not p.KEYWORD_ONLY for p in inspect.signature(body).parameters.values())
    text = ", ".join([f"{formula.of}[#b]"] * count) + f" -> {formula.to or formula.of}[*b]"

    def result(d: Dims) -> DType:
        _numbers(made, d, formula)  # refuses
        fixed = CLASSES[formula.to or formula.of]
        return dtype(d) if dtype else fixed[0] if len(fixed) == 1 else d.args[made.names[0]].dtype

    made = Op(text, body, dtype=result, tol=tol)
    made.kernel(SKELETON[count])(lambda d: formula_launch(made, d, formula))
    return made


def uses(expr: str, lets: dict[str, str]) -> set[str]:
    """Every name the expression needs, through its lets."""
    names = set(re.findall(r"[A-Za-z_]\w*", expr))
    for name in names & lets.keys():
        names |= uses(lets[name], {k: v for k, v in lets.items() if k != name})
    return names


def _numbers(made: Op, d: Dims, formula: Formula) -> dict[str, Any]:
    """The attributes as f32 or, of an i32 call, as i32; DTypeError for a fraction there."""
    given = formula.numbers(d) if formula.numbers else dict(d.attrs)
    numbers = {k: v for k, v in given.items() if not isinstance(v, str) and v is not None}
    kind = d.args[made.names[0]].dtype
    if kind == f32:
        return {k: float(v) for k, v in numbers.items()}
    whole = {k: -(2**31) <= v < 2**31 and v == int(v) for k, v in numbers.items()}
    if formula.to == "b" and not all(whole.values()):  # i32 against a fraction compares as f32
        return {k: float(v) for k, v in numbers.items()}
    if bad := [k for k, ok in whole.items() if not ok]:
        raise DTypeError(
            f"{made.name}: {bad[0]} must be a whole number where {made.names[0]} is {kind}, "
            f"got {numbers[bad[0]]}"
        )
    return {k: int(v) for k, v in numbers.items()}


def _mode(d: Dims) -> str:
    return next((v for v in d.attrs.values() if isinstance(v, str)), "")


def _function(made: Op, d: Dims, formula: Formula) -> Generated:
    """`fn f`: the formula in the dtype of this call."""
    numbers = _numbers(made, d, formula)
    kind = d.args[made.names[0]].dtype
    promote = kind.kind == "i" and any(isinstance(v, float) for v in numbers.values())
    key, expr = formula.form(_mode(d), "f32" if promote else kind.name)
    used = uses(expr, formula.lets)
    lines = [f"  let {n} = bitcast<{'f32' if isinstance(v, float) else 'i32'}>(params.attrs[{i}]);"
             for i, (n, v) in enumerate(numbers.items()) if n in used]  # fmt: skip
    names = made.names
    if promote:
        lines += [f"  let {n} = f32({n}_whole);" for n in names]
        names = tuple(f"{n}_whole" for n in names)
    lines += [f"  let {n} = {e};" for n, e in formula.lets.items() if n in used]
    args = ", ".join(f"{n}: elem" for n in names)
    text = "\n".join([f"fn f({args}) -> res {{", *lines, f"  return {expr};", "}"])
    variant = "f32" if promote else key
    return Generated(made.name + (f"({variant})" if variant else ""), text)


def formula_launch(made: Op, d: Dims, formula: Formula) -> Launch:
    out, n = d.out[0].shape, size(d.out[0].shape)
    attrs = tuple(_numbers(made, d, formula).values())
    infos: list[Info] = [d.args[name] for name in made.names]
    same = all(i.shape == out for i in infos)
    params: tuple[Any, ...] = (*attrs, *[0] * (4 - len(attrs)), n, int(same), 0, 0)
    if len(infos) > 1:
        params = (*params, *pad8(out, 1))
        params += tuple(w for i in infos for w in broadcast_strides(i.shape, out))
    ins, result = infos[0].dtype, d.out[0].dtype
    units = (f"lib/in_{_cells(ins)}", *storing(result), *formula.link)
    const: dict[str, int | str] = {"elem": ins.name, "res": result.name}
    return Launch(storing_grid(n, result), params, {}, const, (_function(made, d, formula), *units))


def _cells(kind: DType) -> str:
    return "bytes" if kind.kind == "b" else "words"


def storing(kind: DType) -> tuple[str]:
    """The unit whose `main` stores value(i) for each element i of this dtype."""
    return (f"lib/out_{_cells(kind)}",)


def storing_grid(n: int, kind: DType) -> tuple[int, int, int]:
    """Its workgroups: an invocation stores one word, which holds four truth values."""
    return grid1(ceil_div(n, 4) if kind.kind == "b" else n, 64)


def pad8(values: tuple[int, ...], fill: int) -> tuple[int, ...]:
    """Right-aligned to rank 8."""
    return (fill,) * (8 - len(values)) + tuple(values)


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    out: list[int] = []
    step = 1
    for n in reversed(shape):
        out.insert(0, step)
        step *= n
    return tuple(out)


def broadcast_strides(shape: tuple[int, ...], out: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of `shape` walked in `out`'s coordinates: 0 where it broadcasts; rank 8."""
    own = [0 if n == 1 else s for n, s in zip(shape, strides(shape), strict=True)]
    return pad8(tuple(own), 0)
