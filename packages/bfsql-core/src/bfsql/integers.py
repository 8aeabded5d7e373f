"""Graphs in integers: the form in which a traversal works.

A node is a handle, a predicate and a type are numbers, and a ring is three arrays. A store
that represents its graph in integers provides them as `IntegerGraph`; for a store of strings,
`bfsql.engine` numbers the strings as they arrive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from bfsql.lazy import former_names
from bfsql.models.records import EdgeDirection, Metadata

IntArray: TypeAlias = npt.NDArray[np.int32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

Number = TypeVar("Number", np.int32, np.int64)

BATCH_EDGES = 250_000
"""Approximate number of edges in a batch of a ring, read between two checks of a call's bounds."""
NO_NODE = -1
"""Type of a handle that is not a node but only an end of edges."""
TYPE_UNREAD = -2
"""Type of a handle whose type has not been requested."""
_SMALL, _SPARSE = 65_536, 1_000
"""An array is sparse if it has more places than `_SMALL` and over `_SPARSE` times the handles."""
_FEWEST = 4
"""Handles with which others are compared one by one, faster than by any look-up."""
TRIPLE, ROW = 3, 5
"""Numbers per edge, without and with the types of its two ends."""


class Ring(NamedTuple):
    """Edges in columns of equal length."""

    subjects: IntArray
    """Handles of the subjects."""
    predicates: IntArray
    """Numbers of the predicates."""
    objects: IntArray
    """Handles of the objects."""


class ResolvedNode(NamedTuple):
    """A node that was looked up by its id."""

    handle: int
    id: str
    """The id in the store's own spelling."""
    type: int
    """The number of its type."""


class IntegerGraph(ABC):
    """A graph in integers, for one call.

    Handles are 0 to `size` - 1. In a store's own columns they ascend with the ids in code
    point order, so sorting needs no strings.

    Attributes:
        kept: Answers of earlier calls in integers, if a cache holds them.
    """

    kept: KeptAnswers | None = None

    @property
    @abstractmethod
    def size(self) -> int:
        """Upper bound (exclusive) of all handles in use. It may grow while rings are read."""

    @property
    @abstractmethod
    def type_names(self) -> Sequence[str]:
        """The name of each type, by its number."""

    @property
    @abstractmethod
    def predicate_names(self) -> Sequence[str]:
        """The name of each predicate, by its number."""

    @property
    def repeats(self) -> bool:
        """Whether a ring may hold an edge more than once, so that core has to check."""
        return False

    @property
    def node_metadata(self) -> Mapping[str, Metadata]:
        """Metadata that was read together with the types of nodes, by id."""
        return {}

    @abstractmethod
    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """The node of each id, in the order of the ids; None for an id that is not a node."""

    def prefetch(self, ids: Sequence[str]) -> None:  # noqa: B027 - an option
        """Start reading the ring of some ids that are about to be looked up and requested.

        Ids that are not nodes do no harm; a store whose columns are in memory does nothing.
        """

    @abstractmethod
    async def ids(self, handles: IntArray) -> list[str]:
        """The id of each handle, in the order of the handles."""

    @abstractmethod
    async def types(self, handles: IntArray) -> IntArray:
        """The number of each handle's type; `NO_NODE` for one that is only an end of edges."""

    @abstractmethod
    def rings(
        self,
        handles: IntArray,
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Ring]:
        """Every edge with a requested node at either end, each once, in any order.

        Args:
            handles: Distinct handles. One that is not a node has no edges.
            predicates: Only edges with these predicates; None for all.
            direction: Only edges that leave the requested nodes ("out") or enter them ("in");
                None for both.

        Yields:
            Batches of `BATCH_EDGES` edges or, if a store cannot cut that finely, somewhat more.
        """

    async def ordered(self, handles: IntArray) -> IntArray:
        """The handles in the code point order of their ids."""
        return np.sort(handles)


def is_sparse(count: int, size: int) -> bool:
    """Whether an array with a place for each handle costs more than sorting and searching.

    Args:
        count: Number of handles that would be sorted or searched for.
        size: Upper bound (exclusive) of the handles.
    """
    return size > _SMALL and count * _SPARSE < size


def numbers_of(names: Collection[str], known: Sequence[str]) -> IntArray:
    """The numbers of some names, ascending; a name without a number is left out."""
    wanted = frozenset(names)
    return np.array([n for n, name in enumerate(known) if name in wanted], np.int32)


def distinct_numbers(numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The distinct numbers in ascending order."""
    in_order = np.sort(numbers)  # `np.unique` hashes them, which is many times slower
    new = np.ones(len(in_order), bool)
    np.not_equal(in_order[1:], in_order[:-1], out=new[1:])
    return in_order.compress(new)


def marked(ring: Ring, kept: BoolArray) -> Ring:
    """The edges of a ring that are marked."""
    return at(ring, np.flatnonzero(kept))  # which takes a quarter of the time of `column[kept]`


def at(ring: Ring, places: npt.NDArray[np.integer]) -> Ring:
    """The edges at the given places, in the order of the places."""
    return Ring(*(column.take(places) for column in ring))


def places_in(ordered: IntArray, wanted: IntArray) -> IntArray:
    """The position of each wanted number in an ascending array; -1 if it does not occur."""
    if not len(ordered):
        return np.full(len(wanted), -1, np.int32)
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[place] == wanted, place, -1).astype(np.int32)


class Handles:
    """A set of handles: a few as an ascending array, more as a mark for each handle.

    Args:
        size: Upper bound (exclusive) of the handles; `cover` raises it.
        handles: The handles in the set.
    """

    def __init__(self, size: int, handles: IntArray | None = None) -> None:
        self._size = size
        self._few: IntArray = np.empty(0, np.int32)
        self._marks: BoolArray | None = None
        if handles is not None:
            self.add(handles)

    def __bool__(self) -> bool:
        return len(self._few) > 0 or self._marks is not None

    def add(self, handles: IntArray) -> None:
        """Add handles to the set."""
        if not len(handles):
            return
        if self._marks is None:
            self._few = np.sort(np.concatenate([self._few, handles]))
            self._mark(len(self._few))
        else:
            self._marks[handles] = True

    def has(self, handles: IntArray) -> BoolArray:
        """Whether each handle is in the set."""
        if len(self._few) > _FEWEST:
            self._mark(len(self._few) + len(handles))
        if self._marks is not None:
            return self._marks.take(handles)  # in two thirds of the time of `self._marks[handles]`
        if 0 < len(self._few) <= _FEWEST:
            found: BoolArray = np.logical_or.reduce([handles == one for one in self._few])
            return found
        return places_in(self._few, handles) >= 0

    def _mark(self, count: int) -> None:
        """Turn an array of a few handles into marks, if `count` of them are worked on."""
        if self._marks is None and not is_sparse(count, self._size):
            marks = np.zeros(self._size, bool)
            marks[self._few] = True
            self._marks = marks

    def cover(self, size: int) -> None:
        """Make room for all handles below a size."""
        if size <= self._size:
            return
        self._size = max(size, 2 * self._size)
        if self._marks is not None:
            marks = np.zeros(self._size, bool)
            marks[: len(self._marks)] = self._marks
            self._marks = marks


class Numbering(dict[str, int]):
    """A mapping from strings to numbers, in the order of their first use.

    Attributes:
        names: The strings by number.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self.names)
        self.names.append(name)
        return number

    def of(self, names: Iterable[str], count: int) -> IntArray:
        """The numbers of `count` strings."""
        return np.fromiter(map(self.__getitem__, names), np.int32, count)

    def rows(self, rows: Sequence[Sequence[str | None]]) -> IntArray:
        """Edges as a backend streams them, in numbers.

        Args:
            rows: Triples, or triples with the types of their two ends.

        Returns:
            Subject, predicate, object and the types of the two ends, one row per edge;
            a type without a number is `NO_NODE` or `TYPE_UNREAD`.
        """
        count = len(rows)
        numbered = np.empty((count, ROW), np.int32)
        for place in range(TRIPLE):
            numbered[:, place] = self.of(map(itemgetter(place), rows), count)
        if not count or len(rows[0]) == TRIPLE:
            numbered[:, TRIPLE:] = TYPE_UNREAD
            return numbered
        types = _Types(self)
        for place in range(TRIPLE, ROW):
            numbered[:, place] = types.of(map(itemgetter(place), rows), count)
        return numbered


class _Types(dict[str | None, int]):
    """The numbers of types; None is the type of an end that is not a node."""

    def __init__(self, numbering: Numbering) -> None:
        super().__init__({None: NO_NODE})
        self._numbering = numbering

    def __missing__(self, name: str) -> int:
        self[name] = number = self._numbering[name]
        return number

    def of(self, names: Iterable[Any], count: int) -> IntArray:
        return np.fromiter(map(self.__getitem__, names), np.int32, count)


class KeptAnswers(Protocol):
    """Results found in a store's own columns, by request; the values are never modified."""

    def find(self, asked: Hashable) -> Any:
        """The result of this request; None if it is not held."""

    def keep(self, asked: Hashable, found: Any, records: int) -> None:
        """Hold a result, unless it is too large."""


class NumberedRings(Protocol):
    """Rings of a backend that works in strings, in numbers that belong to the rings."""

    numbering: Numbering
    typed: bool
    """Whether rows may include the types of their ends."""

    def rings(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[IntArray]:
        """A ring or a part of it, in batches as `Numbering.rows` returns them.

        An edge may occur more than once.
        """


__getattr__ = former_names(
    __name__, {"Columns": "IntegerGraph", "Found": "ResolvedNode", "UNTOLD": "TYPE_UNREAD"}
)
