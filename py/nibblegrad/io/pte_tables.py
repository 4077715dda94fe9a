"""What an ExecuTorch program holds: the flatbuffer's schema, and the plain values made of it.

The schema is executorch 1.5.1's program.fbs, in its order and its names.
"""

from __future__ import annotations

from dataclasses import dataclass

from .flatbuffer import Span, schema

SCHEMA = schema("""
Program version:I execution_plan:[ExecutionPlan] constant_buffer:[Buffer]
    backend_delegate_data:[BackendDelegateInlineData] segments:[DataSegment]
    constant_segment:SubsegmentOffsets mutable_data_segments:[SubsegmentOffsets]
    named_data:[NamedData]
ExecutionPlan name:s container_meta_type:ContainerMetadata values:[EValue] inputs:[i]
    outputs:[i] chains:[Chain] operators:[Operator] delegates:[BackendDelegate]
    non_const_buffer_sizes:[q] non_const_buffer_device:[NonConstBufferDevice]
NonConstBufferDevice buffer_idx:i device_type:b device_index:b
ContainerMetadata encoded_inp_str:s encoded_out_str:s
EValue
    val:Null|Int|Bool|Double|Tensor|String|IntList|DoubleList|BoolList|TensorList|OptionalTensorList
Null
Int int_val:q
Bool bool_val:?
Double double_val:d
String string_val:s
IntList items:[q]
DoubleList items:[d]
BoolList items:[?]
TensorList items:[i]
OptionalTensorList items:[i]
Tensor scalar_type:b storage_offset:i sizes:[i] dim_order:[B] requires_grad:?
    data_buffer_idx:I allocation_info:AllocationDetails layout:b shape_dynamism:b
    extra_tensor_info:ExtraTensorInfo
AllocationDetails memory_id:I memory_offset_low:I memory_offset_high:I
ExtraTensorInfo mutable_data_segments_idx:Q fully_qualified_name:s location:b
    device_type:b device_index:b
Chain inputs:[i] outputs:[i] instructions:[Instruction] stacktrace:[FrameList]
FrameList items:[Frame]
Frame filename:s lineno:i name:s context:s
Instruction instr_args:KernelCall|DelegateCall|MoveCall|JumpFalseCall|FreeCall
KernelCall op_index:i args:[i]
DelegateCall delegate_index:i args:[i]
MoveCall move_from:i move_to:i
JumpFalseCall cond_value_index:i destination_instruction:i
FreeCall value_index:i
Operator name:s overload:s
BackendDelegate id:s processed:BackendDelegateDataReference compile_specs:[CompileSpec]
BackendDelegateDataReference location:b index:I
BackendDelegateInlineData data:bytes
CompileSpec key:s value:[B]
Buffer storage:bytes
DataSegment offset:Q size:Q
SubsegmentOffsets segment_index:I offsets:[Q]
NamedData key:s segment_index:I
""")

# c10/core/ScalarType.h: id: (torch's name, bytes); quantised, complex and 8-bit floats are not read
DTYPES = {
    0: ("uint8", 1),
    1: ("int8", 1),
    2: ("int16", 2),
    3: ("int32", 4),
    4: ("int64", 8),
    5: ("float16", 2),
    6: ("float32", 4),
    7: ("float64", 8),
    11: ("bool", 1),
    15: ("bfloat16", 2),
    27: ("uint16", 2),
    28: ("uint32", 4),
    29: ("uint64", 8),
}
DYNAMISM = ("static", "bound", "unbound")


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor value. `shape` is the upper bound where `dynamism` is "bound".

    data and no memory: a constant; memory and no data: planned scratch, or state that starts
    undefined; both: state that starts as `data`; neither: an input, or made while running.
    """

    dtype: str  # torch's name
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]  # outermost first; (0, 1, 2, ...) is contiguous
    dynamism: str  # static, bound, unbound
    data: Span | None
    memory: tuple[int, int] | None  # (which planned buffer, offset in it)
    name: str  # fully qualified, where the exporter kept it
    external: bool  # its data is in another file, under `name`
    nbytes: int

    @property
    def is_constant(self) -> bool:
        return self.data is not None and self.memory is None


@dataclass(frozen=True, slots=True)
class IntList:
    """Integers by the ids of their values: some change from run to run."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorList:
    """Tensors by the ids of their values; None only in a list of optional tensors."""

    ids: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class FloatList:
    items: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class BoolList:
    items: tuple[bool, ...]


Value = None | bool | int | float | str | Tensor | IntList | FloatList | BoolList | TensorList


@dataclass(frozen=True, slots=True)
class Kernel:
    """An operator by name, "aten::add.out"; ids in schema order.

    `args` is as stored: inputs, out arguments, then what is returned (so an out comes twice).
    """

    op: str
    args: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]  # a returned list is replaced by its members


@dataclass(frozen=True, slots=True)
class DelegateCall:
    """Plan.delegates[delegate] on `args`: its graph's inputs, then its last outputs.

    A graph may have more outputs than the call: first come buffers that it changes and that
    upstream then drops (unless exported with alias_buffer_mutations, when it writes in place).
    """

    delegate: int
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """values[target] becomes values[source]; nothing is copied."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class JumpFalse:
    """Go on at instruction `to` if values[condition] is false: a bool or a bool tensor of one.

    It may go backwards (maps and loops do): whoever runs it counts the steps.
    """

    condition: int
    to: int


@dataclass(frozen=True, slots=True)
class Free:
    """values[value] is not needed any more."""

    value: int


Instruction = Kernel | DelegateCall | Move | JumpFalse | Free


@dataclass(frozen=True, slots=True)
class Delegate:
    """A blob for one backend; "VulkanBackend" is read by io/vkgraph.py."""

    id: str
    blob: Span
    specs: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Plan:
    """One method of the module."""

    name: str
    values: tuple[Value, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    chains: tuple[tuple[Instruction, ...], ...]  # run one after the other; there is one today
    operators: tuple[str, ...]
    delegates: tuple[Delegate, ...]
    memory: tuple[int, ...]  # bytes of each planned buffer; 0 is never used
    in_tree: str  # torch's pytree of the inputs and outputs, as JSON text
    out_tree: str


@dataclass(frozen=True, slots=True)
class Program:
    """A .pte file without its weights: every Span is a place in the file."""

    plans: dict[str, Plan]
    named: dict[str, Span]  # what delegates ask for by name, mostly their weights
    size: int
