"""Upstream's rule of when an output agrees with its golden. Knows arrays, nothing of programs."""

import dataclasses
from typing import Any

import numpy as np

ATOL = RTOL = 1e-3  # upstream's defaults
TINY = 1e-6  # a relative error is of no less than this
EXACT = "bui"  # kinds of dtypes whose elements must be equal


@dataclasses.dataclass(frozen=True)
class Agreement:
    """`error` is the largest absolute difference, `share` that of an element's tolerance."""

    passed: bool
    error: float = 0.0
    share: float = 0.0
    why: str = ""


def agree(
    got: Any, want: Any, atol: float = ATOL, rtol: float = RTOL, nan: bool = False
) -> Agreement:
    """A float passes by either bound, absolute or relative; NaN never; the rest only if equal.

    With `nan`, which is not upstream's, what is NaN or infinite in both agrees.
    """
    if got.shape != want.shape:
        return Agreement(False, why=f"shape is {list(got.shape)}, not {list(want.shape)}")
    exact = want.dtype.kind in EXACT
    if (got.dtype.kind in EXACT) != exact:
        return Agreement(False, why=f"dtype is {got.dtype}, where {want.dtype} is wanted")
    if not want.size:
        return Agreement(True)
    a, b = (np.atleast_1d(x).astype(np.float64) for x in (got, want))
    with np.errstate(all="ignore"):
        off = np.abs(a - b)
        if nan:
            off[(a == b) | (np.isnan(a) & np.isnan(b))] = 0
        if exact:
            share = np.where(off == 0, 0.0, np.inf)
        else:
            near, far = _share(off, atol), _share(off / np.maximum(np.abs(b), TINY), rtol)
            share = np.fmin(near, far)
            share[np.isnan(off)] = np.inf
    return _told(a, b, off, share)


def _share(off: Any, bound: float) -> Any:
    return off / bound if bound else np.where(off == 0, 0.0, np.inf)


def _told(a: Any, b: Any, off: Any, share: Any) -> Agreement:
    worst = float(share.max())
    bad = int((share > 1).sum())
    if not bad:
        return Agreement(True, float(off.max()), worst)
    at = np.unravel_index(int(share.argmax()), share.shape)
    place = f"[{', '.join(map(str, map(int, at)))}]"
    why = f"{bad} of {share.size} differ, most {place}: {a[at]:.7g}, not {b[at]:.7g}"
    return Agreement(False, float(np.nanmax(off, initial=0.0)), worst, why)
