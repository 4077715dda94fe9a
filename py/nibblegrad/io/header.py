"""What every weight file's header comes down to, and how its faults are told. Knows no format."""

from dataclasses import dataclass
from typing import Any, NoReturn

from ..core.errors import FormatError

MAX_HEADER = 100_000_000  # the Rust safetensors reader's limit; a longer one is a lie or a bomb
SHOWN = 20  # a Q4_K_M file has 200 tensors of a type that is not supported: nobody reads them all


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor lies; `shape` in torch's order, `offset` from the start of the file."""

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """A weight file without its weights."""

    format: str
    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]
    data_start: int


class NeedMore(Exception):
    """The header goes on past the bytes given: call again with `bytes_wanted` bytes of the file."""

    def __init__(self, bytes_wanted: int):
        super().__init__(f"header needs {bytes_wanted} bytes")
        self.bytes_wanted = bytes_wanted


def want(who: str, end: int, have: int, file_size: int) -> NoReturn:
    """Ask for bytes up to `end`, doubling what is there so that few calls are needed."""
    if end > MAX_HEADER:
        raise FormatError(f"{who}: header needs {end} bytes; at most {MAX_HEADER} are read")
    raise NeedMore(min(file_size, max(end, 2 * have, 1 << 16)))


def refuse(who: str, faults: list[str], shown: int = SHOWN) -> None:
    """Raise all faults as one error; none, no error."""
    if not faults:
        return
    if len(faults) == 1:
        raise FormatError(f"{who}: {faults[0]}")
    rest = [f"and {len(faults) - shown} more"] if len(faults) > shown else []
    raise FormatError("\n  ".join([f"{who}: {len(faults)} faults", *faults[:shown], *rest]))


def quote(name: str) -> str:
    """A name from a file, safe and short enough to print."""
    return ascii(name) if len(name) <= 80 else ascii(name[:77]) + "..."
