"""How stored weights read as floats, in numpy: the reference of shaders/format/*.wgsl.

Block layouts are GGML's (ggml-common.h): 32 weights a block; f16 scale `d`, for q4_1 also an
f16 minimum `m`; nibbles low = element j, high = element j + 16.
"""

from __future__ import annotations

from typing import Any

from ..core.dtype import DType
from ..core.lazy import np


def dequantise(raw: Any, dtype: DType, shape: tuple[int, ...]) -> Any:
    """Bytes (uint8 array) of a weight -> f32 array of `shape`."""
    return _READERS[dtype.name](raw, dtype).reshape(shape)


def _f32(raw: Any, dtype: DType) -> Any:
    return raw.view(np.float32)


def _f16(raw: Any, dtype: DType) -> Any:
    return raw.view(np.float16).astype(np.float32)


def _bf16(raw: Any, dtype: DType) -> Any:
    return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _blocks(raw: Any, dtype: DType) -> tuple[Any, Any]:
    blocks = raw.reshape(-1, dtype.block_bytes)
    return blocks, blocks[:, :2].copy().view(np.float16).astype(np.float32)


def _nibbles(packed: Any) -> Any:
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)


def _q8_0(raw: Any, dtype: DType) -> Any:
    blocks, d = _blocks(raw, dtype)
    return blocks[:, 2:].view(np.int8).astype(np.float32) * d


def _q4_0(raw: Any, dtype: DType) -> Any:
    blocks, d = _blocks(raw, dtype)
    return (_nibbles(blocks[:, 2:]) - 8) * d


def _q4_1(raw: Any, dtype: DType) -> Any:
    blocks, d = _blocks(raw, dtype)
    m = blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
    return _nibbles(blocks[:, 4:]) * d + m


_READERS = {"f32": _f32, "f16": _f16, "bf16": _bf16, "q8_0": _q8_0, "q4_0": _q4_0, "q4_1": _q4_1}
