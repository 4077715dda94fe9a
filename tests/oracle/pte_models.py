"""The models that make_pte.py exports: each shows one thing that a program can hold."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch.export import Dim

MODELS = {}


@dataclass
class Model:
    methods: dict  # method: (module, [inputs of each run])
    dynamic: object = None
    options: dict = field(default_factory=dict)
    config: dict = field(default_factory=dict)
    lower: bool = True  # False: no partitioner, so kernel calls only
    strict: bool = False
    judges: dict = field(default_factory=dict)  # method: the module that answers for it


class Fn(nn.Module):
    """A function as a module, its tensors as buffers or parameters."""

    def __init__(self, fn, buffers=(), **params):
        super().__init__()
        self.fn = fn
        for name, value in params.items():
            if name in buffers:
                self.register_buffer(name, value)
            elif isinstance(value, nn.Module):
                self.add_module(name, value)
            else:
                self.register_parameter(name, nn.Parameter(value, requires_grad=False))

    def forward(self, *inputs):
        return self.fn(self, *inputs)


def model(build):
    MODELS[build.__name__] = build
    return build


def one(module, *sets, **rest):
    if not isinstance(module, torch.fx.GraphModule):  # those have no modes
        module.eval()
    return Model({"forward": (module, list(sets))}, **rest)


@model
def elementwise():
    """Constants of rank 0 and 1, alpha, clamps, two outputs, a scalar shared by equality."""

    def fn(m, x, y):
        a = torch.add(x, y, alpha=2) * 1.5 + m.row
        b = torch.clamp(a.abs().sqrt() - y / 3.0, -1.0, 2.0)
        return F.gelu(b, approximate="tanh"), torch.sigmoid(a) * torch.exp(-b.abs())

    x = torch.randn(3, 5, 7), torch.randn(5, 7)
    return one(Fn(fn, row=torch.randn(7)), x)


@model
def worked():
    """The spec's worked example: split, swapped cat, mean, clamp; two equal parameters."""

    def fn(m, x):
        y = m.lin(x)
        left, right = torch.split(y * m.c + m.d, [4, 4], dim=1)
        return torch.cat([right, left], 1), y.mean(1, keepdim=True), y.clamp(max=3)

    ones = torch.linspace(-1, 1, 8)
    module = Fn(fn, lin=nn.Linear(16, 8), c=ones, d=ones.clone())
    return one(module, (torch.randn(4, 16),))


@model
def cnn():
    """Convolutions with batch norm and pooling, all in one delegate."""
    conv = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    more = [nn.Conv2d(8, 12, 3, stride=2), nn.ReLU6(), nn.AvgPool2d(2)]
    net = nn.Sequential(*conv, *more, nn.Flatten(), nn.Linear(12, 10))
    return one(net, (torch.randn(1, 3, 12, 12),))


@model
def cnn_batch():
    """Batch 3: every convolution stays outside, as a kernel call between delegates."""
    block = [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    more = [nn.Conv2d(8, 4, 3, groups=4), nn.Hardswish(), nn.Flatten(), nn.Linear(64, 10)]
    net = nn.Sequential(*block, *more)
    return one(net, (torch.randn(3, 3, 12, 12),))


@model
def islands():
    """Delegates and kernel calls in turn: sort and cumsum have no Vulkan op; two outputs each."""

    def fn(m, x):
        values, at = torch.sort(x * 2.0 + m.w, dim=-1)
        top, _ = torch.topk(torch.relu(values), 3)
        return torch.cumsum(top, 1) - 1.0, at.argmax(-1), x[:, None, [1, 0]]

    return one(Fn(fn, w=torch.randn(6)), (torch.randn(4, 6),))


@model
def softmaxes():
    def fn(m, x):
        return F.softmax(x, -1), F.log_softmax(x, 1)

    return one(Fn(fn), (torch.randn(2, 5, 9),))


@model
def tokens():
    """An embedding with int64 ids, rms norm, tied head: the weight is used twice."""

    def fn(m, ids):
        h = F.embedding(ids, m.table)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * m.gain
        return F.linear(h, m.table)

    module = Fn(fn, table=torch.randn(24, 16), gain=torch.rand(16))
    return one(module, (torch.tensor([[3, 1, 4, 1, 5]]),))


@model
def dynamic():
    """A batch of up to 12: view, full with a symbolic size, matmul, softmax, symbolic maths."""

    def fn(m, x):
        n = x.shape[0]
        y = m.lin(x).view(n * 2, 4) + torch.full([n * 2, 4], 0.5)
        return F.softmax(y, -1), torch.cat([x, x]) @ m.w

    module = Fn(fn, lin=nn.Linear(6, 8), w=torch.randn(6, 3))
    sets = [(torch.randn(n, 6),) for n in (12, 5, 1)]
    return one(module, *sets, dynamic=(({0: Dim("n", min=1, max=12)},),))


@model
def argmaxes():
    """int64 results and integers on the way."""

    def fn(m, x, i):
        return x.argmax(1), x.argmin(-1, keepdim=True), i + 1, (x > 0.0)

    inputs = torch.randn(4, 9), torch.arange(6, dtype=torch.int32).reshape(2, 3)
    return one(Fn(fn), inputs)


@model
def q4gsw():
    """torchao's 4-bit groups, fused into et_vk.linear_q4gsw, with and without bias."""
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import IntxWeightOnlyConfig, quantize_

    net = nn.Sequential(nn.Linear(64, 48, bias=False), nn.ReLU(), nn.Linear(48, 8)).eval()
    config = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(16))
    quantize_(net, config)
    return one(net, (torch.randn(3, 64),), strict=True)


@model
def int8_cnn():
    """Static int8: quantise, q8ta convolutions, add, dequantise.

    XNNPACK's quantiser, since this wheel's VulkanQuantizer annotates linear layers only.
    """
    from executorch.backends.xnnpack.quantizer import xnnpack_quantizer as xq
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    def fn(m, x):
        y = F.relu(m.a(x))
        return m.c(y + F.relu(m.b(y)))

    a, b, c = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 8, 1), nn.Conv2d(8, 4, 3)
    net, x = Fn(fn, a=a, b=b, c=c).eval(), torch.randn(1, 4, 8, 8)
    quantizer = xq.XNNPACKQuantizer()
    quantizer.set_global(xq.get_symmetric_quantization_config(is_per_channel=True))
    ready = prepare_pt2e(torch.export.export(net, (x,)).module(), quantizer)
    ready(x)
    return one(convert_pt2e(ready), (x,))


@model
def dq8ca_q4gsw():
    """8da4w: activations quantised while running, weights of 4 bits in groups."""
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_

    net = nn.Sequential(nn.Linear(64, 32, bias=False)).eval()
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(32)
    )
    quantize_(net, config)
    return one(net, (torch.randn(3, 64),), strict=True)


@model
def state():
    """A buffer that a delegate owns and each call changes, written back into its constant."""

    def fn(m, x):
        m.total.add_(torch.sort(x)[0])
        return m.total * 2.0

    module = Fn(fn, buffers=("total",), total=torch.arange(4.0))
    sets = [(torch.randn(4),) for _ in range(3)]
    return one(module, *sets, options={"alias_buffer_mutations": True})


@model
def state_extra():
    """The exporter's default: the changed buffer is an output that the call has no value for."""
    built = state()
    built.options = {}
    return built


@model
def state_portable():
    """The same without a delegate: a buffer with a first value, and one that starts undefined."""

    def fn(m, x):
        m.total.add_(x)
        return m.total * 2.0

    module = Fn(fn, buffers=("total",), total=torch.arange(4.0))
    sets = [(torch.randn(4),) for _ in range(3)]
    passes = [InitializedMutableBufferPass(["total"])]
    return one(module, *sets, config={"passes": passes}, lower=False)


@model
def branch():
    """torch.cond: jumps and moves in the instruction list."""

    def fn(m, x, flag):
        def yes(x):
            return x * 2.0

        def no(x):
            return x - 1.0

        return torch.cond(flag, yes, no, (x,)) + 0.5

    x = torch.randn(2, 3)
    sets = [(x, torch.tensor(True)), (x, torch.tensor(False))]
    return one(Fn(fn), *sets, lower=False)


@model
def portable():
    """No delegate at all: strings, bool and tensor lists, optional tensors, as kernel calls."""

    def fn(m, x, i):
        parts = torch.split(x, 2, dim=1)
        gathered = x[:, i]
        pooled, at = F.max_pool2d(x[None, None], 2, return_indices=True)
        y = torch.div(x, 0.3, rounding_mode="floor") + m.w
        conv = F.conv1d(x[None], m.k, stride=2)
        return torch.cat(parts, 0), gathered, pooled, at, F.gelu(y, approximate="tanh"), conv, 7, x

    module = Fn(fn, w=torch.randn(6), k=torch.randn(2, 4, 3))
    return one(module, (torch.randn(4, 6), torch.tensor([5, 0, 1])), lower=False)


@model
def dynamic_portable():
    """Symbolic sizes among kernel calls: sym_size, integer maths, views that share memory."""

    def fn(m, x):
        n = x.shape[0]
        y = x.view(n // 2, 8).sum(1) * 2.0
        return torch.cat([y, y]), x[: n - 1]

    sets = [(torch.randn(n, 4),) for n in (12, 6, 2)]
    half = Dim("half", min=1, max=6)
    return one(Fn(fn), *sets, dynamic=(({0: 2 * half},),), lower=False)


@model
def loop():
    """A map over rows: a jump backwards, and rows copied into their place."""

    def row(x, w):
        return torch.tanh(x) + w

    def fn(m, xs, w):
        return torch_map(row, xs, w)

    return one(Fn(fn), (torch.randn(4, 3), torch.randn(3)), lower=False)


@model
def methods():
    """Two entry points and delegate data inside the flatbuffer instead of a segment."""
    twice = Fn(lambda m, x: x * 2.0 + m.w, w=torch.ones(3))
    norm = nn.LayerNorm(8)
    pairs = {"forward": (twice, [(torch.randn(2, 3),)]), "norm": (norm, [(torch.randn(5, 8),)])}
    return Model(pairs, config={"extract_delegate_segments": False})


@model
def kv_cache():
    """Attention over caches that each call writes at a position, which is the first input; the
    delegate reads the position as a number."""
    from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401

    def fn(m, pos, x):
        n, at = x.shape[1], pos[0].item()
        torch._check_is_size(at)
        torch._check(at + n <= 16)
        q = m.q(x).view(1, n, 4, 8)
        k, v = m.k(x).view(1, n, 2, 8), m.v(x).view(1, n, 2, 8)
        torch.ops.llama.update_cache(k, m.keys, at)
        torch.ops.llama.update_cache(v, m.values, at)
        y = torch.ops.llama.custom_sdpa(q, m.keys, m.values, at, None, 0.0, True)
        return m.o(y.view(1, n, 32))

    widths = {"q": 32, "k": 16, "v": 16, "o": 32}
    linears = {name: nn.Linear(32, n, bias=False) for name, n in widths.items()}
    caches = {name: torch.zeros(1, 16, 2, 8) for name in ("keys", "values")}
    module = Fn(fn, buffers=tuple(caches), **linears, **caches)
    steps = [(0, 8), (8, 1), (9, 1), (10, 3)]
    sets = [(torch.tensor([at]), torch.randn(1, n, 32)) for at, n in steps]
    dynamic = ((None, {1: Dim("n", min=1, max=8)}),)
    return one(module, *sets, dynamic=dynamic)
