"""Applying an op: guards, outputs, the device's run, and a node on the tape if one is needed."""

from __future__ import annotations

from typing import Any

from ..core.dtype import Shape
from ..core.errors import DTypeError
from ..core.launch import Sym
from ..core.schema import Dims, Info
from ..gpu.device import Call, Storage, View
from ..ops.op import Op
from .tape import Node, grad_enabled
from .tensor import Tensor, default_device

_inferred: dict[Any, Dims] = {}


def apply(op: Op, args: list[Any], attrs: dict[str, Any]) -> Any:
    """Run op on tensors: one output, or a tuple of several; in-place ops give their first."""
    for name, arg in zip(op.names, args, strict=True):
        if arg is not None and not isinstance(arg, Tensor):
            raise DTypeError(f"{op.name}: {name} must be a Tensor, got {type(arg).__name__}")
    key = (op.name, *((a.shape, a.dtype.name) if a is not None else None for a in args),
           *attrs.values())  # fmt: skip
    d = _infer(op, args, attrs, key)
    views = [a and a._view for a in args]
    dev = next((v.storage.device for v in views if v), None) or default_device()
    if op.views and views[0]:
        outs = [View(views[0].storage, views[0].offset, d.out[0])]
    else:
        outs = [View(Storage(dev, i.dtype.nbytes(i.shape)), 0, i) for i in d.out]
        dev.run(Call(op, d, views, outs, attrs, key))
    tensors = tuple(Tensor(v) for v in outs)
    if grad_enabled() and any(a is not None and a.requires_grad for a in args):
        _record(op, args, attrs, tensors)
    if op.mutates:
        return args[op.names.index(op.mutates[0])]
    return tensors[0] if len(tensors) == 1 else tensors


def _infer(op: Op, args: list[Any], attrs: dict[str, Any], key: Any) -> Dims:
    d = _inferred.get(key)
    if d is None:
        plain = {k: 0 if isinstance(v, Sym) else v for k, v in attrs.items()}
        infos: list[Info | None] = [a and a._view.info for a in args]
        d = op.infer(infos, plain)
        d.attrs = attrs
        if len(_inferred) > 20000:
            _inferred.clear()
        _inferred[key] = d
    return d


def _record(op: Op, args: list[Any], attrs: dict[str, Any], outs: tuple[Tensor, ...]) -> None:
    if op.gradient is None:
        return
    keep, keep_out = [True] * len(args), True
    if op.needs is not None:
        learning = [n for n, a in zip(op.names, args, strict=True) if a and a.requires_grad]
        wanted = {w for name in learning for w in op.needs.get(name, ())}
        keep, keep_out = [name in wanted for name in op.names], "out" in wanted
    Node(op.gradient, args, attrs, outs, keep, keep_out)


def reshape(x: Tensor, shape: Shape) -> Tensor:
    """The same bytes under another shape, on the tape."""
    out = Tensor(View(x._view.storage, x._view.offset, Info(shape, x.dtype)))
    if grad_enabled() and x.requires_grad:
        Node(_reshape_back, [x], {}, (out,), [False], False)
    return out


def _reshape_back(g: Tensor, out: Tensor, x: Tensor) -> tuple[Any]:
    return (lambda: reshape(g, x.shape),)


Op.runner = staticmethod(apply)  # type: ignore[assignment]
