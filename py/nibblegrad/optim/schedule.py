"""Schedules as transformers' get_*_schedule_with_warmup: a factor of the peak learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..core.errors import ShapeError

SCHEDULES = ("constant", "linear", "cosine")


def schedule(kind: str, warmup_steps: int, max_steps: int) -> Callable[[int], float]:
    """factor(step), step from 0: a linear warm-up, then constant, or to zero by line or cosine."""
    if kind not in SCHEDULES:
        raise ShapeError(f"schedule: '{kind}' is not known; known: {' '.join(SCHEDULES)}")

    def factor(step: int) -> float:
        if step < warmup_steps:
            return step / max(1, warmup_steps)
        if kind == "constant":
            return 1.0
        part = (step - warmup_steps) / max(1, max_steps - warmup_steps)
        return max(0.0, 1 - part if kind == "linear" else 0.5 * (1 + math.cos(math.pi * part)))

    return factor
