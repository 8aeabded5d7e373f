"""Writes merged records into a store in batches; a batch that is sent twice is written once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gremlin_python.process.graph_traversal import __
from gremlin_python.process.traversal import Column, Merge, T

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.loading import Staging
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client, place
from bfsql_gremlin.discovery import janusgraph
from bfsql_gremlin.indexes import lacking
from bfsql_gremlin.load.rows import EdgeRow, GraphRows, VertexRow
from bfsql_gremlin.queries import GraphSchema
from bfsql_gremlin.settings import LABEL

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


class GraphWriter:
    """Fills a store, and tracks the progress.

    Args:
        client: Its servers.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._deleting = self._writing = False
        self._nodes = self._edges = self._all_nodes = self._all_edges = 0

    @property
    def leftovers(self) -> str:
        """The content that a load leaves if it ends now, and advice on it."""
        if not (self._deleting or self._writing):
            return "No vertex in it has been changed."
        before = "the previous graph may have been deleted, and " if self._deleting else ""
        return (
            f"The load is incomplete: {before}of the new graph, {self._nodes:,} of "
            f"{self._all_nodes:,} vertices and {self._edges:,} of {self._all_edges:,} edges are in "
            "the store, and perhaps the batch that was being written. Load again with --replace, "
            "which deletes them first."
        )

    async def write(self, staging: Staging, rows: GraphRows) -> None:
        """Delete the existing content, and write everything, the indexes of JanusGraph first.

        Args:
            staging: All records.
            rows: The records as rows.
        """
        self._all_nodes, self._all_edges = staging.report.nodes, staging.report.edges
        await self._clear()
        if rows.names.janusgraph is not None:
            await self._make_schema(rows)

        async def write_nodes(batch: list[VertexRow]) -> None:
            self._writing = True
            rows.note_written(await self._write_nodes(batch))
            self._nodes += len(batch)
            staging.tell("writing", self._share())

        async def write_edges(batch: list[EdgeRow]) -> None:
            await self._write_edges(batch)
            self._edges += len(batch)
            staging.tell("writing", self._share())

        await staging.feed(rows.nodes(), write_nodes)
        await staging.feed(rows.edges(), write_edges)

    def _share(self) -> float:
        """The share of the graph that is written; there is something to write."""
        return (self._nodes + self._edges) / (self._all_nodes + self._all_edges)

    async def _clear(self) -> None:
        # Edges first, since deleting a hub together with them would be one huge transaction.
        for elements in ("E", "V"):
            some = getattr(queries.source(), elements)().limit(1).label()
            drop = getattr(queries.source(read_only=False), elements)().limit(DELETED).drop()
            while await self.client.rows(some):
                self._deleting = True
                await self.client.rows(drop)

    async def _make_schema(self, rows: GraphRows) -> None:
        """Make the names of JanusGraph that are new, and the indexes that it lacks."""
        names = rows.names
        kinds = {key: kind for key, kind in rows.kinds.items() if kind and names.can_name(key)}
        known = await janusgraph(self.client)
        if known is not None:
            for script in lacking(self.client.settings, known):
                await self.client.script(script)
        await self.client.script(
            _SCHEMA,
            properties={
                key: kind for key, kind in kinds.items() if known is None or key not in known.keys
            },
            predicates=sorted(names.labels),
            types=sorted(names.types),
        )

    async def _write_nodes(self, batch: Sequence[VertexRow]) -> list[tuple[str, Any]]:
        """Write vertices that are not there yet; returns id and own id of each."""
        settings = self.client.settings
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
        return [
            (i, own if isinstance(own, int) else str(own))
            for i, own in await self.client.rows(pairs)
        ]

    async def _write_edges(self, batch: Sequence[EdgeRow]) -> None:
        """Write edges; if the answer is lost, only if the batch has not been written.

        They are not looked up as vertices are: that would read the edges of a hub for each of them.
        """
        try:
            written = await self.client.rows(_edges(batch), again=False)
        except StoreUnavailable:
            last = batch[-1]
            ends = [last.subject], [last.label], [last.object]
            there = queries.edges_between(GraphSchema(None, None), *ends).limit(1).count()
            written = await self.client.rows(there)
            if written == [0]:
                written = await self.client.rows(_edges(batch), again=False)
        if written != [1]:
            raise StoreError(
                f"{place(self.client.settings)} did not find vertices that this load has written, "
                "so their edges are missing. Another program may be writing to the graph."
            )


def _edges(batch: Sequence[EdgeRow]) -> Any:
    found = queries.source(read_only=False)
    for row in batch:
        found = found.V(row.subject).add_e(row.label).to(__.V(row.object))
        for key, value in row.properties.items():
            found = found.property(key, value)
    return found.count()
