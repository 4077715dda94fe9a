"""Ops whose kernel is one expression, which becomes the WGSL function of a map skeleton."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from ..core.launch import Generated, Launch, grid1, size
from ..core.lazy import np
from ..core.schema import Dims, Info
from .op import Op

SKELETON = {1: "map/unary", 2: "map/binary", 3: "map/ternary"}


def elementwise(expr: str, grad: dict[str, str] | str | None = None, **lets: str) -> Any:
    """Declare a broadcasting f32 op by its WGSL expression.

    `grad` gives d/d(input) times g, an expression over g, the inputs and the lets (one string for
    a one-input op). `lets` name shared subexpressions.
    """

    def declare(body: Callable[..., Any]) -> Op:
        made = _map_op(body, expr, lets)
        if grad is not None:
            _attach_gradient(made, {made.names[0]: grad} if isinstance(grad, str) else grad, lets)
        return made

    return declare


def _map_op(body: Callable[..., Any], expr: str, lets: dict[str, str]) -> Op:
    count = sum(p.kind is not p.KEYWORD_ONLY for p in inspect.signature(body).parameters.values())
    made = Op(", ".join(["f[#b]"] * count) + " -> f[*b]", body)
    function = Generated(made.name, _function(made, expr, lets))
    made.kernel(SKELETON[count])(lambda d: _launch(made, d, function))
    return made


def _uses(expr: str, lets: dict[str, str]) -> set[str]:
    """Every name the expression needs, through its lets."""
    names = set(re.findall(r"[A-Za-z_]\w*", expr))
    for name in names & lets.keys():
        names |= _uses(lets[name], {k: v for k, v in lets.items() if k != name})
    return names


def _function(made: Op, expr: str, lets: dict[str, str]) -> str:
    args = ", ".join(f"{n}: f32" for n in made.names)
    attrs = [f"  let {n} = params.attrs[{i}];" for i, n in enumerate(made.defaults)]
    used = _uses(expr, lets)
    shared = [f"  let {n} = {e};" for n, e in lets.items() if n in used]
    return "\n".join([f"fn f({args}) -> f32 {{", *attrs, *shared, f"  return {expr};", "}"])


def _launch(made: Op, d: Dims, function: Generated) -> Launch:
    out, n = d.out[0].shape, size(d.out[0].shape)
    attrs = [float(d.attrs[name]) for name in made.defaults]
    attrs += [0.0] * (4 - len(attrs))
    infos: list[Info] = [d.args[name] for name in made.names]
    same = all(i.shape == out for i in infos)
    params: tuple[Any, ...] = (*attrs, n, int(same), 0, 0)
    if len(infos) > 1:
        params = (*params, *pad8(out, 1))
        params += tuple(w for i in infos for w in broadcast_strides(i.shape, out))
    return Launch(grid1(n, 64), params, link=(function,))


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


def _attach_gradient(made: Op, grads: dict[str, str], lets: dict[str, str]) -> None:
    partials = {
        name: None if e == "g" else _gradient_op(made, name, e, lets) for name, e in grads.items()
    }

    def backward(g: Any, out: Any, *inputs: Any, **attrs: Any) -> Any:
        given = dict(zip(made.names, inputs, strict=True)) | {"g": g}
        return tuple(
            _thunk(partials[name], given, attrs, given[name]) if name in partials else None
            for name in made.names
        )

    made.vjp(backward)
    reads = {n: " ".join(p.names[1:]) if p else "" for n, p in partials.items()}
    made.saves(**reads)


def _thunk(partial: Op | None, given: dict[str, Any], attrs: dict[str, Any], like: Any) -> Any:
    from .reduce import sum_to

    def compute() -> Any:
        full = given["g"]
        if partial:
            used = {k: v for k, v in attrs.items() if k in partial.defaults}
            full = partial(*[given[n] for n in partial.names], **used)
        return full if full.shape == like.shape else sum_to(full, shape=like.shape)

    return compute


def _gradient_op(made: Op, wrt: str, expr: str, lets: dict[str, str]) -> Op:
    """d made / d wrt * g as an op of its own; its numpy body is the same expression, evaluated."""
    used = _uses(expr, lets)
    names = ["g", *[n for n in made.names if n in used]]
    attrs = [n for n in made.defaults if n in used]
    code = compile(expr, f"{made.name}_grad", "eval")
    shared = {n: compile(e, n, "eval") for n, e in lets.items() if n in used}

    def body(*arrays: Any, **given: Any) -> Any:
        scope: dict[str, Any] = {**_namespace(), **dict(zip(names, arrays, strict=True)), **given}
        for name, let in shared.items():
            scope[name] = eval(let, scope)
        return eval(code, scope)

    suffix = "" if len(made.names) == 1 else f"_{wrt}"
    body.__name__ = f"{made.name}_grad{suffix}"
    body.__doc__ = f"g times d {made.name} / d {wrt}: `{expr}`."
    parameter = inspect.Parameter
    body.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter(n, parameter.POSITIONAL_OR_KEYWORD) for n in names]
        + [parameter(n, parameter.KEYWORD_ONLY, default=made.defaults[n]) for n in attrs]
    )
    partial = _map_op(body, expr, lets)
    partial.tol = max(made.tol, 1e-5)
    partial.without_gradient("second derivatives of elementwise ops are not needed yet")
    sizes = [" ".join([size] * len(names)) for size in ("3x5", "1", "0x4")]
    partial.cases(*sizes, **dict.fromkeys(attrs, 0.5))
    if len(names) > 1:
        shapes = " ".join(["3x5", *["3x4"] * (len(names) - 1)])
        partial.refuses(shapes, f"{partial.name}: [3, 5] and [3, 4] do not broadcast")
    else:
        refused = f"{partial.name}: g must be f32, got i32"
        partial.refuses("i:3", refused, **dict.fromkeys(attrs, 0.5))
    return partial


def _namespace() -> dict[str, Any]:
    return {
        "exp": np.exp, "log": np.log, "tanh": np.tanh, "sqrt": np.sqrt, "abs": np.abs,
        "max": np.maximum, "min": np.minimum, "pow": np.power, "sign": np.sign,
        "select": lambda no, yes, cond: np.where(cond, yes, no),
    }  # fmt: skip
