"""Operations of traversals on arrays of handles and on rings, independent of their meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from bfsql.integers import (
    BoolArray,
    Handles,
    IntArray,
    Ring,
    at,
    distinct_numbers,
    is_sparse,
    marked,
    places_in,
)

LongArray = npt.NDArray[np.int64]

FEW = 256
"""Below this size, Python counts numbers and sorts edges as fast as numpy."""
_KEY_BITS = 63
_AT_ONCE = 250_000
"""Numbers or edges that are worked on at once, so that the processor's caches hold the results."""


def are_named(numbers: IntArray, names: Sequence[str], wanted: Collection[str]) -> BoolArray:
    """Which numbers have one of the given names; a negative number has no name.

    Only the names of the numbers that occur are examined, since the numbering of a cache also has
    a name for each id.

    Args:
        numbers: Numbers of types or of predicates.
        names: The names, indexed by number.
        wanted: The names to look for.
    """
    occurring = distinct_numbers(numbers[numbers >= 0]).tolist()
    return np.isin(numbers, np.array([n for n in occurring if names[n] in wanted], np.int32))


def counted_numbers(numbers: IntArray) -> dict[int, int]:
    """How often each number occurs; none may be negative."""
    if len(numbers) < FEW:
        return Counter(numbers.tolist())
    top = int(numbers.max(initial=-1)) + 1
    if is_sparse(len(numbers), top):
        return Counter(numbers.tolist())
    counts = np.zeros(top, np.intp)
    for start in range(0, len(numbers), _AT_ONCE):
        counts += np.bincount(numbers[start : start + _AT_ONCE], minlength=top)
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
    """The edges with both ends in a set."""
    starts = range(0, len(ring.subjects), _AT_ONCE)
    parts = [Ring(*(column[start : start + _AT_ONCE] for column in ring)) for start in starts]
    kept = [members.has(part.subjects) & members.has(part.objects) for part in parts]
    return concatenated([marked(*one) for one in zip(parts, kept, strict=True)])


def distinct(ring: Ring, size: int) -> Ring:
    """The distinct edges of a ring.

    Args:
        ring: Edges in any order.
        size: An upper bound that exceeds every handle.
    """
    if len(ring.subjects) < 2:  # noqa: PLR2004 - nothing to compare
        return ring
    bits = _bits(ring, size)
    if sum(bits) <= _KEY_BITS:
        keys = distinct_numbers(_keys(ring, bits))
        node, predicate = bits[1:]
        return Ring(
            (keys >> node + predicate).astype(np.int32),
            (keys >> node & (1 << predicate) - 1).astype(np.int32),
            (keys & (1 << node) - 1).astype(np.int32),
        )
    order, new = runs(ring, size)
    return at(ring, order[new])


def runs(ring: Ring, size: int) -> tuple[npt.NDArray[np.intp], BoolArray]:
    """An order in which equal edges are adjacent, and a mask of the first edge of each run.

    Args:
        ring: Edges in any order.
        size: An upper bound that exceeds every handle.
    """
    bits = _bits(ring, size)
    columns: tuple[npt.NDArray[np.integer], ...] = ring
    if sum(bits) <= _KEY_BITS:
        columns = (_keys(ring, bits),)
    order = np.lexsort(columns[::-1])
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce([c[order][1:] != c[order][:-1] for c in columns])
    return order, new


def _bits(ring: Ring, size: int) -> tuple[int, int, int]:
    """The bits of a subject, of an object and of a predicate in a key."""
    node = max(1, (size - 1).bit_length())
    return node, node, int(ring.predicates.max(initial=0)).bit_length()


def _keys(ring: Ring, bits: tuple[int, int, int]) -> LongArray:
    """Each edge as one number, which is sorted several times faster than three."""
    _, node, predicate = bits
    keys = ring.subjects.astype(np.int64) << predicate | ring.predicates
    return keys << node | ring.objects


def places_of(nodes: IntArray, wanted: IntArray, size: int) -> IntArray:
    """The index of each wanted node in an array of nodes; -1 if it is absent.

    Args:
        nodes: Handles in any order, each once.
        wanted: Handles to look up.
        size: An upper bound that exceeds every handle.
    """
    if is_sparse(len(nodes) + len(wanted), size):
        order = np.argsort(nodes).astype(np.int32)
        place = places_in(nodes[order], wanted)
        return np.where(place < 0, np.int32(-1), order[place]) if len(nodes) else place
    # Memory for zeros is only allocated where it is written, so places are counted from 1.
    table = np.zeros(size, np.int32)
    table[nodes] = np.arange(1, len(nodes) + 1, dtype=np.int32)
    return table.take(wanted) - 1


def ranges(starts: LongArray, lengths: LongArray) -> tuple[LongArray, LongArray]:
    """The numbers in several ranges, one range after the other.

    Args:
        starts: The first number of each range.
        lengths: How many numbers each range has.

    Returns:
        For each number, the index of its range; and the numbers.
    """
    index = np.repeat(np.arange(len(starts)), lengths)
    return index, np.arange(len(index)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
