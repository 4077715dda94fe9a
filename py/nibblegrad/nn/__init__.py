"""Layers: plain classes that hold tensors; parameters are found by walking their attributes."""

from .attention import Attention, Cache, Rope
from .layers import Embedding, Layer, Linear, Q4Linear, RMSNorm

__all__ = ["Attention", "Cache", "Embedding", "Layer", "Linear", "Q4Linear", "RMSNorm", "Rope"]
