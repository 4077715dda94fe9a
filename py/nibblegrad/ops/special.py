"""What numpy lacks."""

from __future__ import annotations

from typing import Any

from ..core.lazy import np


def error_function(x: Any) -> Any:
    """erf in float64 by its series, beyond 3 by the continued fraction of erfc; in x's dtype."""
    a = np.minimum(np.abs(x).astype(np.float64), 6.0)
    term, total = a.copy(), a.copy()
    for n in range(1, 60):
        term = term * -a * a / n
        total = total + term / (2 * n + 1)
    tail, far = np.zeros_like(a), np.maximum(a, 2.0)
    for n in range(60, 0, -1):
        tail = n / 2 / (far + tail)
    outer = 1 - np.exp(-far * far) / (far + tail) / np.sqrt(np.pi)
    return np.copysign(np.where(a < 2.5, total * 2 / np.sqrt(np.pi), outer), x).astype(x.dtype)
