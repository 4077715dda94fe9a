"""Optimisers over flat buffers, and learning-rate schedules."""

from .adamw import AdamW
from .flat import Flat
from .schedule import SCHEDULES, schedule

__all__ = ["SCHEDULES", "AdamW", "Flat", "schedule"]
