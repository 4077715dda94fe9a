"""Linear, its 4-bit twin, Embedding, RMSNorm."""

from __future__ import annotations

from collections.abc import Iterator

from .. import ops
from ..core.errors import ShapeError
from ..core.tree import walk
from ..tensor import Tensor


class Layer:
    """What `walk` looks into. Attributes without a leading underscore are its parts."""

    is_layer = True

    def named_tensors(self) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, tensor) of everything the layer holds."""
        return walk(self, Tensor)

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, tensor) of what is being trained: tensors that require a gradient."""
        return ((n, t) for n, t in self.named_tensors() if t.requires_grad)

    def parameters(self) -> list[Tensor]:
        """What is being trained."""
        return [t for _, t in self.named_parameters()]


class Linear(Layer):
    """y = x @ weight.T + bias. weight [out, in] in any stored format, bias f32 [out] or None."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None):
        if len(weight.shape) != 2:
            raise ShapeError(f"Linear: weight must be [out, in], got {list(weight.shape)}")
        self.weight, self.bias = weight, bias
        self.out_features, self.in_features = weight.shape

    def __call__(self, x: Tensor) -> Tensor:
        return ops.linear(x, self.weight, self.bias)


class Q4Linear(Layer):
    """A linear whose weight is q4gsw: codes u8 [out, in/2], scales f32 [groups, padded out]."""

    def __init__(self, codes: Tensor, scales: Tensor, group_size: int, in_features: int):
        self.codes, self.scales, self.group_size = codes, scales, group_size
        self.out_features, self.in_features = codes.shape[0], in_features

    @classmethod
    def quantise(cls, weight: Tensor, group_size: int = 32) -> Q4Linear:
        """From f32 [out, in]: symmetric group scales, codes rounded half to even. On the device."""
        scales = ops.q4gsw_scales(weight, group_size=group_size)
        codes = ops.q4gsw_quantize(weight, scales, group_size=group_size)
        return cls(codes, scales, group_size, weight.shape[1])

    def __call__(self, x: Tensor) -> Tensor:
        return ops.linear_q4gsw(x, self.codes, self.scales, self.group_size)


class Embedding(Layer):
    """Rows of weight [count, size], in any stored format."""

    def __init__(self, weight: Tensor):
        self.weight = weight

    def __call__(self, indices: Tensor) -> Tensor:
        return ops.embedding(self.weight, indices)


class RMSNorm(Layer):
    """x to unit root-mean-square, times weight f32 [n]."""

    def __init__(self, weight: Tensor, eps: float = 1e-6):
        self.weight, self.eps = weight, eps

    def __call__(self, x: Tensor) -> Tensor:
        return ops.rms_norm(x, self.weight, eps=self.eps)
