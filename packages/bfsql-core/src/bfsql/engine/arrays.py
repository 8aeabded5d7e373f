"""What traversals do with arrays of handles and rings, without knowing what they mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from bfsql.columns import BoolArray, Handles, IntArray, Ring, is_sparse, marked, places_in

FEW = 256
"""Numbers that Python counts, or edges that it sorts, as fast as numpy."""
_FEWER = 32
"""Numbers of which Python makes a set faster."""
_KEY_BITS = 63


def distinct_numbers(numbers: IntArray) -> IntArray:
    """The numbers that occur, none of them negative, each once, ascending."""
    few = len(numbers) <= _FEWER
    top = 0 if few else int(numbers.max(initial=-1)) + 1
    if few or is_sparse(len(numbers), top):
        return np.array(sorted(set(numbers.tolist())), np.int32)
    marks = np.zeros(top, bool)
    marks[numbers] = True
    return np.flatnonzero(marks).astype(np.int32)


def are_named(numbers: IntArray, names: Sequence[str], wanted: Collection[str]) -> BoolArray:
    """Which numbers have one of some names; a negative one has none.

    Looked at are the names of the numbers that occur, since a cache's numbering has a name for
    each id as well.

    Args:
        numbers: Of types or of predicates.
        names: By number.
        wanted: The names.
    """
    occurring = distinct_numbers(numbers[numbers >= 0]).tolist()
    return np.isin(numbers, np.array([n for n in occurring if names[n] in wanted], np.int32))


def counted_numbers(numbers: IntArray) -> dict[int, int]:
    """The numbers that occur, none of them negative, and how often each does."""
    if len(numbers) < FEW:
        return Counter(numbers.tolist())
    top = int(numbers.max(initial=-1)) + 1
    if is_sparse(len(numbers), top):
        return Counter(numbers.tolist())
    counts = np.bincount(numbers, minlength=top)
    present = np.flatnonzero(counts)
    return dict(zip(present.tolist(), counts[present].tolist(), strict=True))


def concatenated(rings: Sequence[Ring]) -> Ring:
    """The edges of all rings."""
    if len(rings) == 1:
        return rings[0]
    nothing = np.empty(0, np.int32)
    parts = zip(*rings, strict=True) if rings else ((), (), ())
    return Ring(*(np.concatenate([nothing, *arrays]) for arrays in parts))


def within(ring: Ring, members: Handles) -> Ring:
    """The edges whose two ends are in a set."""
    return marked(ring, members.has(ring.subjects) & members.has(ring.objects))


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
    return marked(sorted_, new)


def runs(ring: Ring, size: int) -> tuple[npt.NDArray[np.intp], BoolArray]:
    """An order in which equal edges stand together, and which of them is the first in it.

    Args:
        ring: Edges, in any order.
        size: All numbers in it are below.
    """
    bits = max(1, (size - 1).bit_length())
    columns: tuple[npt.NDArray[np.integer], ...] = ring
    if 3 * bits <= _KEY_BITS:
        subjects, predicates, objects = ring
        columns = ((subjects.astype(np.int64) << bits | predicates) << bits | objects,)
    order = np.lexsort(columns[::-1])
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce([c[order][1:] != c[order][:-1] for c in columns])
    return order, new


def places_of(nodes: IntArray, wanted: IntArray, size: int) -> IntArray:
    """Where each wanted node stands among some nodes; -1 for one that does not.

    Args:
        nodes: Each once, in any order.
        wanted: Any.
        size: All handles are below it.
    """
    if is_sparse(len(nodes), size):
        order = np.argsort(nodes).astype(np.int32)
        place = places_in(nodes[order], wanted)
        return np.where(place < 0, np.int32(-1), order[place]) if len(nodes) else place
    # Zeros, since the memory behind them is only taken where it is written; so places count from 1.
    table = np.zeros(size, np.int32)
    table[nodes] = np.arange(1, len(nodes) + 1, dtype=np.int32)
    found: IntArray = table[wanted] - 1
    return found
