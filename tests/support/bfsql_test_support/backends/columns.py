"""Backends in memory with columns or typed streams, and a wrapper that hides both."""

from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql.abc import ForwardingBackend, GraphDbInterface
from bfsql.integers import (
    BATCH_EDGES,
    NO_NODE,
    IntArray,
    IntegerGraph,
    NodeBatch,
    Numbering,
    ResolvedNode,
    Ring,
)
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeDirection, GraphRecord, PropertyCondition, Triple
from bfsql.models.parts import TypedTriple

Flags: TypeAlias = npt.NDArray[np.bool_]


class PlainColumns(IntegerGraph):
    """Columns over some nodes and edges; a handle is the position of an id among all sorted ids.

    Args:
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
        """The number of nodes and of ends of edges that are not nodes."""
        return len(self._ids)

    @property
    def type_names(self) -> Sequence[str]:
        """The types in the order of the nodes' ids."""
        return self._types.names

    @property
    def predicate_names(self) -> Sequence[str]:
        """The predicates in the order of the edges."""
        return self._predicates.names

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """The node of each id; None for an id that is not a node."""
        return [self._found(entity_id) for entity_id in ids]

    async def ids(self, handles: IntArray) -> list[str]:
        """The id of each handle."""
        return [self._ids[handle] for handle in handles]

    async def types(self, handles: IntArray) -> IntArray:
        """The number of each handle's type."""
        return self._type_of[handles]

    async def rings(
        self,
        handles: IntArray,
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Ring]:
        """The edges of the requested nodes, in stored order."""
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

    async def nodes(
        self,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[NodeBatch]:
        """The nodes of some types, in batches as small as those of rings."""
        names = self._types.names
        known = np.array([entity_types is None or name in entity_types for name in names], bool)
        handles = np.flatnonzero(self._type_of != NO_NODE).astype(np.int32)
        handles = handles[known[self._type_of[handles]]] if len(handles) else handles
        for start in range(0, len(handles), self._batch):
            part = handles[start : start + self._batch]
            yield NodeBatch(part, self._type_of[part], {})

    def ordered_ids(self, ids: Iterable[str]) -> list[str]:
        """The ids in the order of their handles."""
        return sorted(ids)

    def asked(self, handles: IntArray) -> IntArray:
        """The handles whose edges are returned: only those of nodes."""
        nodes: IntArray = handles[self._type_of[handles] != NO_NODE]
        return nodes

    def touching(self, asked: Flags) -> Flags:
        """Whether each edge is returned, given whether each handle was requested."""
        either: Flags = asked[self._edges[:, 0]] | asked[self._edges[:, 2]]
        return either

    def _found(self, entity_id: str) -> ResolvedNode | None:
        handle = self._handles.get(entity_id)
        if handle is None or self._type_of[handle] == NO_NODE:
            return None
        return ResolvedNode(handle, entity_id, int(self._type_of[handle]))


class ColumnsOverMemory(MemoryBackend):
    """The in-memory reference with columns.

    Args:
        batch: Edges in a batch of a ring.
    """

    kind = PlainColumns

    def __init__(self, records: Iterable[GraphRecord] = (), batch: int = BATCH_EDGES) -> None:
        super().__init__(records)
        self.batch = batch

    def columns(self) -> PlainColumns:
        """New columns for each call."""
        return self.kind(self._types, self._edge_metadata, self.batch)


class TypedStream(MemoryBackend):
    """The in-memory reference with a stream of rows that include the types of both ends.

    Args:
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
        """Edges with the types of their ends; an edge between two requested nodes comes twice."""
        types = self._types
        ring = await self.edges_batch(ids, predicates=predicates, direction=direction)
        for start in range(0, len(ring), self.batch):
            part = ring[start : start + self.batch]
            yield [(s, p, o, types.get(s), types.get(o)) for s, p, o in part]


class Strings(ForwardingBackend):
    """Hides a backend's columns and stream, so that core falls back to strings."""

    edges_stream = GraphDbInterface.edges_stream
    columns = GraphDbInterface.columns
