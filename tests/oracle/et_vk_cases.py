"""What upstream is asked for et_vk.npz. Each family yields (op, about, inputs, attrs).

An input is an array or a recipe of et_vk.make; names and order are the schema's.
"""

import numpy as np


def bell(seed, *shape, scale=1.0):
    return {"kind": "bell", "seed": seed, "shape": shape, "scale": scale}


def uniform(seed, *shape, lo=0.0, hi=1.0):
    return {"kind": "uniform", "seed": seed, "shape": shape, "lo": lo, "hi": hi}


def byte(seed, *shape):
    return {"kind": "bytes", "seed": seed, "shape": shape}


def ids(seed, below, *shape):
    return {"kind": "ids", "seed": seed, "shape": shape, "below": below}


def ramp(mod, sub, div, *shape):
    return {"kind": "ramp", "shape": shape, "mod": mod, "sub": sub, "div": div}


def scales(seed, *shape):
    return uniform(seed, *shape, lo=0.01, hi=0.11)


def linears():
    grid = [((1, 8), 4, 8, 0), ((3, 8), 12, 8, 1), ((17, 64), 12, 32, 0), ((1, 64), 96, 8, 1)]
    grid += [((3, 64), 4, 64, 0), ((1, 576), 96, 64, 0), ((17, 576), 96, 32, 1), ((1, 8), 1, 4, 1)]
    grid += [((2, 3, 64), 10, 32, 1), ((5, 72), 7, 24, 0), ((1, 1536), 12, 64, 0)]
    for i, (lead, n, gs, bias) in enumerate(grid):
        k, s = lead[-1], 100 + 10 * i
        inputs = {"self": bell(s, *lead), "weights": byte(s + 2, n, k // 2)}
        inputs["weight_scales"] = scales(s + 3, k // gs, n)
        if bias:
            inputs["bias"] = bell(s + 4, n)
        yield "linear_q4gsw", f"x {lead} N {n} gs {gs}", inputs, {"group_size": gs}


def backwards():
    for i, (lead, k, gs) in enumerate(
        [
            ((1, 4), 8, 8),
            ((3, 12), 64, 32),
            ((17, 96), 64, 8),
            ((1, 96), 576, 64),
            ((2, 2, 10), 72, 24),
            ((1, 1), 8, 8),
        ]
    ):
        n, s = lead[-1], 300 + 10 * i
        inputs = {"d_out": bell(s, *lead), "weights": byte(s + 2, n, k // 2)}
        inputs["weight_scales"] = scales(s + 3, k // gs, n)
        yield "linear_q4gsw_backward", f"g {lead} K {k} gs {gs}", inputs, {"group_size": gs}
    for i, (lead, n, k) in enumerate(
        [
            ((13,), 10, 18),
            ((1,), 4, 8),
            ((1,), 1, 1),
            ((33,), 65, 17),
            ((2, 5), 12, 64),
            ((112,), 64, 48),
        ]
    ):
        s = 400 + 10 * i
        inputs = {"d_out": bell(s, *lead, n), "x": bell(s + 2, *lead, k)}
        yield "linear_dW", f"lead {lead} N {n} K {k}", inputs, {}


def requants():
    shapes = [
        (4, 8, 8),
        (12, 64, 32),
        (12, 576, 64),
        (8, 1536, 64),
        (6, 129, 64),
        (3, 1, 1),
        (5, 7, 2),
        (1, 33, 32),
    ]
    for i, (n, k, gs) in enumerate(shapes):
        s = 500 + 10 * i
        sc = uniform(s + 2, -(-k // gs), n, lo=0.05, hi=0.15)
        inputs = {"latent": bell(s, n, k), "scales": sc}
        yield "q4gsw_requant", f"{n}x{k} gs {gs}", inputs, {"group_size": gs}
    half = np.arange(-10, 10, 0.5, dtype=np.float32)[None]  # every tie, and past both ends
    sc = np.array([[0.25, 1.0, 0.0, 4.0, -0.5]], np.float32)
    latent = np.ascontiguousarray(half * np.where(sc == 0, 1, sc).T)
    yield (
        "q4gsw_requant",
        "ties, a zero, a negative",
        {"latent": latent, "scales": sc},
        {"group_size": 40},
    )
    latent = np.array([[1e30, -1e30, 0.0, -0.0, 3e-20, -3e-20, 1e-20, 7.4]] * 4, np.float32)
    sc = np.array([[1e-20, 0.0, 1.0, 1e30], [1e-20, 1.0, 0.0, 1e-20]], np.float32)
    yield "q4gsw_requant", "overflow", {"latent": latent, "scales": sc}, {"group_size": 4}


def losses():
    for rows, v, pad in [(4, 32, 0), (8, 128, 3), (5, 1000, 2), (1, 7, 0), (3, 257, 3)]:
        labels = (7 * np.arange(rows) + 3) % v
        labels[rows - pad :] = -1
        inputs = {"logits": ramp(23, 11, 8, rows, v), "labels": labels}
        yield "fused_ce", f"{rows}x{v} masked {pad}", inputs, {"n_valid": float(max(1, rows - pad))}
    labels = np.array([5, -100, 299, -1, 0, 150, -100])
    inputs = {"logits": bell(600, 7, 300, scale=8.0), "labels": labels}
    yield "fused_ce", "masks between, n_valid of a larger batch", inputs, {"n_valid": 9.0}
    inputs = {"logits": ramp(257, 100, 16, 2, 49152), "labels": np.array([49151, 17])}
    yield "fused_ce", "a real vocabulary", inputs, {"n_valid": 2.0}
    inputs = {"logits": ramp(11, 5, 0.05, 3, 40), "labels": np.array([0, 39, -100])}
    yield "fused_ce", "logits of +-100", inputs, {"n_valid": 1.0}


def steps():
    for i, (n, decay, t) in enumerate(
        [(64, 0.01, 1), (256, 0.0, 1), (1000, 0.01, 10), (1, 0.1, 3)]
    ):
        s = 700 + 10 * i
        inputs = {"param": bell(s, n), "m": bell(s + 2, n, scale=0.1)}
        inputs |= {"v": uniform(s + 4, n, hi=0.01), "grad": bell(s + 6, n)}
        yield (
            "adamw_step",
            f"{n} decay {decay} step {t}",
            inputs,
            {
                "lr": 1e-3,
                "beta1": 0.9,
                "beta2": 0.999,
                "eps": 1e-8,
                "weight_decay": decay,
                "bias_correction1": 1 - 0.9**t,
                "bias_correction2": 1 - 0.999**t,
            },
        )


def embeddings():
    at = np.array([1, 5, 63, 0])
    for linear in (False, True):
        for s, v, e, gs, i in [
            (800, 64, 64, 32, at),
            (810, 300, 576, 64, ids(812, 300, 2, 3)),
            (820, 9, 32, 32, np.array([[8], [8]])),
            (830, 5, 96, 8, at[3:]),
        ]:
            inputs = {"weight": byte(s, v, e // 2), "weight_scales": scales(s + 1, v, e // gs)}
            inputs["indices"] = i
            attrs = {"group_size": gs, "is_linear_weight": linear}
            yield "embedding_q4gsw", f"{v}x{e} gs {gs} linear {linear}", inputs, attrs


def norms():
    shapes = [
        (7, 896),
        (1, 896),
        (3, 64),
        (2, 32),
        (5, 1),
        (3, 100),
        (4, 130),
        (1, 5, 4, 128),
        (2, 576),
        (1, 4096),
    ]
    for i, shape in enumerate(shapes):
        inputs = {"x": bell(900 + 2 * i, *shape, scale=10.0 ** (i % 5 - 2))}
        inputs["weight"] = uniform(950 + i, shape[-1], lo=-0.5, hi=1.5)
        yield "rms_norm", str(shape), inputs, {"eps": 1e-5 if i % 2 else 1e-6}


def rotaries():
    for b, s, q, k, d in [(1, 5, 8, 2, 64), (1, 1, 32, 8, 64), (2, 3, 3, 1, 6), (1, 1, 1, 1, 2)]:
        inputs = {"xq": ramp(17, 8, 16, b, s, q, d), "xk": ramp(13, 6, 16, b, s, k, d)}
        cos, sin = ramp(11, 5, 16, s, d // 2), ramp(7, 3, 16, s, d // 2)
        yield (
            "apply_rotary_emb",
            f"{b} {s} {q} {k} {d}",
            inputs | {"freqs_cos": cos, "freqs_sin": sin},
            {},
        )
    for b, s, q, k, d, pos in [
        (1, 5, 8, 2, 64, 7),
        (1, 1, 16, 8, 128, 15),
        (2, 3, 3, 1, 6, 0),
        (1, 16, 9, 3, 64, 0),
        (1, 1, 1, 1, 2, 3),
    ]:
        inputs = {"xq": ramp(17, 8, 16, b, s, q, d), "xk": ramp(13, 6, 16, b, s, k, d)}
        inputs |= {"freqs_cos": ramp(11, 5, 16, 16, d), "freqs_sin": ramp(7, 3, 16, 16, d)}
        about = f"{b} {s} {q} {k} {d} at {pos}"
        yield "apply_rotary_emb_hf", about, inputs, {"start_pos": pos}
    inputs = {"xq": bell(1010, 2, 3, 4, 10), "xk": bell(1012, 2, 3, 1, 10)}
    inputs |= {"freqs_cos": bell(1014, 9, 6), "freqs_sin": bell(1016, 9, 6)}
    yield "apply_rotary_emb_hf", "6 of a head's 10", inputs, {"start_pos": 6}
    for shape in [(1, 4, 8), (2, 3, 8), (1, 5, 4), (1, 2, 16), (1, 1, 2)]:
        inputs = {"x": bell(1000, *shape), "freqs_cis": bell(1002, *shape[1:])}
        yield "apply_rotary_emb_interleaved", str(shape), inputs, {}


def attentions():
    for i, (b, h, s, t, d, mask) in enumerate(
        [(1, 4, 8, 8, 16, 0), (1, 8, 4, 16, 16, 0), (1, 4, 8, 8, 16, 1), (2, 3, 5, 7, 4, 1)]
    ):
        z = 1100 + 10 * i
        inputs = {
            "q": bell(z, b, h, s, d),
            "k": bell(z + 2, b, h, t, d),
            "v": bell(z + 4, b, h, t, d),
        }
        if mask:
            inputs["attn_mask"] = uniform(z + 6, b, h, s, t, lo=-1.0, hi=0.0)
        yield "sdpa", f"{b} {h} {s} {t} {d} mask {mask}", inputs, {"scale": 0.2} if i == 3 else {}
    hidden = np.zeros((1, 2, 3, 4), np.float32)
    hidden[:, 0, 1], hidden[:, 1, :, 2:] = -np.inf, -np.inf  # a whole row; two keys
    inputs = {"q": bell(1150, 1, 2, 3, 6), "k": bell(1152, 1, 2, 4, 6), "v": bell(1154, 1, 2, 4, 6)}
    yield "sdpa", "a row hidden throughout", inputs | {"attn_mask": hidden}, {}
    for hq, hkv, d, s, c, pos, den in [
        (6, 2, 8, 4, 16, 0, 8),
        (4, 4, 16, 3, 8, 0, 8),
        (8, 4, 4, 5, 16, 0, 8),
        (6, 2, 8, 2, 16, 2, 8),
        (4, 4, 32, 4, 16, 0, 0.5),
        (9, 3, 64, 1, 70, 66, 8),
        (9, 3, 64, 17, 32, 5, 8),
        (1, 1, 4, 1, 4, 0, 8),
    ]:
        inputs = {"query": ramp(17, 8, den, 1, s, hq, d), "key": ramp(13, 6, den, 1, s, hkv, d)}
        inputs |= {"value": ramp(11, 5, den, 1, s, hkv, d)}
        inputs |= {"key_cache": ramp(7, 3, 16, 1, c, hkv, d)}
        inputs |= {"value_cache": ramp(5, 2, 16, 1, c, hkv, d)}
        about = f"Hq {hq} Hkv {hkv} D {d} S {s} Cmax {c} at {pos}"
        attrs = {"start_pos": pos, "seq_len": s, "is_causal": True}
        yield "sdpa_with_kv_cache", about, inputs, attrs
    yield from more_cached()


def more_cached():
    """Not causal; another scale; a mask, which spans the whole cache; a head size of 6."""
    for i, (d, about, more) in enumerate(
        [
            (8, "not causal", {"is_causal": False}),
            (8, "a scale", {"is_causal": True, "scale": 0.7}),
            (8, "masked", {"is_causal": False}),
            (6, "a head of 6", {"is_causal": True}),
            (6, "a head of 6, not causal", {"is_causal": False}),
        ]
    ):
        z, t, c, pos = 1160 + 20 * i, 3, 9, 2
        inputs = {"query": bell(z, 1, t, 6, d)}
        for at, name, rows in [(2, "key", t), (4, "value", t), (6, "key_cache", c),
                               (8, "value_cache", c)]:  # fmt: skip
            inputs[name] = bell(z + at, 1, rows, 2, d)
        if about == "masked":
            mask = (np.arange(t * c) % 7 - 3).reshape(t, c).astype(np.float32)
            mask[0, pos + t :], mask[1, ::2] = -np.inf, -np.inf
            inputs["attn_mask"] = mask
        yield "sdpa_with_kv_cache", about, inputs, {"start_pos": pos, "seq_len": t, **more}


def packs():
    """Weights as floats; what the exporter makes of them."""
    shapes = [(12, 8, 8), (12, 64, 32), (8, 576, 32), (12, 576, 64), (8, 1536, 64), (4, 1536, 128)]
    for i, (n, k, gs) in enumerate([*shapes, (12, 36, 36), (10, 64, 32), (5, 36, 12)]):
        inputs = {"weight": bell(1200 + 10 * i, n, k, scale=0.125)}
        if i in (1, 7):
            inputs["bias"] = bell(1202 + 10 * i, n)
        yield "pack_q4gsw", f"{n}x{k} gs {gs}", inputs, {"group_size": gs}
    w = np.zeros((4, 32), np.float32)
    w[0, :] = np.arange(32) - 15.0  # ties at scale 16 / 7.5
    w[1, :16] = np.arange(16) / 2.0  # one sided, then a group of zeros
    w[2, 8:] = -np.arange(24) * 1e-30
    w[3, :] = [*np.linspace(-7.5, 7.5, 31), 0.5]  # scale exactly 1: ties
    yield "pack_q4gsw", "ties, one side, zeros", {"weight": w}, {"group_size": 8}


def channelwise():
    """Weights as floats here too; stored is what the exporter serialised."""
    for i, (m, n, k) in enumerate([(4, 16, 32), (1, 16, 32), (2, 8, 64), (3, 12, 576), (1, 4, 36)]):
        s = 1400 + 10 * i
        inputs = {"self": bell(s, m, k), "weight": bell(s + 2, n, k, scale=0.25)}
        yield "linear_qcs4w", f"{m} {n} {k}", inputs, {}


FAMILIES = (
    linears,
    backwards,
    requants,
    losses,
    steps,
    embeddings,
    norms,
    rotaries,
    attentions,
    packs,
    channelwise,
)
