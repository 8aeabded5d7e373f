"""Operations on arrays of numbers and handles and on rings, independent of their meaning.

A store whose graph is in integers uses them as the traversals of core do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bfsql.integers import BoolArray, IntArray, Ring

LongArray = npt.NDArray[np.int64]

Number = TypeVar("Number", np.int32, np.int64)
Item = TypeVar("Item", bound=np.generic)

NO_HANDLES: IntArray = np.empty(0, np.int32)
NO_EDGES = Ring(NO_HANDLES, NO_HANDLES, NO_HANDLES)
_AT_ONCE = 250_000
"""Numbers or edges that are worked on at once, so that the processor's caches hold the results."""

_MANY = 1_000
"""Count of numbers from which marking each costs less than sorting them."""


# --- numbers ----------------------------------------------------------------------


def is_sparse(count: int, size: int) -> bool:
    """Whether an array with a place for each handle costs more than sorting and searching.

    Args:
        count: Number of handles that would be sorted or searched for.
        size: Upper bound (exclusive) of the handles.
    """
    # In a graph of 10,000,000 nodes, 12 handles are found by a table in 3 ms and by a search in
    # 16 us, where a whole small answer takes 1 ms. In one of 200,000 nodes, 20,000 handles are
    # found by a table in 0.6 ms and by a search in 1.6 ms.
    return size > 65_536 and count * 1_000 < size


def grown(array: npt.NDArray[Item], size: int) -> npt.NDArray[Item]:
    """The array with at least `size` places in each row, of which the new ones are zero."""
    *rows, places = array.shape
    if size <= places:
        return array
    larger = np.zeros((*rows, max(size, 2 * places)), array.dtype)
    larger[..., :places] = array
    return larger


def numbers_of(names: Collection[str], known: Sequence[str]) -> IntArray:
    """The numbers of some names, ascending; a name without a number is left out."""
    wanted = frozenset(names)
    return np.array([n for n, name in enumerate(known) if name in wanted], np.int32)


def distinct_numbers(numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The distinct numbers in ascending order."""
    top = int(numbers.max(initial=-1)) + 1
    if max(_MANY, top) <= len(numbers) and numbers.min() >= 0:
        # Of ten million numbers below 300,000, marks take 30 ms and sorting takes 600 ms.
        marks = np.zeros(top, bool)
        marks[numbers] = True
        return np.flatnonzero(marks).astype(numbers.dtype)
    in_order = np.sort(numbers)  # `np.unique` hashes them, which is many times slower
    new = np.ones(len(in_order), bool)
    np.not_equal(in_order[1:], in_order[:-1], out=new[1:])
    return in_order.compress(new)


def places_in(ordered: IntArray, numbers: IntArray) -> IntArray:
    """The position of each wanted number in an ascending array; -1 if it does not occur."""
    if not len(ordered):
        return np.full(len(numbers), -1, np.int32)
    place = np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)
    return np.where(ordered[place] == numbers, place, -1).astype(np.int32)


def places_of(nodes: IntArray, handles: IntArray, size: int) -> IntArray:
    """The index of each wanted node in an array of nodes; -1 if it is absent.

    Args:
        nodes: Handles in any order, each once.
        handles: Handles to look up.
        size: An upper bound that exceeds every handle.
    """
    if is_sparse(len(nodes) + len(handles), size):
        order = np.argsort(nodes).astype(np.int32)
        place = places_in(nodes[order], handles)
        return np.where(place < 0, np.int32(-1), order[place]) if len(nodes) else place
    # Memory for zeros is only allocated where it is written, so places are counted from 1.
    table = np.zeros(size, np.int32)
    table[nodes] = np.arange(1, len(nodes) + 1, dtype=np.int32)
    return table.take(handles) - 1


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


def are_named(numbers: IntArray, names: Sequence[str], selection: Collection[str]) -> BoolArray:
    """Which numbers have one of the given names; a negative number has no name.

    Only the names of the numbers that occur are examined, since the numbering of a cache also has
    a name for each id.

    Args:
        numbers: Numbers of types or of predicates.
        names: The names, indexed by number.
        selection: The names to look for.
    """
    occurring = distinct_numbers(numbers[numbers >= 0]).tolist()
    return are_among(numbers, [n for n in occurring if names[n] in selection])


def are_among(numbers: npt.NDArray[np.integer], wanted: Sequence[int]) -> BoolArray:
    """Which numbers of types or predicates are wanted; `NO_NODE` and `TYPE_UNREAD` are not."""
    if len(wanted) > 8:  # a comparison takes an eighth of a table; `np.isin` takes 10 tables
        marks = np.zeros(max(int(numbers.max(initial=0)), *wanted) + 3, bool)  # -1, -2 at its end
        marks[wanted] = True
        return marks.take(numbers)
    none = np.zeros(len(numbers), bool)
    found: BoolArray = np.logical_or.reduce([none, *(numbers == number for number in wanted)])
    return found


def counted_numbers(numbers: IntArray) -> dict[int, int]:
    """How often each number occurs; none may be negative."""
    top = int(numbers.max(initial=-1)) + 1
    if is_sparse(len(numbers), top):
        return Counter(numbers.tolist())
    counts = np.zeros(top, np.intp)
    for start in range(0, len(numbers), _AT_ONCE):
        counts += np.bincount(numbers[start : start + _AT_ONCE], minlength=top)
    present = np.flatnonzero(counts)
    return dict(zip(present.tolist(), counts[present].tolist(), strict=True))


# --- sets -------------------------------------------------------------------------


class Handles:
    """A set of handles: a few as an ascending array, more as a mark for each handle.

    Args:
        size: Upper bound (exclusive) of the handles; `cover` raises it.
        handles: The handles in the set.
    """

    def __init__(self, size: int, handles: IntArray | None = None) -> None:
        self._size = size
        self._few = NO_HANDLES
        self._marks: BoolArray | None = None
        if handles is not None:
            self.add(handles)

    def __bool__(self) -> bool:
        return len(self._few) > 0 or self._marks is not None

    def add(self, handles: IntArray) -> None:
        """Add handles to the set."""
        if not len(handles):
            return
        self._mark(len(self._few) + len(handles))
        if self._marks is None:
            self._few = np.sort(np.concatenate([self._few, handles]))
        else:
            self._marks[handles] = True

    def has(self, handles: IntArray) -> BoolArray:
        """Whether each handle is in the set."""
        if self:
            self._mark(len(self._few) + len(handles))
        if self._marks is not None:
            return self._marks.take(handles)  # in two thirds of the time of `self._marks[handles]`
        return places_in(self._few, handles) >= 0

    def _mark(self, count: int) -> None:
        """Turn an array of a few handles into marks, if `count` of them are worked on."""
        if self._marks is None and not is_sparse(count, self._size):
            marks = np.zeros(self._size, bool)
            marks[self._few] = True
            self._marks = marks

    def cover(self, size: int) -> None:
        """Make room for all handles below a size."""
        self._size = max(size, self._size)
        if self._marks is not None:
            self._marks = grown(self._marks, size)


# --- rings ------------------------------------------------------------------------


def marked(ring: Ring, mask: BoolArray) -> Ring:
    """The edges of a ring that are marked."""
    # Places take a quarter of the time of `column[mask]`.
    return ring if mask.all() else at(ring, np.flatnonzero(mask))


def at(ring: Ring, places: npt.NDArray[np.integer]) -> Ring:
    """The edges at the given places, in the order of the places."""
    return Ring(*(column.take(places) for column in ring))


def concatenated(rings: Sequence[Ring]) -> Ring:
    """The edges of all rings."""
    if len(rings) == 1:
        return rings[0]
    parts = zip(*rings, strict=True) if rings else ((), (), ())
    return Ring(*(np.concatenate([NO_HANDLES, *arrays]) for arrays in parts))


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
    if len(ring.subjects) < 2:  # nothing to compare
        return ring
    bits = _key_bits(ring, size)
    if bits is None:
        order, new = runs(ring, size)
        return at(ring, order[new])
    node, predicate = bits
    keys = distinct_numbers(_keys(ring, node, predicate))
    return Ring(
        (keys >> node + predicate).astype(np.int32),
        (keys >> node & (1 << predicate) - 1).astype(np.int32),
        (keys & (1 << node) - 1).astype(np.int32),
    )


def runs(ring: Ring, size: int) -> tuple[npt.NDArray[np.intp], BoolArray]:
    """An order in which equal edges are adjacent, and a mask of the first edge of each run.

    Args:
        ring: Edges in any order.
        size: An upper bound that exceeds every handle.
    """
    bits = _key_bits(ring, size)
    columns: tuple[npt.NDArray[np.integer], ...] = ring if bits is None else (_keys(ring, *bits),)
    order = np.lexsort(columns[::-1])
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce([c[order][1:] != c[order][:-1] for c in columns])
    return order, new


def places_of_edges(known: Ring, edges: Ring, size: int) -> LongArray:
    """The place of each edge among known ones, which are there once each; -1 if it is absent."""
    count = len(known.subjects)
    order, new = runs(concatenated([known, edges]), size)
    # The order is stable, so each run of equal edges begins with the known one, if any.
    number = np.empty(len(order), np.int64)
    number[order] = np.repeat(order[new], np.diff(np.append(np.flatnonzero(new), len(order))))
    return np.where(number < count, number, -1)[count:]


def _key_bits(ring: Ring, size: int) -> tuple[int, int] | None:
    """The bits of a node and of a predicate in a key; None if a key would have more than 63."""
    node = max(1, (size - 1).bit_length())
    predicate = int(ring.predicates.max(initial=0)).bit_length()
    return (node, predicate) if 2 * node + predicate < 64 else None


def _keys(ring: Ring, node: int, predicate: int) -> LongArray:
    """Each edge as one number, which is sorted several times faster than three."""
    keys = ring.subjects.astype(np.int64) << predicate | ring.predicates
    return keys << node | ring.objects
