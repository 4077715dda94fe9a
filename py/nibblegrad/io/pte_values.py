"""A program's values and instructions, made of its tables; every id is checked."""

from math import prod
from typing import Any

from .pte_places import Places
from .pte_tables import (
    DTYPES,
    DYNAMISM,
    BoolList,
    DelegateCall,
    FloatList,
    Free,
    Instruction,
    IntList,
    JumpFalse,
    Kernel,
    Move,
    Tensor,
    TensorList,
    Value,
)

MAX_RANK = 16  # kTensorDimensionLimit of ExecuTorch
COPY_INDEX = "executorch_prim::et_copy_index.tensor"  # to, from, row: grows `to`, returns nothing
SCALARS = {"Int": "int_val", "Bool": "bool_val", "Double": "double_val", "String": "string_val"}


def value(table: dict[str, Any] | None, files: Places, memory: tuple[int, ...], what: str) -> Value:
    """One value; a list of ids is checked when all values are known."""
    if table is None:
        files.faults.append(f"{what} is of no type")
        return None
    kind = table["is"]
    if kind == "Tensor":
        return tensor(table, files, memory, what)
    if kind in SCALARS:
        return table[SCALARS[kind]]
    if kind == "OptionalTensorList":
        return TensorList(tuple(None if i == -1 else i for i in table["items"]))
    lists = {"IntList": IntList, "DoubleList": FloatList, "BoolList": BoolList}
    lists["TensorList"] = TensorList
    return lists[kind](table["items"]) if kind in lists else None


def tensor(
    table: dict[str, Any], files: Places, memory: tuple[int, ...], what: str
) -> Tensor | None:
    """A tensor with its place in the file or in planned memory."""
    kind, dynamism, shape = table["scalar_type"], table["shape_dynamism"], table["sizes"]
    if fault := tensor_fault(table):
        files.faults.append(f"{what} {fault}")
        return None
    dtype, width = DTYPES[kind]
    nbytes = width * prod(shape)
    extra = table["extra_tensor_info"] or {"fully_qualified_name": "", "location": 0}
    place = planned(table["allocation_info"], memory, nbytes, what, files.faults)
    return Tensor(
        dtype=dtype,
        shape=shape,
        dim_order=table["dim_order"],
        dynamism=DYNAMISM[dynamism],
        data=files.tensor(table, nbytes, what),
        memory=place,
        name=extra["fully_qualified_name"],
        external=extra["location"] == 1,
        nbytes=nbytes,
    )


def tensor_fault(table: dict[str, Any]) -> str:
    """What is wrong with a tensor's type and sizes, or nothing."""
    kind, shape, order = table["scalar_type"], table["sizes"], table["dim_order"]
    if kind not in DTYPES:
        names = " ".join(name for name, _ in DTYPES.values())
        return f"has scalar type {kind}, which is not supported; supported: {names}"
    if len(shape) > MAX_RANK or any(n < 0 for n in shape) or prod(shape) >= 1 << 60:
        return f"has sizes {list(shape)!s:.80}"
    if sorted(order) != list(range(len(shape))):
        return f"has dim order {list(order)!s:.80} for {len(shape)} dims"
    if not 0 <= table["shape_dynamism"] < len(DYNAMISM):
        return f"has shape dynamism {table['shape_dynamism']}; it goes to {len(DYNAMISM) - 1}"
    if table["storage_offset"] or table["layout"]:
        return f"has storage offset {table['storage_offset']}, layout {table['layout']}; both are 0"
    return ""


def planned(
    table: dict[str, Any] | None, memory: tuple[int, ...], nbytes: int, what: str, faults: list[str]
) -> tuple[int, int] | None:
    """Which of the plan's buffers, and where in it."""
    if table is None:
        return None
    which = table["memory_id"]
    offset = table["memory_offset_low"] | table["memory_offset_high"] << 32
    if not 0 < which < len(memory):
        faults.append(f"{what} is in buffer {which}; there are 1 to {len(memory) - 1}")
    elif offset + nbytes > memory[which]:
        faults.append(f"{what} ends at byte {offset + nbytes} of buffer {which}: {memory[which]}")
    return which, offset


class Values:
    """Ids against the values that there are."""

    def __init__(self, values: list[Value], faults: list[str], who: str):
        self.values, self.faults, self.who = values, faults, who

    def known(self, ids: tuple[int, ...], what: str) -> tuple[int, ...]:
        """The ids, or a fault and none if one is out of range."""
        n = len(self.values)
        if bad := [i for i in ids if not 0 <= i < n]:
            self.faults.append(f"{self.who}: {what}: value {bad[0]} of {n} does not exist")
            return ()
        return ids

    def check_lists(self) -> None:
        """Lists hold ids of the right kind, so never of lists."""
        for i, value in enumerate(self.values):
            if not isinstance(value, (IntList, TensorList)):
                continue
            kind = int if isinstance(value, IntList) else Tensor
            ids = self.known(tuple(j for j in value.ids if j is not None), f"list {i}")
            if bad := [j for j in ids if type(self.values[j]) is not kind]:
                self.faults.append(f"{self.who}: list {i}: value {bad[0]} is no {kind.__name__}")

    def chain(
        self, table: dict[str, Any], operators: list[str], n_delegates: int
    ) -> tuple[Instruction, ...]:
        """The instructions of one chain; those with a fault are left out."""
        row, out = table["instructions"], []
        for i, entry in enumerate(row):
            args = entry["instr_args"]
            limits = {"KernelCall": len(operators), "DelegateCall": n_delegates}
            if args is None:
                self.faults.append(f"{self.who}: instruction {i} is of no type")
            elif fault := self.instruction_fault(args, limits, len(row), f"instruction {i}"):
                self.faults.append(f"{self.who}: instruction {i} {fault}")
            else:
                out.append(self.instruction(args, operators))
        return tuple(out)

    def instruction_fault(self, args: dict, limits: dict, length: int, what: str) -> str:
        kind, n = args["is"], len(self.values)
        index = args.get("op_index", args.get("delegate_index", 0))
        if kind in limits and not 0 <= index < limits[kind]:
            return f"calls {kind[:-4].lower()} {index} of {limits[kind]}"
        if kind == "KernelCall" and not args["args"]:
            return "has no arguments, so no result"
        ids = args.get("args", ())
        ids += tuple(
            v for k, v in args.items() if k.startswith("move_") or k.endswith("value_index")
        )
        if bad := [i for i in ids if not 0 <= i < n]:
            return f"has value {bad[0]} of {n}"
        to = args.get("destination_instruction", 0)
        return "" if 0 <= to <= length else f"jumps to {to} of {length}"

    def instruction(self, t: dict[str, Any], operators: list[str]) -> Instruction:
        kind = t["is"]
        if kind == "KernelCall":
            op, args = operators[t["op_index"]], t["args"]
            return Kernel(op, args, *((args, args[:1]) if op == COPY_INDEX else self.split(args)))
        if kind == "DelegateCall":
            return DelegateCall(t["delegate_index"], t["args"])
        if kind == "MoveCall":
            return Move(t["move_from"], t["move_to"])
        if kind == "JumpFalseCall":
            return JumpFalse(t["cond_value_index"], t["destination_instruction"])
        return Free(t["value_index"])

    def split(self, args: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Inputs and outputs of a kernel call.

        The last id is what is returned. In front of it stand the out arguments: the same id
        (a tensor, or a list where the schema has `Tensor(a!)[] out`), or the members of the
        returned list; symbolic operators and views have none.
        """
        last = args[-1]
        found = self.values[last]
        many = isinstance(found, TensorList)
        members = tuple(i for i in found.ids if i is not None) if many else (last,)
        before = self.values[args[-2]] if len(args) > 1 else None
        if args[-2:-1] == (last,) or (many and before == found):
            return args[:-2], members
        n = len(members)
        if many and args[-1 - n : -1] == members:
            return args[: -1 - n], members
        return args[:-1], members
