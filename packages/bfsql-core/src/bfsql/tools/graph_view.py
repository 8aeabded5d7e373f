"""A view of a graph: the part of it that a judge of nodes and edges leaves visible.

It stands above the cache and the redaction, for one call. What is not visible is not there: an edge
is visible if the judge says so and both of its ends are. The judge decides by records alone, so
that a view is correct over every store.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from operator import attrgetter
from typing import Any, Protocol, TypeAlias, Unpack

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface, NormalizedBackend
from bfsql.arrays import concatenated, counted_numbers, distinct, distinct_numbers, grown, marked
from bfsql.engine.numbered import columns_of
from bfsql.engine.properties import properties_of
from bfsql.engine.thresholds import EDGE_BYTES
from bfsql.errors import ToolError
from bfsql.integers import (
    NO_NODE,
    BoolArray,
    ForwardingIntegerGraph,
    IntArray,
    NodeBatch,
    ResolvedNode,
    Ring,
)
from bfsql.models import NO_METADATA, EdgeFilter, EntityStub, Metadata, Node, Triple
from bfsql.models.merge import fold

MOST_ITEMS, KINDS = 10_000, 16
"""Maximum number of items of evidence that are read; more than the different verdicts."""
Verdict: TypeAlias = tuple[bool, str]
"""Whether a node or an edge is visible, and as what it is counted."""


class Judge(Protocol):
    """Decides which nodes and edges are visible, each by itself."""

    keys: frozenset[str]
    """The keys of metadata that it reads."""

    def verdict(self, owner: str, known: Metadata) -> Verdict:
        """The verdict on a node of a type, or an edge with a predicate, and its metadata."""

    def refusal(self, node: Node, known: Metadata) -> ToolError | None:
        """The error of a call that names a hidden node; None if it is as if there were none."""


class ViewColumns(ForwardingIntegerGraph):
    """The visible part of a graph in integers, for one call."""

    node_metadata = property(attrgetter("_inner.node_metadata"))

    def __init__(self, db: NormalizedBackend, judge: Judge) -> None:
        super().__init__(columns_of(db))
        self.answer_cache = None  # of answers about the whole graph
        self._db, self._judge = db, judge
        self._numbers, self._verdicts = dict[Verdict, int](), list[Verdict]()
        self._rings, self._edges = 0, list[Ring]()
        """What was read, with the number of the verdict beside that of the predicate."""
        self._hidden = np.zeros(0, np.int8)
        """By handle: 1 of a hidden node, -1 of a visible one, 0 if it has not been judged."""
        self._of_rows = np.zeros(0, np.int32)
        """By row of the graph: the number of its verdict plus 1, 0 if it has not been judged."""

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many different edges were judged how, apart from those with a hidden end."""
        edges = concatenated(self._edges)
        if self._rings > 1 or self.repeats:
            edges = distinct(edges, self.size)
        if (self._hidden > 0).any():
            shown = grown(self._hidden, self.size).take(edges.ends) <= 0
            subjects, objects = shown.reshape(2, -1)
            edges = marked(edges, subjects & objects)
        numbers = counted_numbers(edges.predicates % KINDS)
        return {self._verdicts[number]: count for number, count in numbers.items()}

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """The visible node of each id; an error if the judge refuses a hidden one."""
        nodes = await self._inner.find(ids)
        await self.are_visible(np.array([node.handle for node in nodes if node], np.int32))
        for place, node in enumerate(nodes):
            if node is not None and self._hidden[node.handle] > 0:
                hidden = Node(node.id, self.type_names[node.type])
                known = await call.within(self._db.metadata_for_node(node.id))
                if refusal := self._judge.refusal(hidden, known):
                    raise refusal
                nodes[place] = None
        return nodes

    async def rings(self, handles: IntArray, **part: Unpack[EdgeFilter]) -> AsyncGenerator[Ring]:
        """The visible edges of a ring or a part of it."""
        self._rings += 1
        columns, rows = self._inner.coded(self._judge.keys) or (self._inner, None)
        async with aclosing(columns.rings(handles, **part)) as rings:
            async for whole in rings:
                if rows is None:
                    predicates, names = whole.predicates, self.predicate_names
                    numbers = self._judged(*await self._read(whole, predicates, names))
                else:
                    codes, predicates = np.divmod(whole.predicates, len(self.predicate_names))
                    numbers = self._judged_once(codes, rows)
                ring = whole._replace(predicates=predicates)
                self._edges.append(ring._replace(predicates=predicates * KINDS + numbers))
                ring = marked(ring, np.array([one for one, _ in self._verdicts]).take(numbers))
                subjects, objects = (await self.are_visible(ring.ends)).reshape(2, -1)
                yield marked(ring, subjects & objects)

    async def nodes(self, *which: Any) -> AsyncGenerator[NodeBatch]:
        """The visible nodes of some types that meet conditions."""
        async with aclosing(self._inner.nodes(*which)) as batches:
            async for handles, types, metadata in batches:
                shown = await self.are_visible(handles)
                yield NodeBatch(handles[shown], types[shown], metadata)

    async def are_visible(self, handles: IntArray) -> BoolArray:
        """Which of some nodes are visible; an end of edges that is no node is."""
        self._hidden = grown(self._hidden, self.size)
        keys = await call.within(self._db.keys())
        if keys is not None and self._judge.keys.isdisjoint(keys):
            return np.ones(len(handles), bool)
        new = distinct_numbers(handles[self._hidden.take(handles) == 0])
        hidden = np.full(len(new), -1, np.int8)
        types = await call.within(self._inner.types(new))
        are_nodes = np.flatnonzero(types != NO_NODE)
        of_nodes = await self._read(new[are_nodes], types[are_nodes], self.type_names)
        numbers = self._judged(*of_nodes)
        hidden[are_nodes] = [-1 if self._verdicts[n][0] else 1 for n in numbers.tolist()]
        self._hidden[new] = hidden
        visible: BoolArray = self._hidden.take(handles) < 0
        return visible

    async def _read(
        self, things: IntArray | Ring, owners: IntArray, names: Sequence[str]
    ) -> tuple[IntArray, list[tuple[str, Metadata]]]:
        """What the judge reads of nodes or edges: different rows, and the place of each one's."""
        places, rows, codes = dict[str, int](), list[tuple[str, Metadata]](), list[int]()
        read = properties_of(self._db, self._inner, things, self._judge.keys)
        async with aclosing(read) as parts:
            async for part, values in parts:
                call.hold(EDGE_BYTES * len(owners[part]))
                for row in zip(owners[part].tolist(), *values.values(), strict=True):
                    codes.append(places.setdefault(repr(row), len(rows)))
                    if codes[-1] == len(rows):
                        rows.append((names[row[0]], dict(zip(values, row[1:], strict=True))))
        return np.array(codes, np.int32), rows

    def _judged_once(self, codes: IntArray, rows: Sequence[tuple[str, Metadata]]) -> IntArray:
        """The same of rows that are those of the whole graph, each of which is judged once."""
        self._of_rows = grown(self._of_rows, len(rows))
        new = distinct_numbers(codes[self._of_rows.take(codes) == 0])
        known = self._judged(
            np.arange(len(new), dtype=np.int32), [rows[code] for code in new.tolist()]
        )
        self._of_rows[new] = known + 1
        return self._of_rows.take(codes) - 1

    def _judged(self, codes: IntArray, rows: Sequence[tuple[str, Metadata]]) -> IntArray:
        """The numbers of the verdicts on rows, by the place of each one's."""
        verdicts = [self._judge.verdict(*row) for row in rows]
        for verdict in dict.fromkeys(verdicts):
            if verdict not in self._numbers:
                self._numbers[verdict] = len(self._verdicts)
                self._verdicts.append(verdict)
        return np.array([self._numbers[one] for one in verdicts], np.int32).take(codes)


class GraphView(NormalizedBackend):
    """The visible part of a graph, for one call; edges are read by its columns alone."""

    def __init__(self, db: GraphDbInterface, judge: Judge) -> None:
        super().__init__(db)
        self._judge, self.redacts = judge, self._inner.redacts
        self.visible = ViewColumns(self._inner, judge)

    def columns(self) -> ViewColumns:
        """The visible part in integers."""
        return self.visible

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates; a hidden one only if no visible one has its name, so that it is refused."""
        found = await super().search_entities(query, node_types)
        shown = await self._visible_ids([stub.id for stub in found])
        names = {fold(stub.name or stub.id) for stub in found if stub.id in shown}
        return [s for s in found if s.id in shown or fold(s.name or s.id) not in names]

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of visible edges; without a total if it is more than `MOST_ITEMS`."""
        evidence = await self._inner.provenance_for_node(entity_id, MOST_ITEMS)
        items = [((i["subject"], i["predicate"], i["object"]), i) for i in evidence["items"]]
        shown = await self._visible_edges({triple for triple, _ in items})
        kept = [item for triple, item in items if triple in shown]
        whole = evidence["total"] == len(items)
        read = {} if whole else {"edges_read": len(shown), **evidence}
        return {**read, "total": len(kept) if whole else None, "items": kept[:limit]}

    async def _visible_ids(self, ids: Sequence[str]) -> set[str]:
        """The ids of some nodes and ends of edges that are not of hidden nodes."""
        nodes = [node for node in await self.visible._inner.find(ids) if node]  # noqa: SLF001
        found = await self.visible.are_visible(np.array([n.handle for n in nodes], np.int32))
        hidden = {node.id for node, one in zip(nodes, found.tolist(), strict=True) if not one}
        return {*ids} - hidden

    async def _visible_edges(self, edges: Collection[Triple]) -> set[Triple]:
        known = await self._inner.metadata_for_edges_batch(edges, self._judge.keys)
        verdict = self._judge.verdict
        held = [edge for edge in edges if verdict(edge[1], known.get(edge, NO_METADATA))[0]]
        ends = await self._visible_ids([*{end for edge in held for end in edge[::2]}])
        return {edge for edge in held if ends.issuperset(edge[::2])}
