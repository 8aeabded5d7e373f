"""A graph in dictionaries that has columns, too; and wrappers that hide what a store can do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql.abc import DelegatingGraphDb, GraphDbInterface
from bfsql.columns import BATCH_EDGES, NO_NODE, Columns, Found, IntArray, Numbering, Ring
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeDirection, GraphRecord, Triple
from bfsql.models.parts import TypedTriple

Flags: TypeAlias = npt.NDArray[np.bool_]


class PlainColumns(Columns):
    """Columns over some nodes and edges: a handle is the place of an id among all ids, sorted.

    Args:
        types: Type of each node, by id.
        triples: Edges, each once.
        batch: Edges in a batch of a ring.
    """

    def __init__(
        self, types: dict[str, str], triples: Iterable[Triple], batch: int = BATCH_EDGES
    ) -> None:
        edges = list(triples)
        ends = (end for s, _, o in edges for end in (s, o))
        self._ids = self.ordered_ids(dict.fromkeys([*types, *ends]))
        self._handles = {entity_id: handle for handle, entity_id in enumerate(self._ids)}
        self._types, self._predicates = Numbering(), Numbering()
        of_handles = [self._types[types[i]] if i in types else NO_NODE for i in self._ids]
        self._type_of = np.array(of_handles, np.int32)
        rows = [(self._handles[s], self._predicates[p], self._handles[o]) for s, p, o in edges]
        self._edges = np.array(rows, np.int32).reshape(-1, 3)
        self._batch = batch

    @property
    def size(self) -> int:
        """Nodes, and ends of edges that are none."""
        return len(self._ids)

    @property
    def type_names(self) -> Sequence[str]:
        """In the order of the nodes' ids."""
        return self._types.names

    @property
    def predicate_names(self) -> Sequence[str]:
        """In the order of the edges."""
        return self._predicates.names

    async def find(self, ids: Sequence[str]) -> list[Found | None]:
        """The nodes; None where there is none."""
        return [self._found(entity_id) for entity_id in ids]

    async def ids(self, handles: IntArray) -> list[str]:
        """The ids."""
        return [self._ids[handle] for handle in handles]

    async def types(self, handles: IntArray) -> IntArray:
        """The numbers of the types."""
        return self._type_of[handles]

    async def rings(
        self,
        handles: IntArray,
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Ring]:
        """The edges of the asked nodes, in the order in which they are kept."""
        asked = np.zeros(self.size, bool)
        asked[self.asked(handles)] = True
        kept = self.touching(asked)
        if direction is not None:
            kept &= asked[self._edges[:, 0 if direction == "out" else 2]]
        if predicates is not None:
            wanted = [p for p, name in enumerate(self._predicates.names) if name in predicates]
            kept &= np.isin(self._edges[:, 1], wanted)
        rows = self._edges[kept]
        for start in range(0, len(rows), self._batch):
            yield Ring(*rows[start : start + self._batch].T)

    def ordered_ids(self, ids: Iterable[str]) -> list[str]:
        """The ids in the order of their handles."""
        return sorted(ids)

    def asked(self, handles: IntArray) -> IntArray:
        """The handles whose edges are given: those of nodes."""
        nodes: IntArray = handles[self._type_of[handles] != NO_NODE]
        return nodes

    def touching(self, asked: Flags) -> Flags:
        """Of each edge whether it is given, from each handle whether it was asked for."""
        either: Flags = asked[self._edges[:, 0]] | asked[self._edges[:, 2]]
        return either

    def _found(self, entity_id: str) -> Found | None:
        handle = self._handles.get(entity_id)
        if handle is None or self._type_of[handle] == NO_NODE:
            return None
        return Found(handle, entity_id, int(self._type_of[handle]))


class ColumnsOverMemory(MemoryBackend):
    """The reference with columns.

    Args:
        records: The graph.
        batch: Edges in a batch of a ring.
    """

    kind = PlainColumns

    def __init__(self, records: Iterable[GraphRecord] = (), batch: int = BATCH_EDGES) -> None:
        super().__init__(records)
        self.batch = batch

    def columns(self) -> PlainColumns:
        """New ones for each call."""
        return self.kind(self._types, self._edge_metadata, self.batch)


class TypedStream(MemoryBackend):
    """The reference with a stream of rows of five.

    Args:
        records: The graph.
        batch: Rows in a batch of a ring.
    """

    def __init__(self, records: Iterable[GraphRecord] = (), batch: int = 10_000) -> None:
        super().__init__(records)
        self.batch = batch

    async def edges_stream(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[list[TypedTriple]]:
        """Edges with the types of their ends, an edge between two asked nodes twice."""
        types = self._types
        ring = await self.edges_batch(ids, predicates=predicates, direction=direction)
        for start in range(0, len(ring), self.batch):
            part = ring[start : start + self.batch]
            yield [(s, p, o, types.get(s), types.get(o)) for s, p, o in part]


class Strings(DelegatingGraphDb):
    """A backend without its columns and its stream: what core does for every other one."""

    edges_stream = GraphDbInterface.edges_stream
    columns = GraphDbInterface.columns
