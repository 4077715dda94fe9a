"""safetensors headers, read and written (https://github.com/huggingface/safetensors).

Every check of the Rust reader, and three it lacks: names that come twice (the last wins there),
fields it does not know, and fields written as a list.
"""

import json
import math
from collections import Counter
from typing import Any

from ..core.errors import FormatError
from .header import MAX_HEADER, Header, NeedMore, TensorInfo, quote, refuse, want
from .json_text import loads

__all__ = ["Header", "NeedMore", "TensorInfo", "dump", "parse"]

WIDTH = {"F32": 4, "F16": 2, "BF16": 2}
FIELDS = {"dtype", "shape", "data_offsets"}


def parse(prefix: bytes, file_size: int) -> Header:
    """Read the header of a safetensors file from its first bytes; NeedMore if they are too few."""
    length = header_length(prefix, file_size)
    start = 8 + length
    if start > len(prefix):
        want("safetensors", start, len(prefix), file_size)
    entries = json_object(bytes(prefix[8:start]))
    metadata = checked_metadata(entries.pop("__metadata__", None))
    faults = [f"tensor {quote(n)} {f}" for n, e in entries.items() if (f := entry_fault(e))]
    refuse("safetensors", faults)
    refuse("safetensors", cover_faults(entries, file_size - start))
    tensors = {
        name: TensorInfo(name, e["dtype"], tuple(e["shape"]), start + begin, end - begin)
        for name, e in entries.items()
        for begin, end in [e["data_offsets"]]
    }
    return Header("safetensors", metadata, tensors, start)


def header_length(prefix: bytes, file_size: int) -> int:
    """The first eight bytes."""
    if file_size < 8:
        raise FormatError(f"safetensors: file has {file_size} bytes; a header needs at least 8")
    if len(prefix) < 8:
        want("safetensors", 8, len(prefix), file_size)
    length = int.from_bytes(prefix[:8], "little")
    if length > MAX_HEADER:
        raise FormatError(f"safetensors: header length is {length}; at most {MAX_HEADER} is read")
    if 8 + length > file_size:
        raise FormatError(f"safetensors: header length is {length}, but the file has {file_size}")
    return length


def json_object(raw: bytes) -> dict[str, Any]:
    """The header's JSON as the Rust reader takes it: no NaN, no -0, no name twice."""
    try:
        value = loads(
            raw.decode(),
            object_pairs_hook=unique,
            parse_int=whole,
            parse_float=finite,
            parse_constant=finite,
        )
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except ValueError as e:
        raise FormatError(f"safetensors: header is not JSON in UTF-8: {e}") from None
    if not isinstance(value, dict):
        raise FormatError(f"safetensors: header is a JSON {type(value).__name__}, not an object")
    return value


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{quote(twice)} is there twice")
    return out


def whole(digits: str) -> int | float:
    """An u64, or a float where Rust would see one: int() of a million digits never runs."""
    small = len(digits) <= 20 and digits[0] != "-"
    return n if small and (n := int(digits)) < 1 << 64 else finite(digits)


def finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is no JSON number")
    return number


def checked_metadata(value: Any) -> dict[str, str]:
    """__metadata__: text to text, or nothing."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise FormatError("safetensors: __metadata__ must be an object of strings")
    return value


def entry_fault(entry: Any) -> str:
    """What is wrong with one tensor's entry, or nothing."""
    if not isinstance(entry, dict) or set(entry) != FIELDS:
        found = sorted(entry) if isinstance(entry, dict) else type(entry).__name__
        return f"has {found!s:.80} where {sorted(FIELDS)} belong"
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in WIDTH:
        return f"has dtype {dtype!s:.40}, which is not supported; supported: {' '.join(WIDTH)}"
    if not whole_list(shape):
        return f"has a shape that is no list of sizes: {shape!s:.80}"
    if not whole_list(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        return f"has data_offsets {offsets!s:.80}; they must be [begin, end]"
    return size_fault(dtype, shape, offsets[1] - offsets[0])


def whole_list(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int for n in value)


def size_fault(dtype: str, shape: list[int], size: int) -> str:
    """Shape against bytes; products overflow where they would in Rust."""
    n = WIDTH[dtype]
    for dim in shape:
        n *= dim
        if n >= 1 << 64:
            return f"has shape {shape!s:.80}, whose product overflows"
    return "" if n == size else f"is {dtype} {shape!s:.80}, {n} bytes, but its offsets hold {size}"


def cover_faults(entries: dict[str, Any], size: int) -> list[str]:
    """Tensors must lie end to end and fill the file: no holes, no overlap, no hidden bytes."""
    faults, at = [], 0
    for name, e in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = e["data_offsets"]
        if begin != at:
            kind = "leaves a hole" if begin > at else "overlaps the one before"
            faults.append(f"tensor {quote(name)} {kind}: begins at {begin}, expected {at}")
        at = end
    if not faults and at != size:
        what = "the file is cut off" if at > size else "bytes that belong to no tensor"
        faults.append(f"tensors take {at} bytes, but {size} follow the header: {what}")
    return faults


def dump(
    tensors: dict[str, tuple[str, tuple[int, ...], bytes]],
    metadata: dict[str, str] | None = None,
) -> bytes:
    """A whole file, byte for byte what the Rust writer makes: wide types first, then by name."""
    header: dict[str, Any] = {}
    if metadata:
        header["__metadata__"] = checked_metadata(metadata)
    faults, parts, at = [], [], 0
    for name in sorted(tensors, key=lambda n: (-WIDTH.get(tensors[n][0], 0), tensors[n][0], n)):
        dtype, shape, raw = tensors[name]
        offsets = [at, at + len(raw)]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": offsets}
        if fault := entry_fault(header[name]):
            faults.append(f"tensor {quote(name)} {fault}")
        parts.append(raw)
        at += len(raw)
    refuse("safetensors", faults)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # so that the data begins on a multiple of 8
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])
