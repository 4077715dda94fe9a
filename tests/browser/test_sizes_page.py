"""More than 65,535 workgroups, no elements, rank 0 to 8: each kernel family on the GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from draws import SEED

PAGE = Path(__file__).with_name("sizes_page.py").read_text()


def test_every_size_that_webgpu_allows(page):
    places = np.random.default_rng(SEED).random(6).tolist()
    answer = page.evaluate_python(PAGE, places)
    assert len(answer) > 60
    for one in answer:
        assert one.get("folded", True), f"{one['name']} took few workgroups"
        for place, got, want in one["found"]:
            near = pytest.approx(want, rel=1e-5, abs=1e-6)
            assert got == near, f"{one['name']} at {place}; NIBBLEGRAD_SEED={SEED}"
