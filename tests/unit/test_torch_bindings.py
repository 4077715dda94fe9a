"""Bound names against ATen's own functions: their argument lists, defaults filled in."""

import asyncio

import numpy as np
import pytest

import nibblegrad as ng
from nibblegrad.core.dtype import DTYPES
from nibblegrad.core.schema import Info
from nibblegrad.program.arguments import KINDS
from nibblegrad.program.bindings import find, run

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
X, Y = (RNG.standard_normal((3, 4, 5)).astype(np.float32) for _ in range(2))
P, ROW = np.abs(X) + 0.1, X[0, 0]
N, J = RNG.integers(-9, 9, (3, 4, 5), np.int32), RNG.integers(1, 5, (3, 4, 5), np.int32)
B, C = X > 0, Y > 0
AT = np.array([2, 0, 1], np.int64)
UNARY = ("abs", "ceil", "cos", "erf", "exp", "floor", "hardsigmoid", "hardswish", "neg")
MORE = ("relu", "round", "sigmoid", "sign", "silu", "sin", "tan", "tanh", "trunc")
POSITIVE = ("log", "log10", "reciprocal", "rsqrt", "sqrt")
CASES = {
    "add.Tensor": [(X, Y, 2), (X, N, 1), (N, J, 2), (X, 1.5, 1), (N, 2, 3)],
    "add.Scalar": [(X, 2, 3), (N, 1.5, 1)],
    "sub.Tensor": [(X, Y, 2), (J, X, 1)],
    "rsub.Scalar": [(X, 2, 3)],
    "rsub.Tensor": [(X, Y, 3)],
    "mul.Tensor": [(X, Y), (N, 2.5), (B, X)],
    "div.Tensor": [(X, Y), (N, J), (N, 2)],
    "div.Tensor_mode": [(X, P, "floor"), (N, J, "trunc")],
    "floor_divide.default": [(X, P), (N, J)],
    "remainder.Tensor": [(X, P), (N, J)],
    "remainder.Scalar": [(X, 0.7), (N, 3)],
    "fmod.Tensor": [(X, P), (N, J)],
    "minimum.default": [(X, Y), (N, J)],
    "maximum.default": [(X, Y), (N, J)],
    "pow.Tensor_Tensor": [(P, Y)],
    "pow.Tensor_Scalar": [(X, 2), (P, 0.5), (N, 2), (J, 1.5)],
    "pow.Scalar": [(2.0, X)],
    "eq.Tensor": [(N, J), (B, C)],
    "ne.Tensor": [(N, J)],
    "lt.Tensor": [(X, Y), (N, X)],
    "le.Scalar": [(X, 0.5), (N, 2)],
    "gt.Scalar": [(N, 1.5)],
    "eq.Scalar": [(N, 3), (X, 0)],
    "ne.Scalar": [(N, 3)],
    "logical_and.default": [(B, C), (N, B)],
    "logical_or.default": [(B, C)],
    "logical_xor.default": [(B, C)],
    "logical_not.default": [(B,)],
    "bitwise_and.Tensor": [(B, C), (N, J)],
    "bitwise_or.Scalar": [(N, 5)],
    "bitwise_xor.Tensor": [(N, J)],
    "bitwise_not.default": [(B,), (N,)],
    "where.self": [(B, X, Y), (B, N, J), (B, X, N)],
    "clamp.default": [(X, -0.5, 1), (X, None, 0.5)],
    "clamp.Tensor": [(X, Y, None), (X, None, ROW)],
    "elu.default": [(X, 1.5, 2, 0.5)],
    "gelu.default": [(X, "none"), (X, "tanh")],
    "hardshrink.default": [(X, 0.3)],
    "hardtanh.default": [(X, -0.5, 1)],
    "leaky_relu.default": [(X, 0.2)],
    **{
        f"{n}.default": [(X,)]
        for n in ["abs", "ceil", "cos", "erf", "exp", "floor", "hardsigmoid", "hardswish", "neg"]
    },
    **{
        f"{n}.default": [(X,)]
        for n in ["relu", "round", "sigmoid", "sign", "silu", "sin", "tan", "tanh", "trunc"]
    },
    **{f"{n}.default": [(P,)] for n in ["log", "log10", "reciprocal", "rsqrt", "sqrt"]},
    "_softmax.default": [(X, 1, False)],
    "_log_softmax.default": [(X, -1, False)],
    "sum.dim_IntList": [(X, [1], True), (X, [-1, 0], False), (B, [1], False), (X, None, False)],
    "mean.dim": [(X, [0, 1], False)],
    "mean.default": [(X,)],
    "amax.default": [(X, [1], True)],
    "amin.default": [(N, [0, 2], False)],
    "argmax.default": [(X, 1, True), (X, None, False)],
    "argmin.default": [(N, -1, False)],
    "max.dim": [(X, 1, False)],
    "min.dim": [(X, 0, True)],
    "max.default": [(X,)],
    "min.default": [(N,)],
    "any.dim": [(B, 1, True), (N, 0, False)],
    "any.default": [(B,)],
    "any.dims": [(B, [0, 1], False)],
    "all.dim": [(B, 2, False)],
    "all.default": [(N,)],
    "var.correction": [(X, [1], 1, True), (X, None, 0, False)],
    "sort.default": [(X, 1, True), (N, -1, False)],
    "topk.default": [(X, 2, 1, False, True)],
    "cumsum.default": [(X, 1), (B, 0), (N, -1)],
    "native_layer_norm.default": [(X, [5], ROW, ROW, 1e-3), (X, [4, 5], None, None, 1e-5)],
    "native_group_norm.default": [(X, ROW[:4], ROW[:4], 3, 4, 5, 2, 1e-5)],
    "_native_batch_norm_legit_no_training.default": [
        (X, ROW[:4], None, Y[0, 0, :4], P[0, 0, :4], 0.1, 1e-3)
    ],
    "mm.default": [(X[0], Y[0].T)],
    "bmm.default": [(X, Y.transpose(0, 2, 1))],
    "addmm.default": [(ROW, X[0][:, :4], Y[0], 2, 0.5)],
    "linear.default": [(X, Y[0], None), (X, Y[0], ROW[:4])],
    "gather.default": [(X, 1, np.abs(N).astype(np.int64) % 4)],
    "index_select.default": [(X, 1, AT)],
    "index.Tensor": [(X, [AT]), (X, [None, AT]), (N, [None, None, AT])],
    "embedding.default": [(X[0], AT)],
    "cat.default": [([X, Y, X], 1), ([X, N], 0)],
    "stack.default": [([X, Y], 1)],
    "split_with_sizes_copy.default": [(X, [1, 3], 1)],
    "split_copy.Tensor": [(X, 2, -1)],
    "unbind_copy.int": [(X, 1)],
    "slice_copy.Tensor": [(X, 1, 1, None, 2), (X, 2, None, -1, 1), (B, 0, 1, 9, 1)],
    "select_copy.int": [(X, 1, -1)],
    "constant_pad_nd.default": [(X, [1, 2, 0, 1], 0.5)],
    "view_copy.default": [(X, [4, -1])],
    "squeeze_copy.dims": [(X[:, :1], [1])],
    "squeeze_copy.dim": [(X[:1], 0)],
    "squeeze_copy.default": [(X[:1, :1],)],
    "unsqueeze_copy.default": [(X, -1)],
    "permute_copy.default": [(X, [2, 0, 1])],
    "transpose_copy.int": [(X, 0, -1)],
    "t_copy.default": [(X[0],)],
    "unfold_copy.default": [(X, 2, 3, 2)],
    "expand_copy.default": [(ROW, [2, 4, -1])],
    "repeat.default": [(X[0], [2, 1, 3])],
    "flip.default": [(X, [0, -1])],
    "clone.default": [(X,)],
    "alias_copy.default": [(X,)],
    "copy.default": [(X, ROW), (X, N)],
    "pixel_shuffle.default": [(X[None, :, None, :, 0].repeat(4, 1), 2)],
    "pixel_unshuffle.default": [(X[:, :, :4], 2)],
    "masked_fill.Scalar": [(X, B, -1.5), (N, B, 2)],
    "full.default": [([2, 3], 1.5), ([2], 3)],
    "full_like.default": [(X, 2)],
    "zeros.default": [([2, 3],)],
    "ones.default": [([2],)],
    "ones_like.default": [(N,)],
    "zeros_like.default": [(B,)],
    "scalar_tensor.default": [(1.5,)],
    "arange.start_step": [(1, 8, 2), (0.5, 3, 0.5)],
    "arange.default": [(5,)],
}


def torchs(x):
    if isinstance(x, list):
        return [torchs(y) for y in x]
    return torch.from_numpy(np.ascontiguousarray(x)) if isinstance(x, np.ndarray) else x


def mine(x):
    if isinstance(x, list):
        return [mine(y) for y in x]
    return ng.tensor(x) if isinstance(x, np.ndarray) else x


def whole_list(function, args):
    """The arguments that a serialised call has: all of them."""
    row = function._schema.arguments
    return [*args, *(a.default_value for a in row[len(args) :])]


@pytest.mark.parametrize("name", CASES)
def test_a_name_is_atens(name):
    operator, overload = name.split(".")
    function = getattr(getattr(torch.ops.aten, operator), overload)
    for args in CASES[name]:
        n = sum(not a.kwarg_only for a in function._schema.arguments)
        named = [a.name for a in function._schema.arguments[n : len(args)]]
        given = torchs(list(args))
        want = function(*given[:n], **dict(zip(named, given[n:], strict=True)))
        wanted = list(want) if isinstance(want, (tuple, list)) else [want]
        infos = [
            Info(tuple(w.shape), DTYPES[KINDS[str(w.dtype).removeprefix("torch.")]]) for w in wanted
        ]

        async def work(args=args, infos=infos):
            await ng.device("host")
            values = mine(whole_list(function, args))
            return [await x.numpy() for x in run(find(f"aten.{name}"), values, infos)]

        for x, w in zip(asyncio.run(work()), wanted, strict=True):
            assert x.shape == tuple(w.shape)
            np.testing.assert_allclose(x, w.numpy(), rtol=1e-5, atol=1e-5)
