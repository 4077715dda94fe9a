"""The catalogue of operators, called on tensors: `ops.silu(x)`; `ops.CATALOGUE` lists them."""

from .activation import (
    clamp,
    elu,
    gelu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    relu,
    relu6,
    sigmoid,
)  # fmt: skip
from .assign import assign
from .attention import attention, attention_grad_kv, attention_grad_q
from .attention_parts import attend, attention_join, attention_parts
from .cat import cat, split, split_with_sizes
from .codes import q4gsw_quantize, q4gsw_requant, q4gsw_scales
from .compare import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    eq,
    eq_scalar,
    ge,
    ge_scalar,
    gt,
    gt_scalar,
    le,
    le_scalar,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    lt_scalar,
    ne,
    ne_scalar,
    where,
)  # fmt: skip
from .conv import (
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    conv_with_clamp,
    convolution,
    convolution_grad_weight,
)  # fmt: skip
from .create import (
    arange,
    full,
    full_like,
    ones,
    ones_like,
    scalar_tensor,
    to_copy,
    zeros,
    zeros_like,
)  # fmt: skip
from .gather import gather, gather_grad, index_grad, index_select
from .grid_sample import (
    grid_priors,
    grid_sampler_2d,
    grid_sampler_2d_grad_grid,
    grid_sampler_2d_grad_input,
)  # fmt: skip
from .index import embedding, embedding_q4gsw, index_add
from .int8 import (
    dequantize_per_tensor,
    q8ta_add,
    q8ta_pixel_shuffle,
    q8ta_relu,
    quantize_per_tensor,
)
from .int8_conv import q8ta_conv2d, q8ta_conv2d_dw, q8ta_conv2d_pw, q8ta_conv2d_transposed
from .int8_dynamic import choose_qparams_affine, linear_dq8ca_q4gsw
from .int8_linear import linear_q8ta_q8csw, q8ta_linear, q8ta_linear_gemv
from .kv_cache import sdpa_with_kv_cache, update_cache
from .layer_norm import (
    batch_norm,
    group_norm,
    layer_norm,
    native_batch_norm_legit_no_training,
    native_group_norm,
    native_layer_norm,
)
from .linear import column_sum, linear, linear_dW, linear_grad_x
from .linear_fused import linear_add, linear_dW_add, linear_grad_x_add, linear_thin_grad_x
from .loss import fused_ce, fused_ce_rows
from .map import (
    add,
    axpy,
    div,
    floor_divide,
    fmod,
    maximum,
    minimum,
    mul,
    pow,
    pow_scalar,
    remainder,
    scale,
    silu,
    silu_mul,
    sub,
)  # fmt: skip
from .matmul import addmm, bmm, mm
from .movement import clone, flip, permute, repeat, t, transpose, unfold
from .norm import rms_norm, rms_norm_grad, rms_norm_grad_weight
from .op import CATALOGUE, Caps, Op
from .optim import accumulate, adamw_step, clip_grad_norm, fill
from .pool import (
    adaptive_avg_pool2d,
    adaptive_avg_pool2d_grad,
    avg_pool2d,
    avg_pool2d_grad,
    max_pool2d,
    max_pool2d_grad,
    max_pool2d_with_indices,
)  # fmt: skip
from .quant import (
    linear_q4gsw,
    linear_q4gsw_backward,
    linear_qcs4w,
    linear_qcs4w_backward,
)
from .random import dropout, uniform
from .reduce import expand, sum_all, sum_squares, sum_to
from .reduce_dims import amax, amin, argmax, argmin, mean, sum_
from .resize import (
    upsample_bilinear2d,
    upsample_bilinear2d_grad,
    upsample_nearest2d,
    upsample_nearest2d_grad,
)  # fmt: skip
from .rotary import (
    apply_rotary_emb,
    apply_rotary_emb_hf,
    apply_rotary_emb_interleaved,
    rotary,
    rotary_hf,
)
from .rotary_fused import rotary_cache, rotary_pair
from .sample import repetition_penalty, sample
from .sdpa import sdpa
from .shape import pixel_shuffle, pixel_unshuffle, squeeze, unsqueeze, view
from .slicing import constant_pad_nd, select, slice_, slice_backward
from .softmax import log_softmax, softmax
from .sort import cumsum, sort, topk
from .swiglu import silu_mul_grad
from .unary import (
    abs,
    ceil,
    cos,
    erf,
    exp,
    floor,
    log,
    log10,
    neg,
    reciprocal,
    round,
    rsqrt,
    sign,
    sin,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
)  # fmt: skip

# ATen's names, where Python or a file here has the same
sum, slice, index = sum_, slice_, CATALOGUE["index"]
reshape = view

__all__ = [name for name in globals() if not name.startswith("_")]
