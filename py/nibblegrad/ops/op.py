"""An op: a decorated numpy function is its specification; kernels, gradient, cases hang from it.

Ops describe. What runs them is installed from above by `Op.runner` (the tensor layer).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core import schema as sch
from ..core.dtype import CLASSES, DType, Shape
from ..core.errors import ShapeError
from ..core.launch import Launch
from ..core.schema import Dims, Info

CATALOGUE: dict[str, Op] = {}
_LAW_WORDS = {"len": len, "all": all, "min": min, "max": max}  # what a law may call


@dataclass(frozen=True)
class Caps:
    """What a route may ask of the device: is it a CPU in disguise, how wide may a workgroup be,
    has its WGSL packed_4x8_integer_dot_product, how many workgroups keep it busy, has it subgroups
    of 32 and do they multiply f16 matrices; and the user's float32 matmul precision."""

    software: bool = False
    max_invocations: int = 256
    packed_dot: bool = False
    fill: int = 128
    subgroups: bool = False
    matrix: bool = False
    precision: str = "highest"

    @property
    def halves(self) -> bool:
        """May a product of f32 matrices take f16 subgroup matrices?"""
        return self.matrix and self.precision == "medium"


@dataclass(frozen=True)
class Route:
    """A kernel file and the function that accepts a call (a Launch) or leaves it (None)."""

    kernel: str
    plan: Callable[[Dims], Launch | None]
    tol: float | None = None

    def launch(self, d: Dims) -> Launch | None:
        """The launch with its kernel's name, or None."""
        found = self.plan(d)
        return found and found.named(self.kernel)


@dataclass(frozen=True)
class Grad:
    """A gradient not computed yet. Where one dispatch can do both, `plus(y)` gives y + it and
    `into(y)` adds it to y in place."""

    compute: Callable[[], Any]
    plus: Callable[[Any], Any] | None = None
    into: Callable[[Any], Any] | None = None

    def __call__(self) -> Any:
        return self.compute()


class Op:
    """One operator. Call it on tensors; read `.body` for what it computes."""

    runner: Callable[..., Any] | None = None

    def __init__(self, text: str, body: Callable[..., Any], **about: Any):
        self.name = about.get("name") or body.__name__
        self.schema = sch.parse(text)
        self.body = body
        self.doc = inspect.getdoc(body) or ""
        self.shape: Callable[[Dims], Any] | None = about.get("shape")
        self.dtype: Callable[[Dims], DType] | None = about.get("dtype")
        self.mutates: tuple[str, ...] = about.get("mutates", ())
        self.views: bool = about.get("views", False)
        self.tol: float = about.get("tol", 1e-5)
        self.order: tuple[str, ...]
        self.names, self.defaults = _signature(body)
        self.order = about.get("order") or (*self.names, *self.defaults)
        self.routes: list[Route] = []
        self.laws: list[tuple[Any, str, str]] = []
        self.gradient: Callable[..., Any] | None = None
        self.no_gradient = ""
        self.needs: dict[str, tuple[str, ...]] | None = None
        self.case_list: list[tuple[str, dict[str, Any]]] = []
        self.refusals: list[tuple[str, str, dict[str, Any]]] = []
        CATALOGUE[self.name] = self

    def __repr__(self) -> str:
        return f"{self.name}: {self.schema.text}"

    def __call__(self, /, *args: Any, **attrs: Any) -> Any:
        if Op.runner is None:
            raise RuntimeError(f"{self.name}: import nibblegrad before calling an op")
        return Op.runner(self, *self.split(args, attrs))

    def split(
        self, args: tuple[Any, ...], given: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments in upstream's order -> tensors in schema order, attributes by name."""
        if len(args) > len(self.order):
            raise TypeError(f"{self.name}: takes {len(self.order)} arguments, got {len(args)}")
        values = dict(zip(self.order, args, strict=False))
        twice = values.keys() & given.keys()
        unknown = given.keys() - set(self.order)
        if twice or unknown:
            bad = ", ".join(sorted(twice | unknown))
            raise TypeError(f"{self.name}: bad argument {bad}; takes {', '.join(self.order)}")
        values.update(given)
        attrs = {name: _hashable(values.get(name, v)) for name, v in self.defaults.items()}
        needed = [n for n, v in attrs.items() if v is inspect.Parameter.empty]
        if needed:
            raise TypeError(f"{self.name}: needs {', '.join(needed)}")
        return [values.get(n) for n in self.names], attrs

    def infer(self, infos: list[Info | None], attrs: dict[str, Any]) -> Dims:
        """Guards and output shapes: everything that can be refused is refused here."""
        values = sch.bind(self.name, self.schema, self.names, infos)
        d = Dims(values, dict(zip(self.names, infos, strict=True)), attrs)
        self._check_laws(d)
        shapes = self.shape(d) if self.shape else None
        if shapes is not None and (not shapes or not isinstance(shapes[0], tuple)):
            shapes = [shapes]
        outs: list[Info] = []
        for i, term in enumerate(self.schema.outputs):
            kinds = values.get(f"dtype {term.kind}", CLASSES[term.kind])
            shape: Shape = tuple(shapes[i]) if shapes else sch.output_shape(term, values)
            if len(shape) > 8:
                raise ShapeError(f"{self.name}: {list(shape)} would have more than 8 dims")
            outs.append(Info(shape, self.dtype(d) if self.dtype else kinds[0]))
        d.out = tuple(outs)
        return d

    def _check_laws(self, d: Dims) -> None:
        for code, expr, why in self.laws:
            scope = {**d.args, **d.attrs, **d.values}
            if not eval(code, {"__builtins__": _LAW_WORDS}, scope):
                got = ", ".join(f"{n}={_plain(scope[n])}" for n in code.co_names if n in scope)
                raise ShapeError(f"{self.name}: {why}, got {got or expr}")

    def accepting(self, d: Dims, caps: Caps) -> list[Launch]:
        """What every route that takes this call would launch, best first."""
        d.caps = caps
        return [found for route in self.routes if (found := route.launch(d))]

    def select(self, d: Dims, caps: Caps) -> Launch:
        """The first accepting route's launch; the last route always accepts."""
        d.caps = caps
        for route in self.routes:
            if found := route.launch(d):
                return found
        raise ShapeError(f"{self.name}: no kernel takes {d.values}")

    def tolerance(self, kernel: str) -> float:
        """How far that kernel's result may be from the body's, relative to the largest value."""
        return next((r.tol for r in self.routes if r.kernel == kernel and r.tol), self.tol)

    # what hangs from an op -------------------------------------------------------------------

    def kernel(
        self, path: str, tol: float | None = None
    ) -> Callable[[Callable[[Dims], Launch | None]], Any]:
        """Attach a route, tried in the order written; `tol` where it may err more than the op."""

        def attach(plan: Callable[[Dims], Launch | None]) -> Any:
            self.routes.append(Route(path, plan, tol))
            return plan

        return attach

    def vjp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Attach the gradient: f(g, out, *inputs, **attrs) -> an entry an input, thunks allowed."""
        self.gradient = function
        return function

    def saves(self, /, **needs: str) -> None:
        """Which values the gradient to each input reads, "out" among them: saves(x="w", w="x").
        The tape keeps only those, and of the rest the shapes. Unsaid, it keeps everything."""
        self.needs = {name: tuple(text.split()) for name, text in needs.items()}

    def without_gradient(self, reason: str) -> None:
        """Say why there is none."""
        self.no_gradient = reason

    def require(self, expr: str, why: str) -> None:
        """A law beyond the schema, over its sizes and attributes."""
        self.laws.append((compile(expr, self.name, "eval"), expr, why))

    def cases(self, *shapes: str, **attrs: Any) -> None:
        """Shapes to test, an argument a word: "3x5 7x5"; `-` leaves an optional one out."""
        self.case_list.extend((s, attrs) for s in shapes)

    def refuses(self, shapes: str, message: str, **attrs: Any) -> None:
        """A call that must raise this message, word for word."""
        self.refusals.append((shapes, message, attrs))


def _plain(value: Any) -> Any:
    return list(value.shape) if isinstance(value, Info) else value


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _signature(body: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    params = inspect.signature(body).parameters.values()
    tensors = tuple(p.name for p in params if p.kind is not p.KEYWORD_ONLY)
    return tensors, {p.name: p.default for p in params if p.kind is p.KEYWORD_ONLY}


def op(text: str, **about: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op: `@op("f[*b n], f[n] -> f[*b n]")` over its numpy body."""
    return lambda body: Op(text, body, **about)
