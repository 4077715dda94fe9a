"""Adapters in PEFT's layout: adapter_config.json and adapter_model.safetensors, exact key names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..core.errors import FormatError
from ..gpu.webgpu import finish
from ..io import safetensors
from ..io.names import unpermute_rows
from .lora import LoraConfig, layers, lora

PREFIX = "base_model.model."
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


async def save_adapter_async(model: Any, folder: str) -> list[str]:
    """Write the model's LoRA to a folder; the files' paths.

    The files appear whole or not at all: each is written under another name, then renamed. Raises
    FormatError when a weight is not finite: such an adapter is of no use to anyone.
    """
    tensors: dict[str, tuple[str, tuple[int, ...], bytes]] = {}
    for path, layer in layers(model):
        for part in ("lora_A", "lora_B"):
            t = getattr(layer, part)
            raw = await t.tobytes()
            _check_finite(f"{path}.{part}", raw)
            if part == "lora_B":
                raw = _rows(raw, 4 * t.shape[1], _order(model, path))
            tensors[f"{PREFIX}{path}.{part}.weight"] = ("F32", t.shape, raw)
    if not tensors:
        raise FormatError("save_adapter: the model has no LoRA to save")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    _write(target / WEIGHTS, safetensors.dump(tensors, {"format": "pt"}))
    _write(target / CONFIG, json.dumps(_config(model), indent=2).encode() + b"\n")
    return [str(target / CONFIG), str(target / WEIGHTS)]


def save_adapter(model: Any, folder: str) -> Any:
    """Write the model's LoRA to a folder, in PEFT's layout. Await it, or in a page where Python may
    wait (JSPI) just call it."""
    return finish(save_adapter_async(model, folder))


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FormatError(f"save_adapter: '{path}' cannot be written: {error.strerror}") from None


def _check_finite(name: str, raw: bytes) -> None:
    """An f32 whose exponent is all ones is inf or nan."""
    words = memoryview(raw).cast("I")
    if any(w & 0x7F800000 == 0x7F800000 for w in words):
        raise FormatError(f"save_adapter: {name} holds a value that is not finite; not saved")


def _order(model: Any, path: str) -> list[int] | None:
    """Where Hugging Face's rows lie in a q or k of a file with interleaved rotary rows."""
    heads = {"q_proj": model.config.num_attention_heads, "k_proj": model.config.num_key_value_heads}
    name = path.rpartition(".")[2]
    if not model.rope.interleaved or name not in heads:
        return None
    return unpermute_rows(heads[name], model.config.head_dim)


def _rows(raw: bytes, width: int, order: list[int] | None) -> bytes:
    """Rows of `width` bytes taken in that order."""
    if order is None:
        return raw
    return b"".join(raw[width * i : width * (i + 1)] for i in order)


def _config(model: Any) -> dict[str, Any]:
    c: LoraConfig = model._lora
    return {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "auto_mapping": None,
        "base_model_name_or_path": model.info.get("title") or model.info.get("name") or "",
        "bias": "none", "fan_in_fan_out": False, "inference_mode": True, "init_lora_weights": True,
        "r": c.r, "lora_alpha": c.lora_alpha, "lora_dropout": c.lora_dropout,
        "target_modules": sorted(c.target_modules), "use_rslora": c.use_rslora, "use_dora": False,
        "modules_to_save": None, "layers_to_transform": None, "layers_pattern": None,
        "rank_pattern": {}, "alpha_pattern": {}, "revision": None,
    }  # fmt: skip


def load_adapter(model: Any, folder: str) -> LoraConfig:
    """Attach an adapter that PEFT or save_adapter wrote. FormatError names every bad tensor."""
    config = _read_config(Path(folder) / CONFIG)
    raw = _read(Path(folder) / WEIGHTS)
    header = safetensors.parse(raw, len(raw))
    lora(model, config)
    wanted = {f"{PREFIX}{path}.{part}.weight": (path, getattr(layer, part))
              for path, layer in layers(model) for part in ("lora_A", "lora_B")}  # fmt: skip
    faults = [f"'{n}' is missing" for n in wanted.keys() - header.tensors.keys()]
    faults += [f"'{n}' belongs to no layer" for n in header.tensors.keys() - wanted.keys()]
    for name in wanted.keys() & header.tensors.keys():
        info, t = header.tensors[name], wanted[name][1]
        if info.type != "F32" or tuple(info.shape) != t.shape:
            got = f"{info.type} {list(info.shape)}"
            faults.append(f"'{name}' is {got}, not F32 {list(t.shape)}")
    if faults:
        raise FormatError(f"load_adapter: {'; '.join(sorted(faults))}")
    for name, (path, t) in wanted.items():
        info = header.tensors[name]
        data = raw[info.offset : info.offset + info.nbytes]
        order = _order(model, path) if ".lora_B." in name else None
        t.write_(_rows(data, 4 * t.shape[1], order and _inverse(order)))
    return config


def _inverse(order: list[int]) -> list[int]:
    out = [0] * len(order)
    for i, at in enumerate(order):
        out[at] = i
    return out


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"load_adapter: '{path}' cannot be read: {error.strerror}") from None


def _read_config(path: Path) -> LoraConfig:
    try:
        meta = json.loads(_read(path))
    except ValueError as error:
        raise FormatError(f"load_adapter: '{path}' is not JSON: {error}") from None
    if (
        meta.get("peft_type") != "LORA"
        or meta.get("use_dora")
        or meta.get("bias", "none") != "none"
    ):
        raise FormatError(f"load_adapter: '{path}' is not a plain LoRA (no DoRA, no bias)")
    targets = meta["target_modules"]
    names = (targets,) if isinstance(targets, str) else tuple(targets)
    return LoraConfig(meta["r"], meta["lora_alpha"], meta.get("lora_dropout", 0.0), names,
                      bool(meta.get("use_rslora")))  # fmt: skip
