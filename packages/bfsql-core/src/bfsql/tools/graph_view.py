"""A view of a graph: the part of it that a judge of nodes and edges leaves visible.

It stands above the cache and the redaction, for one call. What is not visible is not there: an edge
is visible if the judge says so and both of its ends are. The judge decides by records alone, so
that a view is correct over every store.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Hashable, Sequence
from contextlib import aclosing
from functools import partial
from operator import attrgetter
from typing import Any, Protocol, TypeAlias, Unpack, cast

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface, NormalizedBackend
from bfsql.arrays import concatenated, counted_numbers, distinct, distinct_numbers, grown, marked
from bfsql.engine.numbered import columns_of
from bfsql.engine.properties import Properties, Values, properties_of
from bfsql.engine.thresholds import EDGE_BYTES
from bfsql.errors import ToolError
from bfsql.integers import (
    NO_NODE,
    BoolArray,
    CodedGraph,
    ForwardingIntegerGraph,
    IntArray,
    NodeBatch,
    Numbering,
    ResolvedNode,
    Ring,
)
from bfsql.models import NO_METADATA, EdgeFilter, EntityStub, Metadata, Node, Triple
from bfsql.models.merge import fold
from bfsql.workers import off_loop

MOST_ITEMS, KINDS = 10_000, 16
"""Maximum number of items of evidence that are read; more than the different verdicts."""
Verdict: TypeAlias = tuple[bool, str]
"""Whether a node or an edge is visible, and as what it is counted."""


class Judge(Protocol):
    """Decides which nodes and edges are visible, each by itself."""

    keys: frozenset[str]
    """The keys of metadata that it reads."""

    def reading(self, owner: str, known: Metadata) -> Any:
        """What metadata of a type or predicate say; it is kept while the graph is open."""

    def verdict(self, reading: Any) -> Verdict:
        """The verdict on a node or an edge, from a reading."""

    def alone(self, owner: str, *, of_edges: bool) -> Verdict | None:
        """The verdict on all nodes of a type or edges of a predicate; None if metadata decide."""

    def refusal(self, node: Node, known: Metadata) -> ToolError | None:
        """The error of a call that names a hidden node; None if it is as if there were none."""


class EdgeJudge(Judge, Protocol):
    """A judge that reads metadata of edges."""

    def verdicts(
        self, codes: IntArray, graph: CodedGraph
    ) -> tuple[IntArray, Sequence[Verdict | None]]:
        """Which verdict on the edges each code has, None if their records have to be read."""


class ViewColumns(ForwardingIntegerGraph):
    """The visible part of a graph in integers, for one call."""

    node_metadata = property(attrgetter("_inner.node_metadata"))

    def __init__(self, db: NormalizedBackend, judge: Judge, request: Hashable = None) -> None:
        columns = columns_of(db)
        self._reads_edges = judge.alone("", of_edges=True) is None
        self._codes = columns.coded(judge.keys) if self._reads_edges else None
        super().__init__(self._codes.graph if self._codes else columns)
        self.answer_cache = None  # of answers about the whole graph
        self._db, self._judge = db, judge
        self._verdicts = Numbering()
        self._rings, self._edges = 0, list[Ring]()
        """What was read of whole rings, with numbers of verdicts beside those of predicates."""
        self._hidden = np.zeros(0, np.int8)
        """By handle: 1 of a hidden node, -1 of a visible one, 0 if its metadata were not judged."""
        if request is not None and (cache := columns.answer_cache) is not None:
            if (known := cache.find(request)) is None:
                known = np.zeros(self.size, np.int8)
                cache.keep(request, known, 1 + self.size // 128)
            self._hidden = known  # which calls fill together

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many different edges were judged how, apart from those with a hidden end."""
        edges = concatenated(self._edges)
        if self._rings > 1 or self.repeats:
            edges = distinct(edges, self.size)
        shown = grown(self._hidden, self.size).take(edges.ends) <= 0
        edges = marked(edges, np.logical_and(*shown.reshape(2, -1)))
        numbers = counted_numbers(edges.predicates % KINDS)
        return {self._verdicts.names[number]: count for number, count in numbers.items()}

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """The visible node of each id; an error if the judge refuses a hidden one."""
        nodes = await self._inner.find(ids)
        found = np.array([node.handle for node in nodes if node], np.int32)
        visible = iter((await self.are_visible(found)).tolist())
        for place, node in enumerate(nodes):
            if node is not None and not next(visible):
                hidden = Node(node.id, self.type_names[node.type])
                known = await call.within(self._db.metadata_for_node(node.id))
                if refusal := self._judge.refusal(hidden, known):
                    raise refusal
                nodes[place] = None
        return nodes

    async def rings(self, handles: IntArray, **part: Unpack[EdgeFilter]) -> AsyncGenerator[Ring]:
        """The visible edges of a ring or a part of it."""
        self._rings, read = self._rings + 1, list[Ring]()
        if self.repeats:  # a cache of rings may know edges of an id that is not a node
            handles = handles[await self._inner.types(handles) != NO_NODE]
        async with aclosing(self._inner.rings(handles, **part)) as rings:
            async for whole in rings:
                own, names = whole, self.predicate_names
                if self._codes is None:
                    numbers = self._alone(own.predicates, names, of_edges=True)
                else:
                    codes, predicates = self._codes.split(whole.predicates)
                    numbers = await self._of_codes(codes, self._codes)
                    own = whole._replace(predicates=predicates)
                if (unread := numbers < 0).any():
                    rest = marked(own, unread)
                    numbers[unread] = await self._read(rest, rest.predicates, names)
                if self._reads_edges:
                    read.append(own._replace(predicates=own.predicates * KINDS + numbers))
                ring = marked(own, self._visibility().take(numbers))
                subjects, objects = (await self.are_visible(ring.ends)).reshape(2, -1)
                yield marked(ring, subjects & objects)
        self._edges += read

    async def nodes(self, *which: Any) -> AsyncGenerator[NodeBatch]:
        """The visible nodes of some types that meet conditions."""
        async with aclosing(self._inner.nodes(*which)) as batches:
            async for handles, types, metadata in batches:
                shown = await self.are_visible(handles)
                yield NodeBatch(handles[shown], types[shown], metadata)

    async def are_visible(self, handles: IntArray) -> BoolArray:
        """Which of some nodes are visible; an end of edges that is no node is."""
        self._hidden = grown(self._hidden, self.size)
        if self._reads_edges and not await call.within(self._db.has_nodes_with(self._judge.keys)):
            return np.ones(len(handles), bool)
        types = await call.within(self._inner.types(handles))
        numbers = self._alone(types, self.type_names, of_edges=False)
        visible = self._visibility().take(numbers)
        if (unread := numbers < 0).any():
            own = handles[unread]
            new = distinct_numbers(own[self._hidden.take(own) == 0])
            found = await self._read(new, await self._inner.types(new), self.type_names)
            if call.omissions():  # later calls may read what this one could not
                self._hidden = self._hidden.copy()
            self._hidden[new] = np.where(self._visibility().take(found), -1, 1)
            visible[unread] = self._hidden.take(own) < 0
        return visible

    def _alone(self, owners: IntArray, names: Sequence[str], *, of_edges: bool) -> IntArray:
        """The numbers of the verdicts that types or predicates decide; negative if metadata do."""
        table = np.full(owners.max(initial=NO_NODE) + 2, -1, np.int32)
        table[NO_NODE] = self._verdicts[True, ""]
        few = self.is_own and len(table) * 256 < len(owners)  # numbered strings have other names
        occur = range(len(table) - 1) if few else distinct_numbers(owners[owners >= 0]).tolist()
        for owner in occur:
            if alone := self._judge.alone(names[owner], of_edges=of_edges):
                table[owner] = self._verdicts[alone]
        return table.take(owners)

    async def _read(
        self, things: IntArray | Ring, owners: IntArray, names: Sequence[str]
    ) -> IntArray:
        """The numbers of the verdicts on nodes or edges, whose metadata decide."""
        found, read = [owners[:0]], properties_of(self._db, self._inner, things, self._judge.keys)
        async with aclosing(read) as parts:
            async for part, known in parts:
                call.hold(EDGE_BYTES * len(owners[part]))
                work = partial(self._numbers, owners[part], names, known)
                size = (1 + len(known)) * len(owners[part]) + call.held_items()
                found.append(await off_loop(size, work))
        return np.concatenate(found)

    def _numbers(self, owners: IntArray, names: Sequence[str], known: Properties) -> IntArray:
        """The numbers of the verdicts on nodes or edges, of which equal ones are judged once."""
        values, different, judge = {key: Values() for key in known}, Numbering(), self._judge
        codes = [values[key].numbers(of_key).tolist() for key, of_key in known.items()]
        numbers = different.of(zip(owners.tolist(), *codes, strict=True), len(owners))
        found = list[int]()
        for owner, *own in call.checked(different.names):
            one = {key: values[key].items[code] for key, code in zip(values, own, strict=True)}
            found.append(self._verdicts[judge.verdict(judge.reading(names[owner], one))])
        return np.array(found, np.int32).take(numbers)

    async def _of_codes(self, codes: IntArray, graph: CodedGraph) -> IntArray:
        """The same by codes; negative if records have to be read."""
        judge = cast("EdgeJudge", self._judge)
        places, every = await off_loop(len(codes), lambda: judge.verdicts(codes, graph))
        table = np.full(len(every), -1, np.int32)
        for place in distinct_numbers(places).tolist():
            if (verdict := every[place]) is not None:
                table[place] = self._verdicts[verdict]
        return table.take(places)

    def _visibility(self) -> BoolArray:
        """By the number of a verdict: whether it shows."""
        return np.array([one for one, _ in self._verdicts.names], bool)


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
        visible = self.columns()
        nodes = [node for node in await visible._inner.find(ids) if node]  # noqa: SLF001
        found = await visible.are_visible(np.array([n.handle for n in nodes], np.int32))
        hidden = {node.id for node, one in zip(nodes, found.tolist(), strict=True) if not one}
        return {*ids} - hidden

    async def _visible_edges(self, edges: Collection[Triple]) -> set[Triple]:
        known = await self._inner.metadata_for_edges_batch(edges, self._judge.keys)
        read = (
            (edge, self._judge.reading(edge[1], known.get(edge, NO_METADATA))) for edge in edges
        )
        held = [edge for edge, reading in read if self._judge.verdict(reading)[0]]
        ends = await self._visible_ids([*{end for edge in held for end in edge[::2]}])
        return {edge for edge in held if ends.issuperset(edge[::2])}
