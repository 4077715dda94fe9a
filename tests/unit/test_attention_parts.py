"""Attention over keys in parts, put together, against attention over all of them at once."""

from __future__ import annotations

import numpy as np
import pytest

from nibblegrad.ops import attention, attention_join, attention_parts


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 23])
@pytest.mark.parametrize(("t", "pos"), [(1, 0), (1, 22), (3, 9), (2, 21)])
@pytest.mark.parametrize("causal", [True, False])
def test_parts_join_to_the_whole(parts: int, t: int, pos: int, causal: bool):
    rng = np.random.default_rng(parts * 100 + pos)
    q = rng.standard_normal((2, t, 6, 8))
    k, v = rng.standard_normal((2, 2, 23, 2, 8))
    how = {"scale": 0.35, "pos": pos, "causal": causal}
    want = attention.body(q, k, v, **how)
    got = attention_join.body(*attention_parts.body(q, k, v, parts=parts, **how))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)
