"""Layers: plain classes that hold tensors; parameters are found by walking their attributes."""

from .attention import Attention, Cache, Rope
from .layers import Embedding, Layer, Linear, Q4Linear, RMSNorm
from .loss import head_loss

__all__ = [
    "Attention", "Cache", "Embedding", "Layer", "Linear", "Q4Linear", "RMSNorm", "Rope",
    "head_loss",
]  # fmt: skip
