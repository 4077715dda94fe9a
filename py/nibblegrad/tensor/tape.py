"""Reverse-mode differentiation: nodes in the order they were made, walked back once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Any

from ..core.errors import PlanError, ShapeError

_enabled = [True]
_numbers = count()


def grad_enabled() -> bool:
    """Whether ops are being put on the tape."""
    return _enabled[0]


def no_grad() -> AbstractContextManager[None]:
    """Run ops without recording them for gradients."""
    return _grad(False)


@contextmanager
def _grad(on: bool) -> Iterator[None]:
    before, _enabled[0] = _enabled[0], on
    try:
        yield
    finally:
        _enabled[0] = before


class Node:
    """One op on the tape, with the values its gradient reads; of the others only the shapes."""

    def __init__(self, gradient: Callable[..., Any], args: list[Any], attrs: dict[str, Any],
                 outs: tuple[Any, ...], keep: list[bool], keep_out: bool):  # fmt: skip
        self.number = next(_numbers)
        self.gradient, self.attrs = gradient, attrs
        self.args = [a if a is None or k else a.ghost() for a, k in zip(args, keep, strict=True)]
        self.outs: tuple[Any, ...] = tuple(o.detach() if keep_out else o.ghost() for o in outs)
        for i, out in enumerate(outs):
            out.requires_grad, out._node, out._index = True, self, i

    def free(self) -> None:
        """Let go of what was saved: a node is walked back once."""
        self.gradient, self.args, self.outs = _walked, [], (None,) * len(self.outs)


def _walked(*args: Any, **attrs: Any) -> Any:
    raise PlanError("backward: this graph was already walked back; run the forward again")


def backward(root: Any, grad: Any = None) -> None:
    """Accumulate gradients into `.grad` of the leaves under root."""
    if root._node is None and not root.requires_grad:
        raise ShapeError("backward: nothing here requires a gradient")
    if grad is None:
        if root.shape not in ((), (1,)):
            raise ShapeError(f"backward: give a gradient for a tensor of shape {list(root.shape)}")
        from .tensor import tensor

        grad = tensor(1.0).reshape(root.shape)
    if grad.shape != root.shape:
        raise ShapeError(f"backward: the gradient is {list(grad.shape)}, not {list(root.shape)}")
    with no_grad():
        _walk([(root, grad)])


def _walk(roots: list[tuple[Any, Any]]) -> None:
    waiting: dict[int, list[Any]] = {}
    nodes: dict[int, Node] = {}
    queue: list[int] = []

    def deliver(t: Any, g: Any) -> None:
        node = t._node
        if node is None:
            _to_leaf(t, g)
            return
        if node.number not in nodes:
            nodes[node.number] = node
            waiting[node.number] = [None] * len(node.outs)
            heappush(queue, -node.number)
        slots, i = waiting[node.number], t._index
        slots[i] = _sum(slots[i], g)

    for root, grad in roots:
        deliver(root, grad)
    while queue:
        number = -heappop(queue)
        node, grads = nodes.pop(number), waiting.pop(number)
        outs = node.outs
        single = len(outs) == 1
        found = node.gradient(
            grads[0] if single else grads, outs[0] if single else outs, *node.args, **node.attrs
        )
        for arg, g in zip(node.args, found, strict=True):
            if g is not None and arg is not None and arg.requires_grad:
                deliver(arg, g)
        node.free()
        del grads, found


def _sum(before: Any, g: Any) -> Any:
    """before + g, by g's own dispatch if it knows how."""
    plus = getattr(g, "plus", None)
    if before is not None and plus:
        return plus(before)
    g = g() if callable(g) else g
    return g if before is None else before + g


def _to_leaf(t: Any, g: Any) -> None:
    if t.grad is None or not getattr(t, "_grad_in_place", False):
        t.grad = _sum(t.grad, g)
    elif into := getattr(g, "into", None):
        into(t.grad)
    else:
        from ..ops import accumulate

        accumulate(t.grad, g() if callable(g) else g)


def checkpoint(fn: Callable[..., Any], *args: Any) -> Any:
    """fn(*args), keeping nothing of what it computes: the backward pass runs fn once more.

    fn maps tensors (any shape, dtype) and other values to a tensor or a tuple of them, and must
    compute the same each time: a dropout's seed may not move in between. Gradients are those of
    the plain call, bit for bit, to args and to whatever parameters fn uses. PlanError when walked
    back twice. Source: torch.utils.checkpoint.checkpoint (use_reentrant=False), arXiv 1604.06174.
    """
    if not grad_enabled():
        return fn(*args)
    found = fn(*map(_leaf, args))
    many = isinstance(found, tuple)
    outs: tuple[Any, ...] = found if many else (found,)
    if not any(o.requires_grad for o in outs):
        return found
    tensors = [a for a in args if hasattr(a, "requires_grad")]

    def again(g: Any, *_: Any) -> list[Any]:
        return _rerun(fn, args, g if many else (g,))

    made = tuple(o.detach() for o in outs)  # the first run's graph, and what it saved, goes here
    Node(again, tensors, {}, made, [True] * len(tensors), False)
    return made if many else made[0]


def _leaf(arg: Any) -> Any:
    """A tensor's own leaf, where its gradient comes to rest; other values as they are."""
    if not hasattr(arg, "requires_grad"):
        return arg
    leaf = arg.detach()
    leaf.requires_grad = arg.requires_grad
    return leaf


def _rerun(fn: Callable[..., Any], args: tuple[Any, ...], grads: Any) -> list[Any]:
    """The gradients of fn's tensor arguments; fn's own parameters get theirs on the way."""
    leaves = [_leaf(a) for a in args]
    with _grad(True):
        found = fn(*leaves)
    outs = found if isinstance(found, tuple) else (found,)
    pairs = zip(outs, grads, strict=True)
    _walk([(o, g) for o, g in pairs if g is not None and o.requires_grad])
    return [leaf.grad for leaf in leaves if hasattr(leaf, "requires_grad")]
