"""Upstream's recorded cases: what must come out, and how near."""

from __future__ import annotations

import et_vk
import numpy as np
from upstream_calls import CALLS

# to the byte, their floats too, where nothing is summed in f32
INT8 = {name for name in CALLS if "q8ta" in name or "per_tensor" in name or "qparams" in name}
INT8 -= {"linear_q8ta_q8csw"}  # upstream sums it in f32; we in i32
CASES = [case for name in CALLS for case in et_vk.cases(name)]


def wanted(case: et_vk.Case) -> list[np.ndarray]:
    """The outputs compared: packing's bytes and padded scales; qcs4w's true maths."""
    op = case.name.split("/")[0]
    if op == "pack_q4gsw":
        return case.outputs[2:4]
    return case.outputs[:1] if op == "linear_qcs4w" else case.outputs


def check(case: et_vk.Case, got: list[np.ndarray]) -> None:
    """Bytes exactly; floats to upstream's rule at a tenth of its tolerance."""
    for ours, theirs in zip(got, wanted(case), strict=True):
        if case.name.split("/")[0] in INT8:
            np.testing.assert_array_equal(ours.reshape(theirs.shape), theirs, case.name)
        elif theirs.dtype.kind in "iu":
            # k % 8 != 0: upstream's packer pads rows to whole words, its runtime then refuses them
            np.testing.assert_array_equal(ours, theirs[:, : ours.shape[1]], case.name)
            assert ours.shape == theirs.shape or ours.shape[1] % 4, case.name
        elif "pack_q4gsw" in case.name:
            np.testing.assert_array_equal(ours, theirs, case.name)
        else:
            error = np.abs(ours.reshape(theirs.shape) - theirs)
            near = np.isnan(theirs) & np.isnan(ours.reshape(theirs.shape))
            near |= (error <= 1e-4) | (error <= 1e-4 * np.maximum(np.abs(theirs), 1e-6))
            assert near.all(), f"{case.name}: off by {np.nanmax(error)}"


def narrowed(value: np.ndarray) -> np.ndarray:
    """int64 is int32 here, as on upstream's device."""
    return value.astype(np.int32) if value.dtype == np.int64 else value
