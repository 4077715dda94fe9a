"""What a Vulkan delegate's graph holds: the flatbuffer's schema, and the plain values made of it.

The schema is executorch 1.5.1's backends/vulkan/serialization/schema.fbs. Storage, layout and
node ids speak of textures and debuggers; only what computes is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .flatbuffer import Span, schema
from .pte_tables import BoolList, FloatList

SCHEMA = schema("""
VkGraph version:s chain:[OperatorCall] values:[VkValue] input_ids:[I] output_ids:[I]
    constants:[VkBytes] shaders:[VkBytes] storage_type_override:B=255 memory_layout_override:B=255
OperatorCall node_id:I name:s args:[i]
VkValue
    value:Null|Int|Double|Bool|VkTensor|IntList|DoubleList|BoolList|ValueList|String|SymInt
Null
Int int_val:q
Double double_val:d
Bool bool_val:?
VkTensor datatype:b dims:[I] constant_id:i mem_obj_id:i storage_type:B=255
    memory_layout:B=255 staging_datatype:b=127
IntList items:[q]
DoubleList items:[d]
BoolList items:[?]
ValueList items:[i]
String string_val:s
SymInt value:i
VkBytes offset:Q length:Q named_key:s
""")

DTYPES = {
    0: ("bool", 1),
    1: ("uint8", 1),
    2: ("int8", 1),
    3: ("int32", 4),
    4: ("float16", 2),
    5: ("float32", 4),
    6: ("float64", 8),
    7: ("int64", 8),
}
NAMED = (1 << 64) - 1  # the offset of a constant that lies in the program's named data
MAX_RANK = 16


@dataclass(frozen=True, slots=True)
class Constant:
    """A weight's place in the file; equal weights share one. It may be longer than its tensor."""

    data: Span
    key: str  # SHA-256 of the bytes, or "" where they lie in the blob


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor; `shape` is an upper bound if the program's tensor is dynamic."""

    dtype: str  # torch's name, of the tensor in the graph
    shape: tuple[int, ...]
    constant: int | None  # index in Graph.constants
    memory: int | None  # tensors with the same number may share memory, inputs and outputs too
    outside: str  # the dtype in which it goes in or comes out
    nbytes: int


@dataclass(frozen=True, slots=True)
class SymInt:
    """A whole number known only when running."""

    stored: int


@dataclass(frozen=True, slots=True)
class ValueList:
    """Tensors, or numbers some of which are SymInts, by their ids; never of lists."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IntList:
    items: tuple[int, ...]


Value = (
    None | bool | int | float | str | Tensor | SymInt | ValueList | IntList | FloatList | BoolList
)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator: ids of its arguments in schema order, all of them, and of its results."""

    name: str  # "aten.add.Tensor", "et_vk.prepack.default", "mul" for symbols
    args: tuple[int, ...]
    outputs: tuple[int, ...]  # a list of results is replaced by its members
    node: int


@dataclass(frozen=True, slots=True)
class Graph:
    """One delegate: calls to be made in order."""

    values: tuple[Value, ...]
    chain: tuple[Call, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: tuple[Constant, ...]

    def flat(self, ids: Iterable[int]) -> Iterator[int]:
        """The ids with each list replaced by its members."""
        for i in ids:
            found = self.values[i]
            yield from found.ids if isinstance(found, ValueList) else (i,)
