"""Tensor: a shape, a dtype, a view of a device's bytes, and its place on the tape."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import replace
from math import prod
from typing import Any

from ..core.dtype import DType, Shape, dtype, f32, i32
from ..core.errors import DeviceError, DTypeError, ShapeError
from ..core.lazy import np
from ..core.schema import Info
from ..gpu.device import Device, Storage, View
from ..gpu.host import HostDevice
from ..ops.op import Caps
from .values import NARROW, NUMPY, code, flatten, kind_of, nest, numpy_type, shape_of, values

_current: list[Any] = []
_precision = ["highest"]


def default_device() -> Any:
    """The device new tensors go to; DeviceError before there is one."""
    if not _current:
        raise DeviceError(
            "device: none is open; `await nibblegrad.device('webgpu')` in a page, or 'host' "
            "where numpy is installed"
        )
    return _current[-1]


def set_default_device(dev: Any) -> None:
    """Make a device the default."""
    _current[:] = [dev]


def set_float32_matmul_precision(precision: str) -> None:
    """How exactly f32 matrices are multiplied from now on, as torch names it: "highest" (the start)
    and "high" in f32; "medium" may round the factors to f16 (range 6e-8 to 65504) and sum in f32,
    where the GPU multiplies such matrices. Plans keep what they were recorded with. ValueError for
    another word. Source: torch.set_float32_matmul_precision.
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(
            f"set_float32_matmul_precision: precision must be 'highest', 'high' or 'medium', "
            f"got {precision!r}"
        )
    _precision[:] = [precision]
    if _current and hasattr(_current[-1], "caps"):
        _current[-1].caps = replace(_current[-1].caps, precision=precision)


def get_float32_matmul_precision() -> str:
    """The word set last. Source: torch.get_float32_matmul_precision."""
    return _precision[-1]


def caps_of(info: dict[str, Any]) -> Caps:
    """What routes may know of an adapter; a software one is told by name or by its flag."""
    text = f"{info['vendor']} {info['architecture']} {info['description']}".lower()
    software = info["fallback"] or any(n in text for n in ("swiftshader", "llvmpipe", "lavapipe"))
    limits = info["limits"]
    return Caps(
        bool(software),
        limits["maxComputeInvocationsPerWorkgroup"],
        "packed_4x8_integer_dot_product" in info["language"],
        subgroups=info["subgroups"],
        matrix=info["matrix"] and limits["maxComputeWorkgroupStorageSize"] >= 32768,
        precision=_precision[-1],
    )


async def device(name: str = "webgpu") -> Any:
    """Open "webgpu" (once a page) or "host", and make it the default."""
    if _current and _current[-1].name == name:
        return _current[-1]
    if name == "host":
        made: Any = HostDevice()
    elif name == "webgpu":
        from ..gpu.webgpu import open_device

        made = await open_device(caps_of)
    else:
        raise DeviceError(f"device: '{name}' is not known; known: webgpu host")
    set_default_device(made)
    return made


async def open_default_device() -> Any:
    """The device new tensors go to; the page's GPU where none is open yet."""
    return _current[-1] if _current else await device("webgpu")


class _Gone(Storage):
    """The storage of a value that the tape did not keep."""

    def __init__(self, device: Any):
        self.device, self.nbytes, self.handle = device, 0, None


class Tensor:
    """A row-major array on a device. Operators apply ops; `await t.tolist()` reads it back."""

    def __init__(self, view: View, requires_grad: bool = False):
        self._view = view
        self.requires_grad = requires_grad
        self.grad: Tensor | None = None
        self._node: Any = None
        self._index = 0  # which of its node's outputs this is

    @property
    def shape(self) -> Shape:
        """Sizes, outermost first."""
        return self._view.info.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._view.info.dtype

    @property
    def device(self) -> Device:
        """Where the bytes are."""
        return self._view.storage.device

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self._view.nbytes

    def __repr__(self) -> str:
        grad = ", requires_grad" if self.requires_grad else ""
        return f"Tensor({list(self.shape)}, {self.dtype}, {self.device.name}{grad})"

    # values ----------------------------------------------------------------------------------

    async def tobytes(self) -> bytes:
        """The raw little-endian bytes."""
        return await self.device.read(self._view.storage.handle, self._view.offset, self.nbytes)

    async def numpy(self) -> Any:
        """A numpy array, the caller's own; DeviceError where there is no numpy."""
        kind = numpy_type(self.dtype)
        try:
            read = np.frombuffer
        except ImportError:
            raise DeviceError("numpy: it is not loaded here; use `await t.tolist()`") from None
        return read(bytearray(await self.tobytes()), kind).reshape(self.shape)

    async def tolist(self) -> Any:
        """Nested lists, or a number for rank 0. Works without numpy."""
        flat = array(code(self.dtype))
        flat.frombytes(await self.tobytes())
        return nest(values(flat, self.dtype), self.shape)

    async def item(self) -> float | int:
        """The value of a one-element tensor."""
        if prod(self.shape) != 1:
            raise ShapeError(f"item: one element is needed, got {list(self.shape)}")
        flat = array(code(self.dtype))
        flat.frombytes(await self.tobytes())
        return values(flat, self.dtype)[0]

    def write_(self, data: Any) -> Tensor:
        """Overwrite the elements with bytes of the same size."""
        raw = memoryview(data).cast("B")
        if raw.nbytes != self.nbytes:
            raise ShapeError(f"write_: {self.nbytes} bytes are needed, got {raw.nbytes}")
        padded = raw if raw.nbytes % 4 == 0 else bytes(raw).ljust(-(-raw.nbytes // 4) * 4, b"\0")
        if raw.nbytes:
            self.device.write(self._view.storage.handle, self._view.offset, padded)
        return self

    # gradient --------------------------------------------------------------------------------

    def backward(self, grad: Tensor | None = None) -> None:
        """Add d self / d t times grad to every t.grad that asked for it. grad defaults to 1."""
        from .tape import backward

        backward(self, grad)

    def detach(self) -> Tensor:
        """The same bytes, off the tape."""
        return Tensor(self._view)

    def ghost(self) -> Tensor:
        """Shape, dtype and place on the tape, without the bytes. A leaf stays itself."""
        if self.requires_grad and self._node is None:
            return self
        view = self._view
        made = Tensor(View(_Gone(view.storage.device), 0, view.info), self.requires_grad)
        made._node, made._index = self._node, self._index
        return made

    # shape and arithmetic --------------------------------------------------------------------

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements under another shape; one size may be -1. No copy."""
        from .apply import reshape

        wanted = shape[0] if shape and isinstance(shape[0], (tuple, list)) else shape
        return reshape(self, resolve(self.shape, tuple(wanted)))

    view = reshape

    def __add__(self, other: Any) -> Tensor:
        return _op("add", self, other)

    def __sub__(self, other: Any) -> Tensor:
        return _op("sub", self, other)

    def __mul__(self, other: Any) -> Tensor:
        return _scale(self, other) if isinstance(other, (int, float)) else _op("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tensor:
        by_number = isinstance(other, (int, float)) and self.dtype is not i32
        return _scale(self, 1 / other) if by_number else _op("div", self, other)

    def __neg__(self) -> Tensor:
        return _scale(self, -1)


def _op(name: str, *args: Any) -> Tensor:
    from ..ops.op import CATALOGUE

    kind = args[0].dtype  # a number takes the tensor's
    return CATALOGUE[name](*[a if isinstance(a, Tensor) else tensor(a, kind) for a in args])


def _scale(x: Tensor, s: float) -> Tensor:
    from ..ops import scale

    return _op("mul", x, s) if x.dtype is i32 else scale(x, s=float(s))


def resolve(old: Shape, new: Shape) -> Shape:
    """`new` with its -1 worked out; ShapeError when the element counts differ."""
    known = prod(n for n in new if n != -1)
    if new.count(-1) == 1 and known and prod(old) % known == 0:
        new = tuple(prod(old) // known if n == -1 else n for n in new)
    if -1 in new or prod(old) != prod(new):
        raise ShapeError(f"reshape: {list(old)} has {prod(old)} elements, not those of {list(new)}")
    return new


def empty(shape: Iterable[int], kind: str | DType = f32, dev: Any = None) -> Tensor:
    """Uninitialised memory."""
    info = Info(tuple(shape), dtype(kind))
    nbytes = info.dtype.nbytes(info.shape)
    return Tensor(View(Storage(dev or default_device(), nbytes), 0, info))


def zeros(shape: Iterable[int], kind: str | DType = f32, dev: Any = None) -> Tensor:
    """Zeros."""
    made = empty(shape, kind, dev)
    return made.write_(bytes(made.nbytes))


def tensor(data: Any, kind: str | DType | None = None, requires_grad: bool = False) -> Tensor:
    """A tensor of a number, nested lists, array.array or numpy array.

    Integers make i32, True and False bool, the rest f32, unless `kind` says otherwise.
    ShapeError for ragged lists.
    """
    if hasattr(data, "__array_interface__"):
        return _from_numpy(data, kind, requires_grad)
    shape = shape_of(data)
    flat = list(flatten(data, shape))
    chosen = dtype(kind) if kind else kind_of(flat)
    made = empty(shape, chosen).write_(array(code(chosen), flat).tobytes())
    made.requires_grad = requires_grad
    return made


def _from_numpy(data: Any, kind: Any, requires_grad: bool) -> Tensor:
    wanted = numpy_type(dtype(kind)) if kind else NARROW.get(str(data.dtype), str(data.dtype))
    names = {v: k for k, v in NUMPY.items()}
    if wanted not in names:
        raise DTypeError(f"tensor: numpy dtype {data.dtype} has no dtype here; cast to float32")
    data = np.asarray(data, wanted)
    made = empty(data.shape, names[wanted]).write_(data.tobytes())  # row-major
    made.requires_grad = requires_grad
    return made
