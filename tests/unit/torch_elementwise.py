"""What torch calls each elementwise op of the catalogue: name -> function(tensors, attributes)."""

from __future__ import annotations

import numpy as np
import torch

from nibblegrad.ops.op import Op

F = torch.nn.functional
KINDS = {"f32": torch.float32, "i32": torch.int32, "bool": torch.bool}


def unary(f, **fixed):
    return lambda x, **attrs: f(x, **fixed, **attrs)


def power(x, exponent):
    return torch.pow(x, exponent)


def clamp(x, min, max):
    """torch wants one of the two; without either ours leaves x as it is."""
    return x * 1 if min is None and max is None else torch.clamp(x, min, max)


def converted(x, dtype):
    return x.double() if x.dtype == torch.float64 and dtype == "f32" else x.to(KINDS[dtype])


def hardsigmoid(x):
    """torch keeps its 1 / 6 in f32, for float64 too."""
    return F.relu6(x + 3) / 6 if x.dtype == torch.float64 else F.hardsigmoid(x)


SMOOTH = {
    "add": lambda a, b, alpha: torch.add(a, b, alpha=alpha),
    "sub": lambda a, b, alpha: torch.sub(a, b, alpha=alpha),
    "mul": torch.mul,
    "div": lambda a, b, rounding_mode: torch.div(a, b, rounding_mode=rounding_mode),
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "minimum": torch.minimum,
    "maximum": torch.maximum,
    "pow": torch.pow,
    "pow_scalar": power,
    "where": torch.where,
    "_to_copy": converted,
    "clamp": clamp,
    "hardtanh": torch.ops.aten.hardtanh,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "relu6": F.relu6,
    "hardswish": F.hardswish,
    "hardsigmoid": hardsigmoid,
    "hardshrink": torch.hardshrink,
    "leaky_relu": F.leaky_relu,
    "elu": torch.ops.aten.elu,
    "gelu": F.gelu,
    **{
        name: getattr(torch, name)
        for name in (
            "abs", "neg", "sign", "square", "reciprocal", "exp", "log", "log10", "sqrt", "rsqrt",
            "sin", "cos", "tan", "tanh", "erf", "floor", "ceil", "round", "trunc",
        )
    },
}  # fmt: skip


def against(name):
    return lambda x, other: getattr(torch, name)(x, other)


COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
ROUGH = {
    "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    **{name: getattr(torch, name) for name in COMPARED},
    **{f"{name}_scalar": against(name) for name in COMPARED},
    **{
        name: getattr(torch, name)
        for name in (
            "logical_and", "logical_or", "logical_xor", "logical_not",
            "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not",
        )
    },
    "full": lambda size, fill_value, dtype: torch.full(size, fill_value, dtype=KINDS[dtype]),
    "arange": lambda start, end, step, dtype: torch.arange(start, end, step, dtype=KINDS[dtype]),
}  # fmt: skip
REFUSED_THERE = {"div", "floor_divide", "remainder", "fmod"}  # of i32 by zero: 0 here


def safe_divisors(op: Op, values: list) -> list:
    """torch refuses i32 by zero, and its -2^31 / -1 ends the process."""
    if op.name in REFUSED_THERE and values[1].dtype.kind == "i":
        values[1] = np.where(np.isin(values[1], (0, -1)), 5, values[1]).astype(np.int32)
    return values


def torchs_own(op: Op, values: list, attrs: dict) -> np.ndarray:
    """Where torch's vector loop and its scalar one differ, and ours is the scalar one's: gelu of
    what overflows, a remainder whose quotient does; a sum whose product alone overflows."""
    a, b = (values[0], values[-1]) if values else (0, 0)
    with np.errstate(all="ignore"):
        if op.name == "gelu":
            return np.abs(a) > 1e38
        if op.name in ("add", "sub"):
            return np.isinf(a.dtype.type(attrs["alpha"]) * b) & np.isfinite(b)
        if op.name in ("fmod", "remainder"):
            return np.isinf(a / b) & np.isfinite(a)
        return np.array(False)
