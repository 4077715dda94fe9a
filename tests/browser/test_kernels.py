"""Every kernel route of every op and format, in the page: GPU = numpy body. No op is named here."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sampling import NUMPY, arrays, cases, expected, infos, weights

from nibblegrad.ops.op import CATALOGUE, Op

PAGE = Path(__file__).with_name("kernel_page.py").read_text()
ALL = [
    (op, words, attrs, weight, f"{name} {weight}" if len(weights(op, words)) > 1 else name)
    for op in CATALOGUE.values()
    for name, words, attrs in cases(op)
    for weight in weights(op, words)
]


def packed(op: Op, words: str, attrs: dict, weight: str) -> dict:
    found = infos(op, words, weight)
    values = arrays(op, found, words + weight)
    args = [
        None if v is None else {"shape": i.shape, "dtype": i.dtype.name,
                                "data": base64.b64encode(v.tobytes()).decode()}
        for v, i in zip(values, found, strict=True)
    ]  # fmt: skip
    return {"op": op.name, "args": args, "attrs": attrs}


@cache
def answers(session, name: str) -> list:
    """All cases of an op in one call."""
    mine = [packed(*case[:4]) for case in ALL if case[0].name == name]
    return session.evaluate_python(PAGE, mine)


@pytest.mark.parametrize(("op", "words", "attrs", "weight", "name"), ALL, ids=[a[-1] for a in ALL])
def test_kernel(page, op: Op, words: str, attrs: dict, weight: str, name: str):
    mine = [case[-1] for case in ALL if case[0] is op]
    routes = answers(page, op.name)[mine.index(name)]
    assert routes, "no route took the case"
    found = infos(op, words, weight)
    with np.errstate(all="ignore"):
        want = expected(op, found, arrays(op, found, words + weight), attrs)
    for route in routes:
        assert "error" not in route, f"{route['label']}: {route['error']}"
        assert route["intact"], f"{route['label']}: wrote past the end of a buffer"
        for text, w in zip(route["outs"], want, strict=True):
            got = np.frombuffer(base64.b64decode(text), NUMPY_OF[w.dtype.name]).reshape(w.shape)
            close(got, w, op.tolerance(route["kernel"]), route["label"])


NUMPY_OF = {np.dtype(t).name: t for t in NUMPY.values()}


def close(got: np.ndarray, want: np.ndarray, tol: float, label: str) -> None:
    """Integers and truth's bytes exactly; floats to tol of the largest finite value: a sum's error
    follows its terms."""
    if want.dtype.kind in "iub":
        byte = want.dtype.kind == "b"
        pair = (got.view(np.uint8), want.view(np.uint8)) if byte else (got, want)
        np.testing.assert_array_equal(*pair, label)
    elif want.size:
        scale = float(np.abs(want, where=np.isfinite(want), out=np.zeros_like(want)).max()) or 1.0
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol * scale, err_msg=label)
