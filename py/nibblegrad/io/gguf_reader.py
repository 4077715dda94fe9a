"""GGUF's primitive values, read from the first bytes of a file; knows neither keys nor tensors."""

import struct
import sys
from array import array
from typing import Any

from ..core.errors import FormatError
from .header import want

NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 10, 11, 12), "BbHhIifQqd", strict=True))
UINT32, BOOL, STRING, ARRAY = 4, 7, 8, 9


class Reader:
    """A place in the file's first bytes; every step forward is checked."""

    def __init__(self, data: bytes, file_size: int):
        self.data = bytes(data[:file_size])
        self.size = file_size
        self.pos = 0

    def take(self, n: int, what: str) -> int:
        """Step over n bytes; where they begin."""
        begin, end = self.pos, self.pos + n
        if end > self.size:
            raise FormatError(
                f"gguf: {what} needs {n} bytes at byte {begin}, but the file has {self.size};"
                " it is damaged or cut off"
            )
        if end > len(self.data):
            want("gguf", end, len(self.data), self.size)
        self.pos = end
        return begin

    def plausible(self, count: int, width: int, what: str) -> None:
        """Refuse a count of things that take more bytes than are left."""
        left = self.size - self.pos
        if count * width > left:
            raise FormatError(
                f"gguf: {what} is {count}, which needs at least {count * width} bytes,"
                f" but {left} are left; the file is damaged or cut off"
            )

    def numbers(self, form: str, what: str) -> tuple:
        return struct.unpack_from(form, self.data, self.take(struct.calcsize(form), what))

    def number(self, form: str, what: str) -> Any:
        return self.numbers("<" + form, what)[0]

    def string(self, what: str, limit: int = 1 << 64) -> str:
        n = self.number("Q", "the length of " + what)
        if n > limit:
            raise FormatError(f"gguf: {what} is {n} bytes long; at most {limit} are allowed")
        begin = self.take(n, what)
        return text(self.data[begin : self.pos], what)

    def value(self, kind: int, what: str) -> Any:
        if kind in NUMBERS:
            return self.number(NUMBERS[kind], what)
        if kind == STRING:
            return self.string(what)
        if kind == BOOL:
            return self.bools(1, what)[0]
        if kind == ARRAY:
            return self.array(what)
        raise FormatError(f"gguf: {what} has the unknown type {kind}; types go from 0 to 12")

    def bools(self, n: int, what: str) -> list[bool]:
        begin = self.take(n, what)
        raw = self.data[begin : self.pos]
        if raw.count(0) + raw.count(1) != n:
            raise FormatError(f"gguf: {what} holds a bool that is neither 0 nor 1")
        return [b == 1 for b in raw]

    def array(self, what: str) -> Any:
        kind, n = self.numbers("<IQ", "the array header of " + what)
        if kind == STRING:
            return self.strings(n, what)
        if kind == BOOL:
            return self.bools(n, what)
        if kind == ARRAY:
            raise FormatError(f"gguf: {what} is an array of arrays; llama.cpp refuses them as well")
        if kind not in NUMBERS:
            raise FormatError(f"gguf: {what} is an array of the unknown type {kind}")
        out = array(NUMBERS[kind])  # as compact as the file: a list would be five times its size
        begin = self.take(n * out.itemsize, what)
        out.frombytes(self.data[begin : self.pos])
        if sys.byteorder == "big":
            out.byteswap()
        return out

    def strings(self, n: int, what: str) -> list[str]:
        """Half of the parse time of a real file: 98,000 strings, so the checks are kept inline."""
        self.plausible(n, 8, f"the length of {what}")
        data, pos, end = self.data, self.pos, len(self.data)
        length = struct.Struct("<Q").unpack_from
        out = []
        for i in range(n):
            begin = pos + 8
            if begin > end or (pos := begin + length(data, pos)[0]) > end:
                self.pos = begin - 8
                self.string(f"string {i} of {what}")  # asks for more or says what is wrong
            out.append(data[begin:pos])
        self.pos = pos
        return [text(raw, what) for raw in out]


def text(raw: bytes, what: str) -> str:
    """UTF-8 or a FormatError."""
    try:
        return raw.decode()
    except UnicodeDecodeError as e:
        raise FormatError(f"gguf: {what} is not UTF-8: {e.reason} at its byte {e.start}") from None
