"""Whole small networks for make_pte.py: what people export, each in a few kilobytes."""

import torch
import torch.nn.functional as F
from pte_models import Model, model, one
from torch import nn
from torch.export import Dim


def block(n, m, stride, wide):
    """Inverted residual: widen, a filter a channel, narrow."""
    mid = n * wide
    return nn.Sequential(
        nn.Conv2d(n, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.ReLU6(),
        nn.Conv2d(mid, mid, 3, stride, 1, groups=mid, bias=False), nn.BatchNorm2d(mid), nn.ReLU6(),
        nn.Conv2d(mid, m, 1, bias=False), nn.BatchNorm2d(m),
    )  # fmt: skip


class MobileNet(nn.Module):
    """MobileNetV2's parts: stem, blocks with and without a residual, pooling, classifier."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8))
        self.a, self.b, self.c = block(8, 8, 1, 2), block(8, 12, 2, 3), block(12, 12, 1, 2)
        self.head = nn.Linear(12, 10)
        for norm in (m for m in self.modules() if isinstance(m, nn.BatchNorm2d)):
            nn.init.uniform_(norm.running_mean, -0.2, 0.2)
            nn.init.uniform_(norm.running_var, 0.5, 1.5)

    def forward(self, x):
        x = F.relu6(self.stem(x))
        x = self.b(x + self.a(x))
        return self.head((x + self.c(x)).mean((2, 3)))


@model
def mobilenet():
    return one(MobileNet(), (torch.randn(1, 3, 24, 24),))


@model
def mobilenet_batch():
    return one(MobileNet(), (torch.randn(3, 3, 24, 24),))


@model
def mobilenet_dynamic():
    """Heights and widths of 8 to 32, in steps of 8."""
    h, w = (8 * Dim(name, min=1, max=4) for name in ("h", "w"))
    sets = [(torch.randn(1, 3, *size),) for size in ((32, 32), (16, 24), (8, 8))]
    return one(MobileNet(), *sets, dynamic=({2: h, 3: w},))


class ViT(nn.Module):
    """A vision transformer's block, with the patches before and the class after it."""

    def __init__(self, width=16, heads=2, patches=16):
        super().__init__()
        self.heads, self.patch = heads, nn.Conv2d(3, width, 4, 4)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.place = nn.Parameter(torch.randn(1, patches + 1, width))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.head = nn.Linear(width, 10)

    def attend(self, x):
        b, n, width = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, n, width))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.place
        x = x + self.attend(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(self.norm3(x)[:, 0])


@model
def vit():
    return one(ViT(), (torch.randn(1, 3, 16, 16),))


@model
def vit_batch():
    return one(ViT(), (torch.randn(3, 3, 16, 16),))


@model
def vit_dynamic():
    """A batch of up to 4."""
    sets = [(torch.randn(n, 3, 16, 16),) for n in (4, 1, 3)]
    return one(ViT(), *sets, dynamic=({0: Dim("n", min=1, max=4)},))


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.gain


class Llama(nn.Module):
    """A block of Llama with grouped heads, rotary positions and a cache of keys and values."""

    def __init__(self, width=32, heads=4, groups=2, room=16, words=48):
        super().__init__()
        e = width // heads
        self.heads, self.groups, self.e = heads, groups, e
        self.words, self.norm1, self.norm2, self.norm3 = (
            nn.Embedding(words, width), Norm(width), Norm(width), Norm(width)
        )  # fmt: skip
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * e, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)
        angle = torch.outer(torch.arange(room), 10000.0 ** (-torch.arange(0, e, 2) / e))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, room, groups, e))

    def turn(self, x, cos, sin):
        a, b = x.float().reshape(*x.shape[:-1], -1, 2).unbind(-1)
        cos, sin = cos[None, :, None], sin[None, :, None]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(3)

    def attend(self, x, pos):
        n = x.shape[1]
        start = pos[0].item()
        torch._check_is_size(start)
        torch._check(start < self.cos.shape[0])
        rows = pos + torch.arange(n)
        cos, sin = self.cos[rows], self.sin[rows]
        q = self.turn(self.q(x).view(1, n, self.heads, self.e), cos, sin)
        k = self.turn(self.k(x).view(1, n, self.groups, self.e), cos, sin)
        v = self.v(x).view(1, n, self.groups, self.e)
        y = torch.ops.llama.sdpa_with_kv_cache(
            q, k, v, self.keys, self.values, start, n, None, 0.0, True, None
        )
        return self.o(y.reshape(1, n, -1))

    def forward(self, ids, pos):
        x = self.words(ids)
        x = x + self.attend(self.norm1(x), pos)
        y = self.norm2(x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return F.linear(self.norm3(x), self.words.weight)


def llama_sets(*lengths):
    """Prompt and answer: each call goes on where the last one ended."""
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return [
        (torch.randint(0, 48, (1, n)), torch.tensor([start]))
        for n, start in zip(lengths, starts, strict=True)
    ]


@model
def llama():
    """A word a call."""
    from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401

    return one(Llama(), *llama_sets(1, 1, 1, 1))


@model
def llama_dynamic():
    """Eight words, one, three."""
    from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401

    n = Dim("n", min=1, max=8)
    return one(Llama(), *llama_sets(8, 1, 3), dynamic=({1: n}, {}))


def quantised(net, x, is_dynamic=False):
    """By VulkanQuantizer, which annotates linear layers only; calibrated on x."""
    from executorch.backends.vulkan.quantizer import vulkan_quantizer as vq
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = vq.VulkanQuantizer()
    quantizer.set_global(vq.get_symmetric_quantization_config(is_dynamic=is_dynamic))
    ready = prepare_pt2e(torch.export.export(net.eval(), (x,)).module(), quantizer)
    ready(x)
    return convert_pt2e(ready)


def small_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(72, 32), nn.ReLU(), nn.Linear(32, 12),
    )  # fmt: skip


@model
def vulkan_linear():
    """VulkanQuantizer's two recipes for linear layers, a method each.

    Its partitioner folds what quantises the activations away, so the weights' recipe answers.
    """
    x = torch.randn(3, 24)
    net = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 5, bias=False))
    weights, dynamic = (quantised(net, x, is_dynamic) for is_dynamic in (False, True))
    pairs = {"weights": (weights, [(x,)]), "dynamic": (dynamic, [(x,)])}
    return Model(pairs, judges={"dynamic": weights})


@model
def vulkan_cnn():
    """Weights of 8 bits, activations as they are."""
    x = torch.randn(1, 3, 12, 12)
    return one(quantised(small_cnn(), x), (x,))


@model
def vulkan_cnn_batch():
    """The recipe that quantises activations too; see vulkan_linear."""
    net, x = small_cnn(), torch.randn(3, 3, 12, 12)
    judge = quantised(net, x)
    return one(quantised(net, x, is_dynamic=True), (x,), judges={"forward": judge})


@model
def da4w_dynamic():
    """8da4w over up to 6 rows."""
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_

    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16, bias=False)).eval()
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(32)
    )
    quantize_(net, config)
    sets = [(torch.randn(n, 64),) for n in (6, 1, 3)]
    return one(net, *sets, dynamic=({0: Dim("n", min=1, max=6)},), strict=True)
