"""What traversals do with arrays of handles and rings, without knowing what they mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bfsql.columns import IntArray, Ring

BoolArray = npt.NDArray[np.bool_]

_KEY_BITS = 63
_SPARSE = 1_000
"""Marks that cost as much as a number in one of Python's own sets."""


class Handles:
    """A set of handles: a mark for each.

    Args:
        size: All handles are below it; `cover` makes room for more.
        handles: Those in the set.
    """

    def __init__(self, size: int, handles: IntArray | None = None) -> None:
        self._marks = np.zeros(size, bool)
        self._any = False
        if handles is not None:
            self.add(handles)

    def __bool__(self) -> bool:
        return self._any

    def add(self, handles: IntArray) -> None:
        """Put handles into the set."""
        if len(handles):
            self._marks[handles] = self._any = True

    def take(self, handles: IntArray) -> IntArray:
        """Put handles into the set; those that were not in it, each once, ascending."""
        new = handles[~self._marks[handles]]
        self.add(new)
        return distinct_numbers(new)

    def has(self, handles: IntArray) -> BoolArray:
        """Whether each handle is in the set."""
        found: BoolArray = self._marks[handles]
        return found

    def cover(self, size: int) -> None:
        """Make room for all handles below a size."""
        if size > len(self._marks):
            marks = np.zeros(max(size, 2 * len(self._marks)), bool)
            marks[: len(self._marks)] = self._marks
            self._marks = marks


def distinct_numbers(numbers: IntArray) -> IntArray:
    """The numbers that occur, none of them negative, each once, ascending."""
    top = int(numbers.max(initial=-1)) + 1
    if top > _SPARSE * len(numbers):  # a mark for each number below the largest would cost more
        return np.array(sorted(set(numbers.tolist())), np.int32)
    marks = np.zeros(top, bool)
    marks[numbers] = True
    return np.flatnonzero(marks).astype(np.int32)


def concatenated(rings: Sequence[Ring]) -> Ring:
    """The edges of all rings."""
    if len(rings) == 1:
        return rings[0]
    nothing = np.empty(0, np.int32)
    parts = zip(*rings, strict=True) if rings else ((), (), ())
    return Ring(*(np.concatenate([nothing, *arrays]) for arrays in parts))


def where(ring: Ring, kept: BoolArray) -> Ring:
    """The edges that are marked."""
    return Ring(ring.subjects[kept], ring.predicates[kept], ring.objects[kept])


def within(ring: Ring, members: Handles) -> Ring:
    """The edges whose two ends are in a set."""
    return where(ring, members.has(ring.subjects) & members.has(ring.objects))


def at(ring: Ring, places: npt.NDArray[np.integer]) -> Ring:
    """The edges at some places, in their order."""
    return Ring(ring.subjects[places], ring.predicates[places], ring.objects[places])


def distinct(ring: Ring, size: int) -> Ring:
    """Each edge once.

    Args:
        ring: Edges, in any order.
        size: All numbers in it are below.
    """
    subjects, predicates, objects = ring
    if len(subjects) < 2:  # noqa: PLR2004 - nothing to compare
        return ring
    bits = max(1, (size - 1).bit_length())
    if 3 * bits <= _KEY_BITS:  # one number an edge: sorted some times faster than three
        keys = np.sort(
            (subjects.astype(np.int64) << 2 * bits)
            | (predicates.astype(np.int64) << bits)
            | objects
        )
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        mask = (1 << bits) - 1
        return Ring(
            (keys >> 2 * bits).astype(np.int32),
            (keys >> bits & mask).astype(np.int32),
            (keys & mask).astype(np.int32),
        )
    order = np.lexsort((objects, predicates, subjects))
    sorted_ = at(ring, order)
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in sorted_])
    return where(sorted_, new)
