"""Ops whose kernel is one expression, and the ops of their gradients, which are expressions too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..core.lazy import np
from ..core.schema import Dims
from .formula import Formula, map_op, uses
from .formula import broadcast_strides as broadcast_strides
from .formula import pad8 as pad8
from .formula import strides as strides
from .op import Op
from .special import error_function


def elementwise(expr: str, grad: Any = None, *, also: dict[str, str] | None = None, of: str = "f",
                to: str = "", link: str = "", numbers: Any = None, dtype: Any = None,
                tol: float = 1e-5, **lets: str) -> Any:  # fmt: skip
    """Declare a broadcasting op by its WGSL expression; the arguments are Formula's.

    `grad` gives d/d(input) times g, an expression over g, the inputs and the lets (one string for
    a one-input op; a dict of forms by mode where they differ). `lets` name shared subexpressions.
    """

    def declare(body: Callable[..., Any]) -> Op:
        formula = Formula(expr, also or {}, of, to, tuple(link.split()), numbers, lets)
        made = map_op(body, formula, dtype, tol)
        if grad is not None:
            given = grad if isinstance(grad, dict) and "" not in grad else {made.names[0]: grad}
            _attach_gradient(made, given, formula)
        return made

    return declare


def _attach_gradient(made: Op, grads: dict[str, Any], formula: Formula) -> None:
    partials = {
        name: None if e == "g" else _gradient_op(made, name, _forms(e), formula)
        for name, e in grads.items()
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


def _forms(grad: Any) -> dict[str, str]:
    return grad if isinstance(grad, dict) else {"": grad}


def _thunk(partial: Op | None, given: dict[str, Any], attrs: dict[str, Any], like: Any) -> Any:
    def compute() -> Any:
        full = given["g"]
        if partial:
            used = {k: v for k, v in attrs.items() if k in partial.defaults}
            full = partial(*[given[n] for n in partial.names], **used)
        return unbroadcast(full, like)

    return compute


def unbroadcast(g: Any, like: Any) -> Any:
    """g summed over what was broadcast to it from `like`."""
    from .reduce import sum_to

    return g if g.shape == like.shape else sum_to(g, shape=like.shape)


def _gradient_op(made: Op, wrt: str, forms: dict[str, str], formula: Formula) -> Op:
    """d made / d wrt * g as an op of its own; its numpy body is the same expression, evaluated."""
    used = {n for e in forms.values() for n in uses(e, formula.lets)}
    names = ["g", *[n for n in made.names if n in used]]
    modes = len(forms) > 1  # then the attribute that is text chooses
    every = formula.numbers is not None
    attrs = [n for n, v in made.defaults.items() if every or n in used or (modes and _is_mode(v))]
    lets = {n: e for n, e in formula.lets.items() if n in used}
    body = _evaluated(names, forms, lets, formula.numbers)
    suffix = "" if len(made.names) == 1 else f"_{wrt}"
    body.__name__ = f"{made.name}_grad{suffix}"
    body.__doc__ = f"g times d {made.name} / d {wrt}: `{forms['']}`."
    parameter = inspect.Parameter
    body.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter(n, parameter.POSITIONAL_OR_KEYWORD) for n in names]
        + [parameter(n, parameter.KEYWORD_ONLY, default=made.defaults[n]) for n in attrs]
    )
    also = {mode: e for mode, e in forms.items() if mode}
    partial = map_op(body, replace(formula, expr=forms[""], also=also, of="f", to="f"))
    partial.tol = max(made.tol, 1e-5)
    partial.without_gradient("second derivatives of elementwise ops are not needed yet")
    _gradient_cases(partial, list(also))
    return partial


def _is_mode(default: Any) -> bool:
    return default is None or isinstance(default, str)


def _evaluated(names: list[str], forms: dict[str, str], lets: dict[str, str], numbers: Any) -> Any:
    """A function that evaluates the form its text attribute chooses."""
    codes = {mode: compile(e, "gradient", "eval") for mode, e in forms.items()}
    shared = {n: compile(e, n, "eval") for n, e in lets.items()}

    def body(*arrays: Any, **given: Any) -> Any:
        inputs = dict(zip(names, arrays, strict=True))
        scope: dict[str, Any] = {**_namespace(), **inputs, **given}
        if numbers:
            scope |= numbers(Dims({}, inputs, given))
        for name, let in shared.items():
            scope[name] = eval(let, scope)
        mode = next((v for v in given.values() if isinstance(v, str)), "")
        found = np.asarray(eval(codes.get(mode, codes[""]), scope), arrays[0].dtype)
        whole = np.broadcast_shapes(*(a.shape for a in arrays))
        return found if found.shape == whole else np.broadcast_to(found, whole).copy()

    return body


def _gradient_cases(partial: Op, modes: list[str]) -> None:
    """Small sizes, in every mode; numbers that have no default are 0.5."""
    chosen = next((n for n, v in partial.defaults.items() if _is_mode(v)), "")
    free = {n: 0.5 for n, v in partial.defaults.items() if v is inspect.Parameter.empty}
    count = len(partial.names)
    partial.cases(" ".join(["p:5", *["p:3x1"] * (count - 1)]), **free)
    for attrs in ({}, *({chosen: mode} for mode in modes)):
        partial.cases(*[" ".join(["p:" + n] * count) for n in ("3x5", "1", "0x4")], **free, **attrs)
    if count > 1:
        shapes = " ".join(["3x5", *["3x4"] * (count - 1)])
        partial.refuses(shapes, f"{partial.name}: [3, 5] and [3, 4] do not broadcast", **free)
    else:
        partial.refuses("i:3", f"{partial.name}: g must be f32, got i32", **free)


def _namespace() -> dict[str, Any]:
    """What a gradient's expression may call, in numpy."""
    return {
        "exp": np.exp, "log": np.log, "tanh": np.tanh, "sqrt": np.sqrt, "abs": np.abs,
        "max": np.maximum, "min": np.minimum, "sign": np.sign, "floor": np.floor,
        "trunc": np.trunc, "sine": np.sin, "cosine": np.cos, "power": np.power,
        "clamp": np.clip, "erf": error_function, "over": np.divide,
        "select": lambda no, yes, cond: np.where(cond, yes, no),
    }  # fmt: skip
