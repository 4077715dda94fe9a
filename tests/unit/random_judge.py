"""Random calls of an op beside what torch makes of them, and how near ours must come."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
import torch_twins as twins
from draws import DRAWS, SEED, Draw, draws, generator, values
from sampling import SPECIAL, expected
from torch_elementwise import safe_divisors, torchs_own

from nibblegrad.ops.op import CATALOGUE, Op

torch.set_num_threads(1)  # of small arrays the threads take longer than the work
SMALL_SPECIAL = tuple(x for x in SPECIAL if not abs(x) > 1e30 or np.isinf(x))  # no sum overflows
PLAIN = {"attention": "torch masks by adding -inf, so that hidden keys' NaNs reach every row"}
UNSETTLED = {  # infinities: torch's answer depends on where they lie
    "native_layer_norm": "its Welford sums make an infinite mean NaN, or not",
    "native_group_norm": "its Welford sums make an infinite mean NaN, or not",
    "batch_norm": "it folds the mean into the bias, where infinities meet others",
}


@dataclass(frozen=True)
class Trial:
    """One call with its arrays."""

    op: Op
    number: int
    draw: Draw
    values: list
    seed: np.ndarray | None = None  # the gradient of the first output, where one is asked for

    def __str__(self) -> str:
        again = f"NIBBLEGRAD_SEED={SEED} NIBBLEGRAD_DRAWS={DRAWS}"
        return f"{self.op.name} #{self.number}: {self.draw}; again with {again}"


@cache
def trials(name: str) -> list[Trial]:
    """The op's calls of this run; every third has special values."""
    op, rng = CATALOGUE[name], generator(CATALOGUE[name])
    made = []
    for i, draw in enumerate(draws(op, DRAWS, rng)):
        found = values(op, draw, rng, specials(name) if i % 3 == 2 else ())
        made.append(Trial(op, i, draw, safe_divisors(op, found)))
    return made


def specials(name: str) -> tuple[float, ...]:
    """What the op's floats are strewn with: all, or what torch has one answer to."""
    if name in twins.FINITE or name in twins.NO_TWIN or name in PLAIN:
        return ()
    if name in UNSETTLED:
        return tuple(x for x in SMALL_SPECIAL if not np.isinf(x))
    moves = any(t.kind in "ye" for t in CATALOGUE[name].schema.outputs)
    return tuple(SPECIAL) if name in twins.EAGER or moves else SMALL_SPECIAL


def answers(trial: Trial, double: bool, given: list, of: dict[str, Any]) -> list[np.ndarray]:
    """torch's outputs; of an op that torch has not, the body's."""
    op, draw = trial.op, trial.draw
    if op.name in twins.NO_TWIN:
        return expected(op, draw.infos, trial.values, draw.attrs)
    with np.errstate(all="ignore"):
        return twins.answers(op, draw.infos, given, draw.attrs, double, of)


def agree(trial: Trial, got: list[np.ndarray], what: str) -> None:
    """What is whole or only moved, exactly; floats to the op's tolerance."""
    op, message = trial.op, f"{what} {trial}"
    outs = answers(trial, op.name not in twins.EAGER, trial.values, twins.TWINS)
    moved = any(t.kind == "y" for t in op.schema.outputs)
    for i, (ours, theirs) in enumerate(zip(got, outs, strict=False)):
        assert ours.shape == theirs.shape, message
        with np.errstate(all="ignore"):
            theirs = theirs.astype(ours.dtype)
        if ours.dtype.kind != "f" or moved:
            same(ours, theirs, message)
        else:
            near(trial, i, ours, theirs, message)


def same(ours: np.ndarray, theirs: np.ndarray, message: str) -> None:
    """Every bit, but that one NaN is as good as another."""
    if ours.tobytes() != theirs.tobytes():
        np.testing.assert_array_equal(ours, theirs, message)
        if ours.dtype.kind == "f":
            there = ~np.isnan(theirs)
            pair = (np.signbit(y[there]) for y in (ours, theirs))
            np.testing.assert_array_equal(*pair, message)


def near(trial: Trial, i: int, ours: np.ndarray, theirs: np.ndarray, message: str) -> None:
    """To the op's tolerance of each value, or of the largest; what is a sum, of its terms."""
    tol, eager = max(trial.op.tol, 2e-7), trial.op.name in twins.EAGER
    if eager:
        own = torchs_own(trial.op, trial.values, trial.draw.attrs)
        ours, theirs = (np.where(own, 0, y) for y in (ours, theirs))
    room = max(tol * min(largest(theirs), 1), 1e-6) if eager else tol * (largest(theirs) + 1e-6)
    if not np.allclose(ours, theirs, rtol=tol, atol=room, equal_nan=True):
        room = room if eager else tol * max(largest(theirs), terms(trial)[i])
        np.testing.assert_allclose(ours, theirs, rtol=tol, atol=room, err_msg=message)


def terms(trial: Trial) -> list[float]:
    """How large what adds up to each output is, whose error it inherits."""
    rows = zip(trial.values, trial.draw.infos, strict=True)
    sizes = [np.asarray(np.abs(v)) if i and i.dtype.kind == "f" else v for v, i in rows]
    of = twins.TERMS if trial.op.name in twins.TERMS else twins.TWINS
    return [largest(t) for t in answers(trial, True, sizes, of)]


def largest(x: np.ndarray) -> float:
    """The largest finite magnitude."""
    if x.dtype.kind != "f":
        return 0.0
    return float(np.abs(x, where=np.isfinite(x), out=np.zeros_like(x)).max(initial=0))


# gradients -------------------------------------------------------------------------------------

SLOPES = max(DRAWS // 12, 4)  # calls an op
STEEP = 5e-4  # of the largest: a slope near a pole multiplies what its argument lost


@cache
def learning(name: str) -> list[Trial]:
    """The op's calls whose floats learn: no special values, nothing empty."""
    op, rng = CATALOGUE[name], generator(CATALOGUE[name], 1)
    made: list[Trial] = []
    for draw in draws(op, 40 * SLOPES, rng):
        infos = draw.infos
        out = op.infer(infos, draw.attrs).out[0]
        floats = [i for i in infos if i and i.dtype.kind == "f"]
        full = all(0 not in i.shape for i in (*floats, out))
        if floats and full and out.dtype.kind == "f" and name not in twins.NO_TWIN:
            seed = rng.standard_normal(out.shape).astype(np.float32)
            made.append(Trial(op, len(made), draw, values(op, draw, rng), np.asarray(seed)))
        if len(made) == SLOPES:
            break
    return made


def slopes(trial: Trial) -> list[np.ndarray | None]:
    """torch's gradients of sum(seed * first output), in float64."""
    op, draw = trial.op, trial.draw
    rows = zip(trial.values, draw.infos, op.schema.inputs, strict=True)
    given = [twins.to_torch(v, i, t.kind, True) for v, i, t in rows]
    for t, i in zip(given, draw.infos, strict=True):
        if t is not None and i and i.dtype.kind == "f":
            t.requires_grad_()
    twins.TORCH[op.name](*given, **draw.attrs).backward(torch.from_numpy(trial.seed).double())
    return [None if t is None or t.grad is None else t.grad.numpy() for t in given]


def cancelled(trial: Trial) -> float:
    """How large the terms of a norm's gradient may be: in a short row they all but cancel."""
    if "norm" not in trial.op.name:
        return 0.0
    weight = dict(zip(trial.op.names, trial.values, strict=True)).get("weight")
    scale = 1.0 if weight is None else largest(weight)
    eps = trial.draw.attrs["eps"] or 2.0**-23
    return 0.01 * largest(trial.seed) * scale / eps**0.5


def slopes_agree(
    trial: Trial, got: list[np.ndarray | None], what: str, steep: float = STEEP
) -> None:
    """Every gradient we give is torch's."""
    compared = 0
    names = trial.op.names
    for name, ours, theirs in zip(names, got, slopes(trial), strict=True):
        if ours is not None:
            message = f"{what}: d {name} of {trial}"
            assert theirs is not None, message
            room = steep * (largest(theirs) + cancelled(trial) + 1e-3)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=room, err_msg=message)
            compared += 1
    assert compared, f"{what}: no gradient of {trial}"
