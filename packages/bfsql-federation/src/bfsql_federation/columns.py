"""The columns of several graphs as those of one: one numbering of all ids, types and predicates."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import chain
from typing import Any, Unpack

import numpy as np

from bfsql.arrays import LongArray, marked, numbers_of, places_of, ranges
from bfsql.integers import NO_NODE, IntArray, IntegerGraph, NodeBatch, Numbering, ResolvedNode, Ring
from bfsql.models import EdgeFilter, PropertyCondition
from bfsql_federation.identifiers import Identifiers
from bfsql_federation.member import Member, together
from bfsql_federation.merging import GENERIC_TYPES, conditions_of_one

MOST_NODES = 5_000_000
"""Most nodes of all graphs that are numbered; for more, ids are compared as texts."""


@dataclass(frozen=True)
class _Numbers:
    """The numbers of one graph, and those of the federation."""

    nodes: IntArray
    """By handle in the graph: the joined handle."""
    order: IntArray
    """The handles in the graph, in the order of joined handles."""
    starts: LongArray
    """By joined handle: where its handles begin in this order; and where the last ones end."""
    types: IntArray
    """By number in the graph: the joined number of a type."""
    predicates: IntArray
    """Likewise of a predicate."""

    def own(self, handles: IntArray) -> IntArray:
        """The handles in the graph of joined ones; an entity may have several."""
        starts = self.starts.take(handles)
        _, places = ranges(starts, self.starts.take(handles + 1) - starts)
        return np.sort(self.order.take(places))


class JoinedNumbers:
    """The numbering of all graphs, which is made once.

    Attributes:
        ids: The canonical ids, in code point order.
        type_names: The types.
        predicate_names: The predicates.
        types: The number of the type of each handle.
        members: The numbers of each graph.
    """

    ids: list[str]
    type_names: list[str]
    predicate_names: list[str]
    types: IntArray
    members: list[_Numbers]

    @classmethod
    async def read(
        cls, members: Sequence[Member], identifiers: Identifiers
    ) -> JoinedNumbers | None:
        """Number what the graphs have; None if one of them has no columns, or they are too large.

        Args:
            members: The graphs; of several types of an entity, the first one's counts.
            identifiers: Which ids mean the same.
        """
        graphs = [one.db.columns() for one in members]
        known = [one for one in graphs if one is not None]
        if len(known) < len(graphs) or sum(one.size for one in known) > MOST_NODES:
            return None
        joined = cls()
        spelt = [await one.ids(np.arange(one.size, dtype=np.int32)) for one in known]
        ids = [[*map(identifiers.canonical, some)] for some in spelt]
        joined.ids = sorted({*chain.from_iterable(ids)})
        places = {one: place for place, one in enumerate(joined.ids)}
        joined.types = np.full(len(joined.ids), NO_NODE, np.int32)
        joined.members = []
        types, predicates = Numbering(), Numbering()
        for member, graph, some in zip(members, known, ids, strict=True):
            nodes = np.fromiter(map(places.__getitem__, some), np.int32, len(some))
            counts = np.bincount(nodes, minlength=len(joined.ids))
            numbers = _Numbers(
                nodes,
                np.argsort(nodes, kind="stable").astype(np.int32),
                np.append(0, np.cumsum(counts)),
                types.of(map(member.types.common, graph.type_names), len(graph.type_names)),
                predicates.of(
                    map(member.predicates.common, graph.predicate_names), len(graph.predicate_names)
                ),
            )
            joined.members.append(numbers)
            own = await graph.types(np.arange(graph.size, dtype=np.int32))
            is_node = own != NO_NODE
            found, typed = nodes[is_node], numbers.types.take(own[is_node])
            have, generic = joined.types.take(found), numbers_of(GENERIC_TYPES, types.names)
            is_new = (have == NO_NODE) | (np.isin(have, generic) & ~np.isin(typed, generic))
            joined.types[found[is_new][::-1]] = typed[is_new][::-1]  # of two spellings the first
        joined.type_names, joined.predicate_names = types.names, predicates.names
        return joined


class FederatedColumns(IntegerGraph):
    """The graph in integers, for one call.

    Args:
        members: The graphs.
        identifiers: Which ids mean the same.
        numbers: Their numbering.
    """

    def __init__(
        self, members: Sequence[Member], identifiers: Identifiers, numbers: JoinedNumbers
    ) -> None:
        self._identifiers, self._numbers = identifiers, numbers
        self._graphs = {
            member: (graph, own)
            for member, own in zip(members, numbers.members, strict=True)
            if (graph := member.db.columns()) is not None
        }

    @property
    def size(self) -> int:
        """The number of different ids."""
        return len(self._numbers.ids)

    @property
    def type_names(self) -> Sequence[str]:
        """The common names of types."""
        return self._numbers.type_names

    @property
    def predicate_names(self) -> Sequence[str]:
        """The common names of predicates."""
        return self._numbers.predicate_names

    @property
    def repeats(self) -> bool:
        """True: several graphs may have an edge."""
        return True

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """The node of each id."""
        known, found = self._numbers.ids, list[ResolvedNode | None]()
        for one in map(self._identifiers.canonical, ids):
            place = bisect_left(known, one)
            is_known = place < len(known) and known[place] == one
            of = int(self._numbers.types[place]) if is_known else NO_NODE
            found.append(None if of == NO_NODE else ResolvedNode(place, one, of))
        return found

    async def ids(self, handles: IntArray) -> list[str]:
        """The canonical id of each handle."""
        return [self._numbers.ids[handle] for handle in handles.tolist()]

    async def types(self, handles: IntArray) -> IntArray:
        """The number of each handle's type."""
        return self._numbers.types.take(handles)

    async def rings(self, handles: IntArray, **part: Unpack[EdgeFilter]) -> AsyncGenerator[Ring]:
        """The rings of all graphs, each read from its own columns."""
        rings = {
            member: graph.rings(
                own,
                predicates=member.predicates.own(part.get("predicates")),
                direction=part.get("direction"),
            )
            for member, (graph, numbers) in self._graphs.items()
            if len(own := numbers.own(handles))
        }
        async with aclosing(together(rings)) as batches:
            async for member, (subjects, kinds, objects) in batches:
                _, numbers = self._graphs[member]
                joined = Ring(
                    numbers.nodes.take(subjects),
                    numbers.predicates.take(kinds),
                    numbers.nodes.take(objects),
                )
                # An edge between two spellings of one entity says that they are the same.
                yield marked(joined, (joined.subjects != joined.objects) | (subjects == objects))

    async def nodes(
        self,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[NodeBatch]:
        """The nodes of some types; at least those that meet the conditions."""
        wanted = np.zeros(len(self.type_names) + 1, bool)  # the last element is for NO_NODE
        wanted[:-1] = entity_types is None
        wanted[numbers_of(entity_types or (), self.type_names)] = True
        chosen = np.zeros(self.size, bool)
        if sure := conditions_of_one(conditions):
            found = {
                member: graph.nodes(None, member.first_known(sure))
                for member, (graph, _) in self._graphs.items()
            }
            async with aclosing(together(found)) as batches:
                async for member, batch in batches:
                    chosen[self._graphs[member][1].nodes.take(batch.handles)] = True
        else:
            chosen[:] = True
        handles = np.flatnonzero(chosen & wanted[self._numbers.types]).astype(np.int32)
        if len(handles):
            yield NodeBatch(handles, self._numbers.types.take(handles), {})

    async def property_values(self, handles: IntArray, key: str) -> list[Any] | None:
        """The value of a property of each node, where no two graphs say otherwise."""
        if not conditions_of_one([PropertyCondition(key, "has")]) or key == "name":
            return None
        found: list[Any] = [None] * len(handles)
        for graph, numbers in self._graphs.values():
            own = numbers.own(handles)
            values = await graph.property_values(own, key)
            if values is None:
                return None
            places = places_of(handles, numbers.nodes.take(own), self.size).tolist()
            for place, value in zip(places, values, strict=True):
                have = found[place]
                if have is None:
                    found[place] = value
                elif value is not None and (isinstance(value, list) or repr(value) != repr(have)):
                    return None  # merging has several values, or sorts them
        return found
