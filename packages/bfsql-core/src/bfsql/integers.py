"""Graphs in integers: the form in which a traversal works.

A node is a handle, a predicate and a type are numbers, and a ring is three arrays. A store
that represents its graph in integers provides them as `IntegerGraph`; for a store of strings,
`bfsql.engine` numbers the strings as they arrive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import cached_property, wraps
from operator import attrgetter, itemgetter
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from bfsql.errors import EntitiesNotListed
from bfsql.models.condition import PropertyCondition
from bfsql.models.parts import EdgeFilter
from bfsql.models.records import EdgeDirection, Metadata

IntArray: TypeAlias = npt.NDArray[np.int32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
_P = ParamSpec("_P")
_Value = TypeVar("_Value")

BATCH_EDGES = 250_000
"""Approximate number of edges in a batch of a ring, read between two checks of a call's bounds."""
NO_NODE = -1
"""Type of a handle that is not a node but only an end of edges."""
TYPE_UNREAD = -2
"""Type of a handle whose type has not been requested."""
NO_NODES: IntArray = np.empty(0, np.int32)
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

    @property
    def ends(self) -> IntArray:
        """The subjects, followed by the objects."""
        return np.concatenate([self.subjects, self.objects])


class ResolvedNode(NamedTuple):
    """A node that was looked up by its id."""

    handle: int
    id: str
    """The id in the store's own spelling."""
    type: int
    """The number of its type."""


class Place(NamedTuple):
    """One of the places at which a traversal starts or ends: an entity, or a set of them."""

    text: str
    """The id of the entity, or the pattern of the set."""
    handles: IntArray
    """The nodes, each once."""
    types: IntArray
    """The number of the type of each node."""
    named: bool
    """Whether it is an entity that the call named, which conditions spare (`protocol.md` 35)."""

    @classmethod
    def of(cls, node: ResolvedNode) -> Place:
        """The place of a node that was looked up by id or name."""
        handle, number = np.array([[node.handle], [node.type]], np.int32)
        return cls(node.id, handle, number, named=True)


@dataclass(frozen=True)
class NodeSet:
    """The nodes at which a traversal starts or ends."""

    places: tuple[Place, ...]

    @classmethod
    def of(cls, nodes: Iterable[ResolvedNode]) -> NodeSet:
        """The set of some nodes that were looked up by id or name, each once."""
        return cls(tuple(map(Place.of, nodes)))

    @property
    def texts(self) -> list[str]:
        """The ids and patterns, as an answer repeats them."""
        return [place.text for place in self.places]

    @property
    def is_named(self) -> bool:
        """Whether it consists of named entities alone."""
        return all(place.named for place in self.places)

    @cached_property
    def handles(self) -> IntArray:
        """The nodes of all places, each once, in the order of the places."""
        return self._distinct[0]

    @cached_property
    def types(self) -> IntArray:
        """The number of the type of each node."""
        return self._distinct[1]

    @cached_property
    def named(self) -> IntArray:
        """The nodes that the call named."""
        return np.concatenate([NO_NODES, *(one.handles for one in self.places if one.named)])

    @cached_property
    def _distinct(self) -> tuple[IntArray, IntArray]:
        handles = np.concatenate([NO_NODES, *(place.handles for place in self.places)])
        types = np.concatenate([NO_NODES, *(place.types for place in self.places)])
        if len(self.places) < 2 or self.is_named:  # each node once already
            return handles, types
        _, first = np.unique(handles, return_index=True)
        first.sort()
        return handles[first], types[first]


class NumberedColumn(NamedTuple):
    """Values of metadata, as `key_texts` gives them, by numbers."""

    numbers: IntArray
    texts: Sequence[Any]
    """What the numbers mean; it may grow."""


UNREAD, ABSENT = 0, 1
"""The numbers of a value whose record has to be read, and of None."""


class CodedGraph(NamedTuple):
    """A graph with numbers in place of predicates that stand for metadata as well."""

    graph: IntegerGraph
    split: Callable[[IntArray], tuple[IntArray, IntArray]]
    """The codes of metadata in such numbers, and the numbers of the predicates."""
    row: Callable[[int], tuple[str, Metadata] | None]
    """The predicate and the metadata of a code; None if its edges' metadata have to be read."""
    memo: dict[str, Any]
    """What a judge keeps of codes while the graph is open."""
    columns: Callable[[IntArray], Mapping[str, NumberedColumn]] | None = None
    """The values of codes by key; None if they are read one by one."""


class NodeBatch(NamedTuple):
    """Nodes in columns of equal length."""

    handles: IntArray
    types: IntArray
    """The number of the type of each node."""
    metadata: Mapping[str, Metadata]
    """By id: the properties that came with a node, complete for the keys of the conditions."""


class IntegerGraph(ABC):
    """A graph in integers, for one call.

    Handles are 0 to `size` - 1. In a store's own columns they ascend with the ids in code
    point order, so sorting needs no strings.

    Attributes:
        answer_cache: Answers of earlier calls in integers, if a cache holds them.
        is_own: Whether these are the store's own columns, not numbered strings.
    """

    answer_cache: AnswerCache | None = None
    is_own: bool = True

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

    def nodes(
        self,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[NodeBatch]:
        """The nodes of some types that meet conditions, each once, in any order.

        Args:
            entity_types: The types, of which a node has one; None for any.
            conditions: The conditions, none of them on a key `id`.

        Yields:
            Batches in which every node meets the conditions for which `filters_exactly` is true,
            and no node that meets all conditions is missing.

        Raises:
            EntitiesNotListed: The store cannot list its entities.
        """
        raise EntitiesNotListed

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """Whether all nodes that `nodes` yields meet a condition given to it."""
        return False

    async def property_values(self, handles: IntArray, key: str) -> list[Any] | None:
        """The value of a property of each node, None for a node without it (`protocol.md` 34).

        None in place of the list if the store has no column for all of them, so that core reads
        their metadata.
        """
        return None

    async def ordered(self, handles: IntArray) -> IntArray:
        """The handles in the code point order of their ids."""
        return np.sort(handles)

    def coded(self, keys: Collection[str]) -> CodedGraph | None:
        """The graph with some keys of the metadata of edges; None if there are no numbers."""
        return None


def _forwarded(
    method: Callable[Concatenate[Any, _P], _Value],
) -> Callable[Concatenate[Any, _P], _Value]:
    """A method with the signature of the interface that calls the inner columns."""

    @wraps(method, updated=())  # not `__isabstractmethod__`
    def forward(self: ForwardingIntegerGraph, /, *args: _P.args, **named: _P.kwargs) -> _Value:
        name = method.__name__
        answer: _Value = self._answer(name, getattr(self._inner, name)(*args, **named))
        return answer

    return forward


def _value_of_inner(name: str) -> Any:
    """A property that has the value of the inner columns."""
    return property(attrgetter(f"_inner.{name}"))


class ForwardingIntegerGraph(IntegerGraph):
    """Columns that pass every call on to others; subclasses override what they change.

    Args:
        inner: The other columns.
    """

    def __init__(self, inner: IntegerGraph) -> None:
        self._inner = inner
        self.answer_cache = inner.answer_cache

    def _answer(self, method: str, answer: Any) -> Any:
        """The answer of a method of the inner columns, for subclasses that do more."""
        return answer

    size = _value_of_inner("size")
    type_names = _value_of_inner("type_names")
    predicate_names = _value_of_inner("predicate_names")
    repeats = _value_of_inner("repeats")
    is_own = _value_of_inner("is_own")
    find = _forwarded(IntegerGraph.find)
    prefetch = _forwarded(IntegerGraph.prefetch)
    ids = _forwarded(IntegerGraph.ids)
    types = _forwarded(IntegerGraph.types)
    rings = _forwarded(IntegerGraph.rings)
    nodes = _forwarded(IntegerGraph.nodes)
    filters_exactly = _forwarded(IntegerGraph.filters_exactly)
    property_values = _forwarded(IntegerGraph.property_values)
    ordered = _forwarded(IntegerGraph.ordered)
    coded = _forwarded(IntegerGraph.coded)


class Numbering(dict[Any, int]):
    """A mapping from strings to numbers, in the order of their first use.

    Attributes:
        names: The strings by number.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[Any] = []

    def __missing__(self, name: Hashable) -> int:
        self[name] = number = len(self.names)
        self.names.append(name)
        return number

    def of(self, names: Iterable[Hashable], count: int) -> IntArray:
        """The numbers of `count` strings."""
        return np.fromiter(map(self.__getitem__, names), np.int32, count)

    def rows(self, rows: Sequence[Sequence[Hashable]]) -> IntArray:
        """Edges as a backend streams them, in numbers.

        Args:
            rows: Triples, or triples with the types of their two ends; with or without texts.

        Returns:
            Subject, predicate, object and the types of the two ends, one row per edge;
            a type without a number is `NO_NODE` or `TYPE_UNREAD`.
        """
        count = len(rows)
        numbered = np.empty((count, ROW), np.int32)
        for place in range(TRIPLE):
            numbered[:, place] = self.of(map(itemgetter(place), rows), count)
        if not count or len(rows[0]) < ROW:
            numbered[:, TRIPLE:] = TYPE_UNREAD
            return numbered
        types = _Types(self)
        for place in range(TRIPLE, ROW):
            numbers = (types[row[place]] for row in rows)
            numbered[:, place] = np.fromiter(numbers, np.int32, count)
        return numbered


class _Types(dict[Hashable, int]):
    """The numbers of types; None is the type of an end that is not a node."""

    def __init__(self, numbering: Numbering) -> None:
        super().__init__({None: NO_NODE})
        self._numbering = numbering

    def __missing__(self, name: Hashable) -> int:
        self[name] = number = self._numbering[name]
        return number


class AnswerCache(Protocol):
    """Results found in a store's own columns, by request; the values are never modified."""

    def find(self, request: Hashable) -> Any:
        """The result of this request; None if it is not held."""

    def keep(self, request: Hashable, answer: Any, records: int) -> None:
        """Hold a result, unless it is too large."""


class NumberedRings(Protocol):
    """Rings of a backend that works in strings, in numbers that belong to the rings."""

    numbering: Numbering
    typed: bool
    """Whether rows may include the types of their ends."""

    def coded(self, graph: IntegerGraph) -> CodedGraph:
        """What the numbers of rings with metadata mean in a graph that has these rings."""

    def rings(self, ids: Sequence[str], **part: Unpack[EdgeFilter]) -> AsyncGenerator[IntArray]:
        """A ring or a part of it, in batches as `Numbering.rows` returns them.

        An edge may occur more than once.
        """
