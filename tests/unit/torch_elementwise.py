"""What torch calls each elementwise op of the catalogue: name -> function(tensors, attributes)."""

from __future__ import annotations

import torch

F = torch.nn.functional
KINDS = {"f32": torch.float32, "i32": torch.int32, "bool": torch.bool}


def unary(f, **fixed):
    return lambda x, **attrs: f(x, **fixed, **attrs)


def power(x, exponent):
    return torch.pow(x, exponent)


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
    "clamp": torch.clamp,
    "hardtanh": F.hardtanh,
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
