"""Tensors, applying ops to them, the tape of their gradients, and recorded plans."""

from . import apply as _apply  # installs Op.runner
from .plan import Plan, record
from .tape import checkpoint, no_grad
from .tensor import (
    Tensor,
    default_device,
    device,
    get_float32_matmul_precision,
    open_default_device,
    set_default_device,
    set_float32_matmul_precision,
    tensor,
    zeros,
)

__all__ = [
    "Plan", "Tensor", "checkpoint", "default_device", "device", "get_float32_matmul_precision",
    "no_grad", "open_default_device", "record", "set_default_device",
    "set_float32_matmul_precision", "tensor", "zeros",
]  # fmt: skip
