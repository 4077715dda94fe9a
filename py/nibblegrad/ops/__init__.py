"""The catalogue of operators, called on tensors: `ops.silu(x)`; `ops.CATALOGUE` lists them."""

from .attention import (
    apply_rotary_emb,
    apply_rotary_emb_hf,
    attention,
    attention_grad_kv,
    attention_grad_q,
    rotary,
    rotary_hf,
    sdpa_with_kv_cache,
    update_cache,
)
from .codes import q4gsw_quantize, q4gsw_requant, q4gsw_scales
from .index import embedding, embedding_q4gsw, index_add
from .linear import column_sum, linear, linear_dW, linear_grad_x
from .loss import fused_ce, fused_ce_rows
from .map import add, axpy, div, mul, scale, silu, silu_mul, sub
from .norm import rms_norm, rms_norm_grad, rms_norm_grad_weight
from .op import CATALOGUE, Caps, Op
from .optim import accumulate, adamw_step, clip_grad_norm, fill
from .quant import (
    linear_q4gsw,
    linear_q4gsw_backward,
    linear_qcs4w,
    linear_qcs4w_backward,
)
from .random import dropout, uniform
from .reduce import argmax, expand, sum_all, sum_squares, sum_to
from .sample import repetition_penalty, sample

__all__ = [name for name in globals() if not name.startswith("_")]
