"""Fine-tuning: LoRA adapters in PEFT's words and layout, data, the training loop."""

from ..io.chat import encode_chat, read_chat
from .adapter import load_adapter, save_adapter
from .lora import LoraConfig, LoraLinear, lora
from .trainer import Step, Trainer

__all__ = [
    "LoraConfig", "LoraLinear", "Step", "Trainer", "encode_chat", "load_adapter", "lora",
    "read_chat", "save_adapter",
]  # fmt: skip
