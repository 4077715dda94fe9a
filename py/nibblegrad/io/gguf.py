"""GGUF v2 and v3 headers (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).

Every count is held against the bytes that are left before anything is made of that size.
"""

from itertools import pairwise
from typing import Any

from ..core.errors import FormatError
from .gguf_reader import UINT32, Reader
from .header import Header, NeedMore, TensorInfo, quote, refuse

__all__ = ["Header", "NeedMore", "TensorInfo", "parse"]

BLOCKS = {  # type: (weights in a block, bytes of a block)
    "F32": (1, 4),
    "F16": (1, 2),
    "BF16": (1, 2),
    "Q8_0": (32, 34),
    "Q4_0": (32, 18),
    "Q4_1": (32, 20),
}
# ggml.h, enum ggml_type; 4, 5, 31 - 33 and 36 - 38 were removed but live on in old files
TYPE_NAMES = (
    "F32 F16 Q4_0 Q4_1 Q4_2 Q4_3 Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS"
    " IQ2_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ2_S IQ4_XS I8 I16 I32 I64 F64 IQ1_M BF16 Q4_0_4_4"
    " Q4_0_4_8 Q4_0_8_8 TQ1_0 TQ2_0 IQ4_NL_4_4 IQ4_NL_4_8 IQ4_NL_8_8 MXFP4 NVFP4 Q1_0"
)
TYPES = dict(enumerate(TYPE_NAMES.split()))
MAX_DIMS = 4  # GGML_MAX_DIMS
MAX_KEY, MAX_NAME = 65535, 64  # the specification's limits, in bytes
MIN_PAIR, MIN_TENSOR = 8 + 4 + 1, 8 + 4 + 8 + 4 + 8


def parse(read_prefix: bytes, file_size: int) -> Header:
    """Read the header of a GGUF file from its first bytes; NeedMore when they are too few."""
    r = Reader(read_prefix, file_size)
    n_tensors, n_pairs = preamble(r)
    metadata: dict[str, Any] = {}
    alignment = 32
    for i in range(n_pairs):
        key, kind, value = pair(r, i)
        if key in metadata:
            raise FormatError(f"gguf: key {quote(key)} is there twice")
        metadata[key] = value
        if key == "general.alignment":
            alignment = checked_alignment(kind, value)
    infos = [tensor_fields(r, i) for i in range(n_tensors)]
    start = -(-r.pos // alignment) * alignment
    return Header("gguf", metadata, locate(infos, start, alignment, file_size), start)


def preamble(r: Reader) -> tuple[int, int]:
    """Magic, version and the two counts."""
    if not b"GGUF".startswith(r.data[:4]):
        raise FormatError(f"gguf: magic is {r.data[:4]!r}, not b'GGUF'; this is another format")
    r.take(4, "the magic")
    version = r.number("I", "the version")
    if version and version & 0xFFFF == 0:
        raise FormatError("gguf: file is big-endian; convert it with gguf-py's gguf_convert_endian")
    if version not in (2, 3):
        raise FormatError(f"gguf: version is {version}; supported: 2 3")
    n_tensors = r.number("Q", "the tensor count")
    n_pairs = r.number("Q", "the metadata count")
    r.plausible(n_pairs, MIN_PAIR, "metadata count")
    r.plausible(n_tensors, MIN_TENSOR, "tensor count")
    return n_tensors, n_pairs


def pair(r: Reader, i: int) -> tuple[str, int, Any]:
    """One metadata entry: key, value type, value."""
    key = r.string(f"the key of metadata entry {i}", MAX_KEY)
    if not key:
        raise FormatError(f"gguf: metadata entry {i} has an empty key")
    kind = r.number("I", f"the type of {quote(key)}")
    return key, kind, r.value(kind, f"the value of {quote(key)}")


def checked_alignment(kind: int, value: Any) -> int:
    """general.alignment, if it can be one."""
    if kind != UINT32:
        raise FormatError(f"gguf: general.alignment has value type {kind}; it must be 4 (uint32)")
    if value == 0 or value & (value - 1):
        raise FormatError(f"gguf: general.alignment is {value}; it must be a power of two")
    return value


def tensor_fields(r: Reader, i: int) -> tuple[str, tuple[int, ...], int, int]:
    """One tensor entry as stored: name, dims (contiguous first), type id, offset in the data."""
    name = r.string(f"the name of tensor {i}", MAX_NAME)
    n_dims = r.number("I", f"the number of dims of {quote(name)}")
    if not 1 <= n_dims <= MAX_DIMS:
        raise FormatError(f"gguf: tensor {quote(name)} has {n_dims} dims; 1 to {MAX_DIMS} are read")
    dims = r.numbers(f"<{n_dims}Q", f"the dims of {quote(name)}")
    kind, offset = r.numbers("<IQ", f"the type and offset of {quote(name)}")
    return name, dims, kind, offset


def locate(infos: list, start: int, alignment: int, file_size: int) -> dict[str, TensorInfo]:
    """Check all tensors, tell all faults at once, and give each its place in the file."""
    tensors: dict[str, TensorInfo] = {}
    faults = []
    for name, dims, kind, offset in infos:
        fault, nbytes = tensor_bytes(dims, kind)
        if name in tensors:
            fault = "is there twice"
        elif not fault and offset % alignment:
            fault = f"has offset {offset}, not a multiple of the alignment {alignment}"
        elif not fault and start + offset + nbytes > file_size:
            fault = f"ends at byte {start + offset + nbytes}, but the file has {file_size}"
        if fault:
            faults.append(f"tensor {quote(name)} {fault}")
        shape = tuple(reversed(dims))
        tensors[name] = TensorInfo(name, TYPES.get(kind, "?"), shape, start + offset, nbytes)
    refuse("gguf", faults or overlaps(tensors))
    return tensors


def tensor_bytes(dims: tuple[int, ...], kind: int) -> tuple[str, int]:
    """What is wrong with a tensor's type or dims (or nothing), and its size."""
    name = TYPES.get(kind, f"id {kind}")
    if name not in BLOCKS:
        return f"has type {name}, which is not supported; supported: {' '.join(BLOCKS)}", 0
    block, width = BLOCKS[name]
    if 0 in dims:
        return f"has a dim of 0 in {list(dims)}", 0
    if dims[0] % block:
        return f"has k={dims[0]}, but a {name} block holds {block} weights", 0
    size = width
    for dim in (dims[0] // block, *dims[1:]):
        size *= dim
    if size >= 1 << 63:
        return f"has dims {list(dims)}, whose product overflows", 0
    return "", size


def overlaps(tensors: dict[str, TensorInfo]) -> list[str]:
    """Tensors that begin before the one in front of them ends."""
    row = sorted(tensors.values(), key=lambda t: t.offset)
    return [
        f"tensor {quote(b.name)} overlaps {quote(a.name)} at byte {b.offset}"
        for a, b in pairwise(row)
        if b.offset < a.offset + a.nbytes
    ]
