"""LoRA (arXiv 2106.09685): y = base(x) + scaling * B(A(dropout(x))), base frozen. PEFT's names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .. import ops
from ..core.errors import ShapeError
from ..core.tree import walk
from ..nn import Layer, Linear, Q4Linear
from ..tensor import Tensor, zeros

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class LoraConfig:
    """peft.LoraConfig's fields that shape the maths."""

    r: int = 8
    lora_alpha: float = 16
    lora_dropout: float = 0.0
    target_modules: tuple[str, ...] = ("q_proj", "v_proj")
    use_rslora: bool = False
    seed: int = 0

    @property
    def scaling(self) -> float:
        """lora_alpha / r, or / sqrt(r) for rank-stabilised LoRA (arXiv 2312.03732)."""
        return self.lora_alpha / (math.sqrt(self.r) if self.use_rslora else self.r)


class LoraLinear(Layer):
    """A frozen linear and its trainable low-rank companion. lora_A [r, in], lora_B [out, r]."""

    def __init__(self, base: Any, config: LoraConfig, number: int):
        self.base, self._config, self._number = base, config, number
        self.in_features, self.out_features = base.in_features, base.out_features
        self.lora_A = zeros((config.r, base.in_features))
        self.lora_B = zeros((base.out_features, config.r))
        bound = 1 / math.sqrt(base.in_features)  # kaiming_uniform(a=sqrt(5)), as PEFT starts A
        ops.uniform(self.lora_A, -bound, bound, config.seed, number)
        self.lora_A.requires_grad = self.lora_B.requires_grad = True
        self._dropout_seed: Any = None  # set while training: a number or a step symbol

    def __call__(self, x: Tensor) -> Tensor:
        config, low = self._config, x
        if config.lora_dropout and self._dropout_seed is not None:
            low = ops.dropout(x, config.lora_dropout, self._dropout_seed, self._number)
        low = ops.linear(low, self.lora_A)  # before base: its gradient is added to base's
        return ops.linear_add(self.base(x), low, self.lora_B, alpha=config.scaling)


def lora(model: Any, config: LoraConfig | None = None, **options: Any) -> LoraConfig:
    """Attach LoRA to every linear whose name ends in one of target_modules; returns the config.

    Options are LoraConfig's fields: r, lora_alpha, lora_dropout, target_modules, use_rslora, seed.
    A model that has LoRA already gets it anew. Raises ShapeError for values that make no sense and
    for a target that no layer has.
    """
    if "target_modules" in options:
        targets = options["target_modules"]
        options["target_modules"] = (targets,) if isinstance(targets, str) else tuple(targets)
    config = config or LoraConfig(**options)
    _check(config)
    detach(model)
    found = [
        path for path, _ in _linears(model) if path.rpartition(".")[2] in config.target_modules
    ]
    missing = set(config.target_modules) - {path.rpartition(".")[2] for path in found}
    if missing:
        known = sorted({path.rpartition(".")[2] for path, _ in _linears(model)})
        raise ShapeError(
            f"lora: no layer is called {', '.join(sorted(missing))}; target_modules may be "
            f"{' '.join(known)}"
        )
    for number, path in enumerate(found):
        parent, name = owner(model, path)
        setattr(parent, name, LoraLinear(getattr(parent, name), config, number))
    model._lora = config
    changed(model)
    return config


def _check(config: LoraConfig) -> None:
    if not isinstance(config.r, int) or config.r < 1:
        raise ShapeError(f"lora: r must be a positive whole number, got {config.r}")
    if config.lora_alpha <= 0:
        raise ShapeError(f"lora: lora_alpha must be positive, got {config.lora_alpha}")
    if not 0 <= config.lora_dropout < 1:
        raise ShapeError(f"lora: lora_dropout must be in [0, 1), got {config.lora_dropout}")
    if not config.target_modules:
        raise ShapeError("lora: target_modules is empty; name at least one layer")


def _linears(model: Any) -> list[tuple[str, Any]]:
    found = [*walk(model, Linear), *walk(model, Q4Linear)]
    return [(path, layer) for path, layer in found if path != "lm_head"]


def layers(model: Any) -> list[tuple[str, LoraLinear]]:
    """(dotted name, layer) of every LoRA layer."""
    return list(walk(model, LoraLinear))


def owner(model: Any, path: str) -> tuple[Any, str]:
    """The object that holds the attribute at a dotted path, and its name there."""
    *outer, name = path.split(".")
    for part in outer:
        model = model[int(part)] if part.isdigit() else getattr(model, part)
    return model, name


def detach(model: Any) -> None:
    """Take LoRA off again."""
    for path, layer in layers(model):
        parent, name = owner(model, path)
        setattr(parent, name, layer.base)
    changed(model)


def changed(model: Any) -> None:
    """Recorded decoders no longer match the model's layers."""
    model._generators.clear()
