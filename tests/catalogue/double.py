"""The host device in float64, for gradients that are compared to more digits than f32 has."""

from __future__ import annotations

import numpy as np

from nibblegrad.core.schema import Info
from nibblegrad.gpu.device import Storage, View
from nibblegrad.gpu.host import HostDevice
from nibblegrad.ops.op import Op
from nibblegrad.tensor.tensor import Tensor


class DoubleHost(HostDevice):
    """The host device with every f32 held as float64."""

    double = True


def to_tensor(dev: HostDevice, value: np.ndarray | None, info: Info | None) -> Tensor | None:
    """The array as a tensor of that device; a stored weight from its bytes."""
    if value is None or info is None:
        return None
    made = Tensor(View(Storage(dev, info.dtype.nbytes(info.shape)), 0, info))
    if info.dtype.kind == "w":
        dev.write(made._view.storage.handle, 0, value.tobytes())
    else:
        dev.array(made._view)[...] = value.reshape(info.shape)
    return made


def as_double(op: Op, found: list, values: list) -> list:
    """Floats as float64, the rest as it is."""
    return [v.astype(np.float64) if v is not None and i.dtype.kind == "f" else v
            for v, i in zip(values, found, strict=True)]  # fmt: skip


def ordered(op: Op, tensors: list, attrs: dict) -> list:
    """All arguments in the order the op is called with."""
    named = {**dict(zip(op.names, tensors, strict=True)), **attrs}
    return [named[name] for name in op.order]
