"""Loads a graph into a store: an empty one, or in place of the existing content.

A load is many requests, each of which is a transaction where the engine has them. A batch that is
sent twice is written once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from gremlin_python.process.graph_traversal import __
from gremlin_python.process.traversal import Column, Merge, T

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.loading import GraphWriter, Step, graph_is_there
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client, place
from bfsql_gremlin.discovery import janusgraph
from bfsql_gremlin.indexes import lacking
from bfsql_gremlin.load.rows import EdgeRow, GraphRows, Names, VertexRow
from bfsql_gremlin.queries import GraphSchema
from bfsql_gremlin.settings import LABEL, OWN_ID, GremlinSettings

DELETED = 5_000
"""Vertices and edges that one request deletes."""

_SCHEMA = """
m = g.getGraph().openManagement()
properties.each { name, kind -> if (!m.getPropertyKey(name))
  m.makePropertyKey(name).dataType(Class.forName('java.lang.' + kind)).make() }
predicates.each { if (!m.getEdgeLabel(it)) m.makeEdgeLabel(it).make() }
types.each { if (!m.getVertexLabel(it)) m.makeVertexLabel(it).make() }
m.commit()
true
"""


class GremlinWriter(GraphWriter[GremlinSettings]):
    """Fills a store: the indexes of JanusGraph come first."""

    nouns = ("vertex", "vertices", "edges", "store")

    def __init__(self, settings: GremlinSettings, options: LoadOptions) -> None:
        if settings.id_property == OWN_ID:
            raise StoreError(
                "A load writes ids into a property, and the engine chooses its own ids by itself. "
                "Name a property with --id-property, for instance entity_id."
            )
        super().__init__(settings, options)
        self.place = place(settings).removeprefix("The Gremlin server at ")
        self._client: Client
        self._names: Names
        self._rows: GraphRows

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        """A client, with a sentence for a request that takes too long."""
        self._client = Client(self.settings)
        try:
            yield
        except TimeoutError as error:
            raise StoreError(
                f"{place(self.settings)} did not write a batch in time. Raise --query-timeout."
            ) from error
        finally:
            await self._client.close()

    async def begin(self) -> None:
        """Refuse to change a graph that is there, unless it is to be replaced; ask for names."""
        await self._check_empty()
        self._names = Names(self.settings, await janusgraph(self._client))
        self.check = self._names.check

    async def _check_empty(self) -> None:
        rows, graph = self._client.rows, queries.source
        if self.options.mode is LoadMode.REPLACE or not await rows(graph().V().limit(1).id_()):
            return
        [nodes] = await rows(graph().V().count())
        [edges] = await rows(graph().E().count())
        raise graph_is_there(
            place(self.settings), nodes, edges, elsewhere="load into another graph (--uri)"
        )

    def merge(self) -> None:
        """Merge all records, and find the kinds of their values."""
        self.staging.merge()
        self._rows = GraphRows(self.staging, self._names)
        self._rows.find_kinds()

    async def prepare(self) -> None:
        """Delete the existing content, and make the schema of JanusGraph."""
        await self._check_empty()
        # Edges first, since deleting a hub together with them would be one huge transaction.
        for elements in ("E", "V"):
            some = getattr(queries.source(), elements)().limit(1).label()
            drop = getattr(queries.source(read_only=False), elements)().limit(DELETED).drop()
            while await self._client.rows(some):
                self.clearing = True
                await self._client.rows(drop)
        if self._names.janusgraph is not None:
            await self._make_schema()

    async def _make_schema(self) -> None:
        """Make the names of JanusGraph that are new, and the indexes that it lacks."""
        client, names, kinds = self._client, self._names, self._rows.kinds
        kinds = {key: kind for key, kind in kinds.items() if kind and names.can_name(key)}
        known = await janusgraph(client)
        if known is not None:
            for script in lacking(client.settings, known):
                await client.script(script)
        await client.script(
            _SCHEMA,
            properties={
                key: kind for key, kind in kinds.items() if known is None or key not in known.keys
            },
            predicates=sorted(names.labels),
            types=sorted(names.types),
        )

    def steps(self) -> Iterator[Step]:
        """A request for each batch."""
        yield self._rows.nodes(), self._write_nodes
        yield self._rows.edges(), self._write_edges

    async def _write_nodes(self, batch: list[VertexRow]) -> int:
        """Write vertices that are not there yet, and note the engine's own ids."""
        settings = self.settings
        key = settings.id_property
        maps = []
        for row in batch:
            made = {T.label: row.type, key: row.id, **row.properties}
            if settings.type_property != LABEL:
                made[settings.type_property] = row.type
            maps.append({"m": {key: row.id}, "c": made})
        found = queries.source(read_only=False).inject(maps).unfold()
        found = found.merge_v(__.select("m")).option(Merge.on_create, __.select("c"))
        pairs = found.project("e", "i").by(key).by(T.id).select(Column.values)
        numbers = {row.id: row.number for row in batch}
        self.staging.note_own_ids(
            (numbers[i], own if isinstance(own, int) else str(own))
            for i, own in await self._client.rows(pairs)
        )
        return len(batch)

    async def _write_edges(self, batch: list[EdgeRow]) -> int:
        """Write edges; if the answer is lost, only if the batch has not been written.

        They are not looked up as vertices are: that would read the edges of a hub for each of them.
        """
        client = self._client
        try:
            written = await client.rows(_edges(batch), again=False)
        except StoreUnavailable:
            last = batch[-1]
            ends = [last.subject], [last.label], [last.object]
            there = queries.edges_between(GraphSchema(None, None), *ends).limit(1).count()
            written = await client.rows(there)
            if written == [0]:
                written = await client.rows(_edges(batch), again=False)
        if written != [1]:
            raise StoreError(
                f"{place(client.settings)} did not find vertices that this load has written, "
                "so their edges are missing. Another program may be writing to the graph."
            )
        return len(batch)


load_graph = GremlinWriter.load_graph


def _edges(batch: Sequence[EdgeRow]) -> Any:
    found = queries.source(read_only=False)
    for row in batch:
        found = found.V(row.subject).add_e(row.label).to(__.V(row.object))
        for key, value in row.properties.items():
            found = found.property(key, value)
    return found.count()
