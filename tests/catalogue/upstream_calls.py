"""How upstream's ops are called here: op -> function(ops, inputs by name, attrs) -> outputs.

Runs on the host and, as text, in the page: no numpy, no imports.
"""


def rotary(name):
    def call(ops, i, a):
        return getattr(ops, name)(i["xq"], i["xk"], i["freqs_cos"], i["freqs_sin"], *a.values())

    return call


def packed(ops, i, a):
    scales = ops.q4gsw_scales(i["weight"], **a)
    return [ops.q4gsw_quantize(i["weight"], scales, **a), scales]


def adamw(ops, i, a):
    ops.adamw_step(**i, **a)
    return [i["param"], i["m"], i["v"]]


def cached(ops, i, a):
    out = ops.sdpa_with_kv_cache(**i, **a)
    return [out, i["key_cache"], i["value_cache"]]


def plain(name):
    return lambda ops, i, a: [getattr(ops, name)(**i, **a)]


CALLS = {
    **{name: plain(name) for name in (
        "linear_q4gsw", "linear_q4gsw_backward", "linear_dW", "q4gsw_requant", "embedding_q4gsw",
        "linear_qcs4w", "rms_norm", "quantize_per_tensor", "dequantize_per_tensor", "q8ta_add",
        "q8ta_relu", "q8ta_pixel_shuffle", "linear_q8ta_q8csw", "q8ta_linear", "q8ta_linear_gemv",
        "q8ta_conv2d", "q8ta_conv2d_pw", "q8ta_conv2d_dw", "q8ta_conv2d_transposed",
        "linear_dq8ca_q4gsw", "sdpa", "apply_rotary_emb_interleaved")},
    "fused_ce": lambda ops, i, a: list(ops.fused_ce(i["logits"], i["labels"], a["n_valid"])),
    "choose_qparams_affine": lambda ops, i, a: list(ops.choose_qparams_affine(**i, **a)),
    "adamw_step": adamw,
    "apply_rotary_emb": rotary("apply_rotary_emb"),
    "apply_rotary_emb_hf": rotary("apply_rotary_emb_hf"),
    "sdpa_with_kv_cache": cached,
    "pack_q4gsw": packed,
}  # fmt: skip
