"""nibblegrad: a language model in 4 bits, fine-tuned inside a web page, from Python."""

from . import nn, ops, optim, tune
from .core.dtype import DType, bf16, f16, f32, i32, q4_0, q4_1, q8_0, u8, u32
from .core.errors import (
    DeviceError,
    DTypeError,
    FormatError,
    NibblegradError,
    PlanError,
    ShapeError,
)
from .models import load
from .program import load_pte
from .tensor import (
    Tensor,
    device,
    get_float32_matmul_precision,
    no_grad,
    record,
    set_float32_matmul_precision,
    tensor,
    zeros,
)

__version__ = "0.1.0"
__all__ = [name for name in globals() if not name.startswith("_")]
