"""Bytes of a training run by part: estimated by a dry run on a counting device, and counted.

Both take the same path: the estimate is the training plan itself, recorded where nothing runs.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass
from typing import Any

from ..gpu.counting import CountingDevice
from ..gpu.device import Storage, View
from ..gpu.records import size_class
from ..optim import AdamW
from ..tensor import Tensor, default_device, set_default_device
from .lora import layers
from .plans import Plans

BUDGET = 4 << 30  # a page cannot ask how much memory a GPU has; this much most have
UNLIMITED = {"maxBufferSize": 1 << 62}


@dataclass(frozen=True)
class Memory:
    """Bytes on the device. base: the frozen model as stored; adapter: LoRA's weights; optimiser:
    gradients and AdamW's moments; activations: what the tape keeps for the way back; scratch: all
    else, taken again and again."""

    base: int
    adapter: int
    optimiser: int
    activations: int
    scratch: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(asdict(self).values())

    def row(self) -> dict[str, int]:
        """The parts by name, and their total."""
        return asdict(self) | {"total": self.total}

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {size / 2**20:.1f}" for name, size in asdict(self).items())
        return f"{self.total / 2**20:.1f} MiB ({parts})"


def counted(model: Any, optimizer: AdamW, plans: Plans) -> Memory:
    """What the device holds now, pooled buffers too. A device that counts nothing: no scratch."""
    flat = optimizer.flat
    learned = {id(t._view.storage) for t in (flat.data, flat.grads)}
    held = {id(s): s.nbytes for s in _storages(model) if id(s) not in learned}
    base = sum(map(size_class, held.values()))
    adapter, *moments = (
        size_class(t.nbytes) for t in (flat.data, flat.grads, optimizer.m, optimizer.v)
    )
    known = base + adapter + sum(moments) + plans.activations
    stats = flat.data.device.stats()
    total = stats.get("live", 0) + stats.get("pooled", 0)
    return Memory(base, adapter, sum(moments), plans.activations, max(0, total - known))


def _storages(model: Any) -> list[Storage]:
    tensors = [t for _, t in model.named_tensors()]
    if model.rope.rows:
        tensors += [model.rope.cos, model.rope.sin]
    return [t._view.storage for t in tensors]


@dataclass(frozen=True)
class Estimate:
    """A run's bytes before it, and the arena's buffers, for `reserve`."""

    memory: Memory
    arena: tuple[int, ...]


def estimate(model: Any, rows: int, width: int, places: int,
             gradient_checkpointing: bool = False) -> Estimate:  # fmt: skip
    """The bytes of training model's LoRA on micro-batches of up to `rows` rows of `width` tokens,
    `places` of them with loss. Nothing is run; the model is left as it is.

    Raises ShapeError when the model has no LoRA, DeviceError when a buffer would be larger than the
    device allows.
    """
    model.rope.reserve(width)
    real = model.lm_head.weight.device
    before = default_device()
    dev = CountingDevice(getattr(real, "limits", UNLIMITED), getattr(real, "caps", None))
    set_default_device(dev)
    try:
        twin = shadow(model, dev)
        optimizer = AdamW([t for _, x in layers(twin) for t in (x.lora_A, x.lora_B)])
        plans = Plans(twin, optimizer, 1.0, gradient_checkpointing)
        plans.prepare(rows, width, places)
        return Estimate(counted(twin, optimizer, plans), tuple(dev.arena()))
    finally:
        set_default_device(before)


def shadow(model: Any, dev: Any) -> Any:
    """The model with tensors of the same shapes on a counting device; shared bytes stay shared."""
    found = _twin(model, dev, {}, model.rope)
    found._generators = {}
    return found


def _twin(value: Any, dev: Any, moved: dict[int, Storage], rope: Any) -> Any:
    """A tensor, list, layer or the rotary tables again; anything else itself."""
    if isinstance(value, Tensor):
        old = value._view
        if id(old.storage) not in moved:
            moved[id(old.storage)] = Storage(dev, old.storage.nbytes)
        view = View(moved[id(old.storage)], old.offset, old.info)
        return Tensor(view, value.requires_grad)
    if isinstance(value, list):
        return [_twin(v, dev, moved, rope) for v in value]
    if not getattr(value, "is_layer", False) and value is not rope:
        return value
    made = copy.copy(value)
    for name, inner in vars(value).items():
        setattr(made, name, _twin(inner, dev, moved, rope))
    return made
