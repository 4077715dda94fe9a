"""Random calls of an op, grown from its cases: a walk of small changes that its guards accept.

A new op needs nothing here. NIBBLEGRAD_DRAWS asks for another number of calls an op, and a fresh
seed, told at the end; NIBBLEGRAD_SEED gives one. A push has its own: what it is blamed for is its.
"""

from __future__ import annotations

import os
import secrets
import zlib
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from sampling import SPECIAL_WHOLE, WEIGHTS, cases, infos, stored_or_plain

from nibblegrad.core.dtype import CLASSES, DTYPES
from nibblegrad.core.errors import NibblegradError
from nibblegrad.core.schema import Info
from nibblegrad.ops.op import Op

PUSH = 77
FRESH = secrets.randbits(32) if os.environ.get("NIBBLEGRAD_DRAWS") else PUSH
SEED = int(os.environ.get("NIBBLEGRAD_SEED") or FRESH)
DRAWS = int(os.environ.get("NIBBLEGRAD_DRAWS") or 100)
SIZES = [0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 64, 65]
SMALL, LARGE = 4096, 40_000  # elements an array; every 25th draw may be large
TRIES = 8
LAST = 2**63 - 1  # the largest number that torch takes


@dataclass(frozen=True)
class Draw:
    """One call: the arguments' shapes and dtypes (None: left out), and the attributes."""

    shapes: tuple[tuple[int, ...] | None, ...]
    kinds: tuple[str, ...]
    marks: tuple[str, ...]  # p: the case wants positive floats
    attrs: dict[str, Any]

    @property
    def infos(self) -> list[Info | None]:
        """As the guards take them."""
        pairs = zip(self.shapes, self.kinds, strict=True)
        return [None if s is None else Info(s, DTYPES[k]) for s, k in pairs]

    def __str__(self) -> str:
        words = [f"{k}:{list(s)}" if s is not None else "-"
                 for s, k in zip(self.shapes, self.kinds, strict=True)]  # fmt: skip
        return " ".join([*words, *(f"{k}={v}" for k, v in self.attrs.items())])


def generator(op: Op, *more: int) -> np.random.Generator:
    """The op's own random numbers of this run."""
    return np.random.default_rng([SEED, zlib.crc32(op.name.encode()), *more])


def draws(op: Op, count: int, rng: np.random.Generator) -> list[Draw]:
    """`count` calls: the more, the further from the op's cases."""
    whole = [_start(op, words, attrs) for _, words, attrs in cases(op)]
    starts = [draw for draw in whole if accepted(op, draw, LARGE)]
    return [_walk(op, starts, rng, LARGE if i % 25 == 24 else SMALL) for i in range(count)]


def _start(op: Op, words: str, attrs: dict) -> Draw:
    found = infos(op, words)
    marks = [w.rpartition(":")[0] for w in words.split()]
    return Draw(
        tuple(i and i.shape for i in found),
        tuple(i.dtype.name if i else "" for i in found),
        tuple("p" if m == "p" else "" for m in marks) or ("",) * len(found),
        attrs,
    )


def _walk(op: Op, starts: list[Draw], rng: np.random.Generator, limit: int) -> Draw:
    at = starts[rng.integers(len(starts))]
    for _ in range(rng.integers(1, 9)):
        change = CHANGES[rng.choice(len(CHANGES), p=ODDS)]
        for _ in range(TRIES):
            found = change(op, at, starts, rng)
            if found and accepted(op, found, limit):
                at = found
                break
    return at


LOOSE: dict[str, Any] = {  # what guards should refuse and do not yet, or torch cannot judge
    "convolution": lambda d: 0 not in d.shapes[1],
    "conv_with_clamp": lambda d: 0 not in d.shapes[1],
    "convolution_grad_weight": lambda d: 0 not in (d.shapes[0][1], d.shapes[1][1]),
    "attention": lambda d: d.attrs["pos"] >= 0 and d.shapes[1][1] > 0,
    "attention_grad_q": lambda d: d.attrs["pos"] >= 0,
    "attention_grad_kv": lambda d: d.attrs["pos"] >= 0,
    "rotary": lambda d: 0 <= d.attrs["pos"] <= d.shapes[1][0] - d.shapes[0][1],
    "rotary_hf": lambda d: 0 <= d.attrs["pos"] <= d.shapes[1][0] - d.shapes[0][1],
    "update_cache": lambda d: 0 <= d.attrs["pos"] <= d.shapes[1][1] - d.shapes[0][1],
    "q8ta_pixel_shuffle": lambda d: 0 not in d.shapes[0],
    "linear_qcs4w_backward": lambda d: d.attrs["k"] in (None, 2 * d.shapes[1][1] - 1),
}
LOOSE["q4gsw_scales"] = lambda d: d.attrs["group_size"] > 0
ONE, NONE = (1, (1,), (1, 1)), (0, (0,), (0, 0))


def _inside(d: Draw) -> bool:
    """No window lies in the padding alone, where torch's backward writes outside its memory."""
    return 0 not in d.shapes[0] and (d.attrs["dilation"] in ONE or d.attrs["padding"] in NONE)


LOOSE["max_pool2d_with_indices"] = _inside
CRASHES: dict[str, tuple] = {
    "q4gsw_scales": (ZeroDivisionError,),
    "q8ta_conv2d_transposed": (IndexError,),
}


def accepted(op: Op, draw: Draw, limit: int = SMALL) -> bool:
    """Whether the op's guards take it and no array of it is large."""
    found = draw.infos
    if any(i and (len(i.shape) > 8 or prod(i.shape) > limit) for i in found):
        return False
    if any(i and i.dtype.block > 1 and (not i.shape or i.shape[-1] % i.dtype.block) for i in found):
        return False
    try:
        outs = op.infer(found, draw.attrs).out
    except (NibblegradError, *CRASHES.get(op.name, ())):
        return False
    fits = all(prod(i.shape) <= limit for i in outs)
    return fits and (op.name not in LOOSE or LOOSE[op.name](draw))


# changes ---------------------------------------------------------------------------------------


def _lists(draw: Draw) -> dict[Any, list[int]]:
    """Every list of numbers: shapes by place, tuple attributes by name; a whole number alone too,
    under (name,)."""
    found: dict[Any, list[int]] = {i: list(s) for i, s in enumerate(draw.shapes) if s is not None}
    for name, v in draw.attrs.items():
        if isinstance(v, tuple) and all(type(n) is int for n in v):
            found[name] = list(v)
        elif type(v) is int:
            found[(name,)] = [v]
    return found


def _with(draw: Draw, lists: dict[Any, list[int]]) -> Draw | None:
    shapes, attrs = list(draw.shapes), dict(draw.attrs)
    for key, v in lists.items():
        if isinstance(key, int):
            if min(v, default=0) < 0:
                return None
            shapes[key] = tuple(v)
        elif isinstance(key, str):
            attrs[key] = tuple(v)
        else:
            attrs[key[0]] = max(-LAST, min(LAST, v[0]))
    return replace(draw, shapes=tuple(shapes), attrs=attrs)


def _some(places: list, rng: np.random.Generator) -> list:
    """All of them, or one, or any."""
    how = rng.integers(4)
    if how < 2 or not places:
        return places
    if how == 2:
        return [places[rng.integers(len(places))]]
    return [p for p in places if rng.integers(2)]


def resized(op: Op, draw: Draw, starts: list[Draw], rng: np.random.Generator) -> Draw | None:
    """One size, or all or some that equal it, becomes another."""
    lists = _lists(draw)
    places = [(key, i) for key, v in lists.items() for i in range(len(v))]
    if not places:
        return None
    key, i = places[rng.integers(len(places))]
    old, new = lists[key][i], SIZES[rng.integers(len(SIZES))]
    for key, i in _some([(k, i) for k, i in places if lists[k][i] == old], rng):
        lists[key][i] = new
    return _with(draw, lists)


def rescaled(op: Op, draw: Draw, starts: list[Draw], rng: np.random.Generator) -> Draw | None:
    """Some sizes all grow or shrink by one factor: what a law ties together."""
    lists = _lists(draw)
    up, down = [(2, 1), (3, 1), (1, 2), (3, 2), (5, 1)][rng.integers(5)]
    values = sorted({n for v in lists.values() for n in v})
    for old in [n for n in values if rng.integers(2)]:
        if old % down:
            return None
        lists = {k: [n * up // down if n == old else n for n in v] for k, v in lists.items()}
    return _with(draw, lists)


def ranked(op: Op, draw: Draw, starts: list[Draw], rng: np.random.Generator) -> Draw | None:
    """A dim more or less, at one place of some shapes and lists."""
    lists = _lists(draw)
    chosen = _some([k for k in lists if not isinstance(k, tuple)], rng)
    place, new, more = rng.integers(8), SIZES[rng.integers(1, 10)], rng.integers(2)
    end = bool(rng.integers(2))  # count from the last dim
    for key in chosen:
        v = lists[key]
        at = max(len(v) - place, 0) if end else min(place, len(v))
        if more:
            v.insert(at, new if isinstance(key, int) else [new, len(v), 0, 1][rng.integers(4)])
        elif v:
            v.pop(min(at, len(v) - 1))
    return _with(draw, lists)


def numbered(op: Op, draw: Draw, starts: list[Draw], rng: np.random.Generator) -> Draw | None:
    """An attribute changes: a whole number, a place of a list, its order, a flag, none."""
    attrs = draw.attrs
    if not attrs:
        return None
    name = list(attrs)[rng.integers(len(attrs))]
    v, default = attrs[name], op.defaults[name]
    if isinstance(v, bool):
        new: Any = not v
    elif isinstance(v, tuple) and v and rng.integers(2):
        new = tuple(int(n) for n in rng.permutation(np.array(v)))
    elif isinstance(v, tuple) and v:
        at, n = rng.integers(len(v)), int(rng.integers(-9, 10))
        new = (*v[:at], n, *v[at + 1 :])
    elif default is None and v is not None and rng.integers(3) == 0:
        new = None
    elif type(v) is int:
        near = min(LAST, v + int(rng.integers(-1, 2)))
        new = int(rng.integers(-9, 10)) if rng.integers(2) else near
    else:
        return None
    return replace(draw, attrs={**attrs, name: new})


def borrowed(op: Op, draw: Draw, starts: list[Draw], rng: np.random.Generator) -> Draw | None:
    """One attribute, or all, of another case."""
    other = starts[rng.integers(len(starts))].attrs
    if rng.integers(2) or not other:
        return replace(draw, attrs=dict(other))
    name = list(other)[rng.integers(len(other))]
    return replace(draw, attrs={**draw.attrs, name: other[name]})


def retyped(op: Op, draw: Draw, starts: list[Draw], rng: np.random.Generator) -> Draw | None:
    """Another dtype that the schema admits; the same for all arguments of its letter."""
    terms = op.schema.inputs
    free = [t.kind for t in terms if len(CLASSES[t.kind]) > 1]
    if not free:
        return None
    kind = free[rng.integers(len(free))]
    names = WEIGHTS if kind == "w" else [d.name for d in CLASSES[kind]]
    new = names[rng.integers(len(names))]
    kinds = tuple(
        new if t.kind == kind and k else k for t, k in zip(terms, draw.kinds, strict=True)
    )
    return replace(draw, kinds=kinds)


def shortened(op: Op, draw: Draw, starts: list[Draw], rng: np.random.Generator) -> Draw | None:
    """An optional argument is left out."""
    there = [i for i, t in enumerate(op.schema.inputs) if t.optional and draw.kinds[i]]
    if not there:
        return None
    gone = there[rng.integers(len(there))]
    shapes = tuple(None if i == gone else s for i, s in enumerate(draw.shapes))
    kinds = tuple("" if i == gone else k for i, k in enumerate(draw.kinds))
    return replace(draw, shapes=shapes, kinds=kinds)


CHANGES = (resized, rescaled, ranked, numbered, borrowed, retyped, shortened)
ODDS = (0.38, 0.08, 0.2, 0.14, 0.05, 0.1, 0.05)


# values ----------------------------------------------------------------------------------------


def values(
    op: Op, draw: Draw, rng: np.random.Generator, special: tuple[float, ...] = ()
) -> list[np.ndarray | None]:
    """Arrays of a draw; `special` floats among them, and the ends of i32."""
    longest = max([n for s in draw.shapes if s for n in s], default=1)
    found: list[np.ndarray | None] = []
    for name, term, info, mark in zip(
        op.names, op.schema.inputs, draw.infos, draw.marks, strict=True
    ):
        if info is None:
            found.append(None)
        elif term.kind == "i":  # an index: some of them outside
            found.append(rng.integers(-longest - 1, longest + 2, info.shape).astype(np.int32))
        else:
            tame = not special or name in TAME or f"{op.name}.{name}" in TAME
            plain = np.asarray(stored_or_plain(rng, name, info, mark if tame else ""))
            odd = () if tame else odd_values(info, special)
            found.append(np.asarray(_mixed(rng, plain, odd)))
    return found


def odd_values(info: Info, special: tuple[float, ...]) -> Any:
    """What to strew among values of this dtype."""
    return {"f32": special, "i32": SPECIAL_WHOLE}.get(info.dtype.name, ())


def _mixed(rng: np.random.Generator, plain: np.ndarray, odd: Any) -> np.ndarray:
    if not len(odd):
        return plain
    chosen = rng.choice(np.array(odd).astype(plain.dtype), plain.shape)
    return np.where(rng.random(plain.shape) < 0.3, chosen, plain)


TAME = {  # no special values; a convolution's padding is zeros, which infinite weights would show
    "v", "total", "scales", "weight_scales", "variance",
    "convolution.weight", "conv_with_clamp.weight", "convolution_grad_weight.g",
    "convolution_grad_weight.x", "grid_sampler_2d.grid",
}  # fmt: skip
