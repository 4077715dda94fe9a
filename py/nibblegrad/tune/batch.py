"""Rows of token ids into padded micro-batches, and the places in them that carry loss."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..core.errors import FormatError
from ..io.chat import NO_LOSS

Pair = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Batch:
    """ids [rows * width], right-padded; at `places` of it stands a token whose next is `labels`."""

    rows: int
    width: int
    ids: array[int]
    places: array[int]
    labels: array[int]
    tokens: int

    @property
    def count(self) -> int:
        """Tokens that carry loss."""
        return len(self.labels)


def rounded(n: int) -> int:
    """Up to a multiple of an eighth of the next power of two, or 8: few plans, little padding."""
    step = max(8, 1 << max(0, (n - 1).bit_length() - 3))
    return -(-n // step) * step


def make_batch(pairs: list[Pair], pad: int, width: int | None = None) -> Batch:
    """Pad to one width and find where loss is: label j is predicted at j - 1."""
    width = width or rounded(max(len(ids) for ids, _ in pairs))
    flat, places, labels = array("i"), array("i"), array("i")
    for row, (ids, marks) in enumerate(pairs):
        flat.extend(ids)
        flat.extend([pad] * (width - len(ids)))
        for j in range(1, len(ids)):
            if marks[j] != NO_LOSS:
                places.append(row * width + j - 1)
                labels.append(ids[j])
    return Batch(len(pairs), width, flat, places, labels, sum(len(ids) for ids, _ in pairs))


def widest(batches: Iterable[list[Pair]]) -> tuple[int, int, int]:
    """(rows, width, places with loss), each the largest of these batches: what a plan must hold."""
    shapes = [
        (len(b), max(len(ids) for ids, _ in b), sum(m != NO_LOSS for _, ms in b for m in ms[1:]))
        for b in batches
    ]
    rows, width, places = (max(column) for column in zip(*shapes, strict=True))
    return rows, rounded(width), rounded(places)


def cut(pairs: list[Pair], max_length: int) -> tuple[list[Pair], int]:
    """Rows cut to max_length; those left with no loss are dropped, and counted.

    Raises FormatError when nothing is left.
    """
    kept = [(ids[:max_length], marks[:max_length]) for ids, marks in pairs]
    useful = [p for p in kept if any(m != NO_LOSS for m in p[1][1:])]
    if not useful:
        raise FormatError(
            f"data: no row has a token to learn within max_length={max_length}; raise it"
        )
    return useful, len(pairs) - len(useful)


def order(count: int, seed: int) -> Iterator[int]:
    """Row numbers for ever, each epoch shuffled by the seed."""
    epoch = 0
    while True:
        numbers = list(range(count))
        random.Random(f"{seed}:{epoch}").shuffle(numbers)
        yield from numbers
        epoch += 1
