"""A program's constants on the device: streamed from the file, never through Python's memory, but
for dtypes that no GPU knows, which are converted a piece at a time."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from math import prod
from typing import Any

from .. import ops
from ..core.dtype import DTYPES
from ..core.errors import FormatError
from ..core.schema import Info
from ..gpu.device import Storage, View
from ..io.flatbuffer import Span
from ..tensor import Tensor, tensor
from .arguments import kind

PIECE = 1 << 20
SAME = ("bool", "uint8", "int8", "int32", "uint32", "float32")  # as they lie
HALVES = {"float16": "f16", "bfloat16": "bf16"}
WIDE = {"int64": ("q", "i"), "float64": ("d", "f"), "int16": ("h", "i"), "uint16": ("H", "i")}
Progress = Callable[[int, int], None]


class Constants:
    """Loads each part of the file once: equal weights share their bytes."""

    def __init__(self, dev: Any, source: Any, progress: Progress | None, total: int):
        self.dev, self.source = dev, source
        self.report = progress or (lambda loaded, total: None)
        self.done, self.total = 0, total
        self._known: dict[Any, Tensor] = {}

    async def load(self, span: Span, dtype: str, shape: tuple[int, ...], what: str) -> Tensor:
        """The tensor there; `what` names it in errors."""
        key = (span.offset, dtype)
        found = self._known.get(key)
        if found is None or prod(found.shape) < prod(shape):
            found = self._known[key] = await self._load(span, dtype, shape, what)
        view = found._view
        return Tensor(View(view.storage, view.offset, Info(shape, view.info.dtype)))

    async def _load(self, span: Span, dtype: str, shape: tuple[int, ...], what: str) -> Tensor:
        if dtype in WIDE:
            made = await self._converted(span, dtype, shape, what)
        elif dtype in HALVES and prod(shape):
            stored = await self._streamed(span, HALVES[dtype], (1, prod(shape)))
            made = ops.embedding(stored, tensor([0], "i32")).reshape(shape)
        else:
            made = await self._streamed(span, kind(dtype, what).name, shape)
        self.done += span.nbytes
        self.report(self.done, self.total)
        return made

    async def _streamed(self, span: Span, name: str, shape: tuple[int, ...]) -> Tensor:
        info = Info(shape, DTYPES[name])
        nbytes = info.dtype.nbytes(shape)
        storage = Storage(self.dev, -(-nbytes // 16) * 16)
        if nbytes:
            before = self.done
            await self.source.stream(span.offset, nbytes, storage.handle, 0,
                                     lambda n: self.report(before + n, self.total))  # fmt: skip
        return Tensor(View(storage, 0, info))

    async def _converted(self, span: Span, dtype: str, shape: tuple[int, ...], what: str) -> Tensor:
        code, to = WIDE[dtype]
        info = Info(shape, kind(dtype, what))
        storage = Storage(self.dev, -(-info.dtype.nbytes(shape) // 16) * 16)
        left, at, put = prod(shape) * array(code).itemsize, span.offset, 0
        while left:
            raw = await self.source.read(at, min(PIECE, left))
            if not raw:
                raise FormatError(f"pte: {what}: the file ended {left} bytes too early")
            numbers = narrowed(raw, code, to, what)
            self.dev.write(storage.handle, put, numbers)
            at, left, put = at + len(raw), left - len(raw), put + numbers.nbytes
        return Tensor(View(storage, 0, info))


def narrowed(raw: bytes, code: str, to: str, what: str) -> memoryview:
    """Numbers in fewer bytes; FormatError if one does not fit."""
    numbers = array(code)
    numbers.frombytes(raw)
    try:
        return memoryview(array(to, numbers.tolist())).cast("B")
    except OverflowError:
        wide = next(n for n in numbers if not -(2**31) <= n < 2**31)
        raise FormatError(f"pte: {what} holds {wide}; a GPU has no 64-bit integers") from None


assert sys.byteorder == "little", "a program's numbers are little-endian"
