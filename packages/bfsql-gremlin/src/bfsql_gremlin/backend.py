"""GremlinBackend: implements the backend interface on servers that speak Gremlin."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from operator import itemgetter
from typing import Any, Literal, Self

from bfsql.abc import BatchGraphDb, chunks
from bfsql.models import Outline, PropertyCondition
from bfsql.models.json_properties import stored_names
from bfsql.models.json_values import distinct_texts, is_text
from bfsql.models.merge import evidence_items, merged_from
from bfsql.models.parts import TypedTriple, only
from bfsql.models.records import NO_METADATA, EdgeDirection, EntityStub, Metadata, Node, Triple
from bfsql.settings import resolve
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client
from bfsql_gremlin.discovery import discover, reason_it_may_write
from bfsql_gremlin.outline import entities_of, names_in_time, outlined
from bfsql_gremlin.properties import edge_rows, single, vertex_rows
from bfsql_gremlin.queries import GraphSchema, as_is, unfolded
from bfsql_gremlin.rings import ring_batches
from bfsql_gremlin.search import search
from bfsql_gremlin.settings import GremlinSettings
from bfsql_gremlin.values import SUPPLIED, edge_metadata, node_metadata, properties_of

MAX_EVIDENCE = 1_000
"""Most edges with evidence that are read for one entity."""


class GremlinBackend(BatchGraphDb):
    """A graph that is served in Gremlin, read only.

    Args:
        client: Its servers.
        schema: What was found when it was opened.
    """

    def __init__(self, client: Client, schema: GraphSchema) -> None:
        self._client = client
        self._schema = schema
        self._settings = client.settings
        self._sampled: set[str] = set()

    @classmethod
    async def create(cls, uri: str | Sequence[str] | None = None, **settings: Any) -> Self:
        """Open a graph; missing arguments come from `GREMLIN_URI` and similar variables.

        Args:
            uri: The server, as in `ws://localhost:8182/gremlin`, or several replicas.
            **settings: The other fields of `GremlinSettings`.

        Raises:
            ConfigurationError: Settings that cannot be used.
            StoreError: The graph cannot be served.
            StoreUnavailable: No server answers.
        """
        given = {**settings, "uri": [uri] if isinstance(uri, str) else uri}
        found = resolve(GremlinSettings, options=given, environment=os.environ)
        return await cls.open(found.settings)

    @classmethod
    async def open(cls, settings: GremlinSettings) -> Self:
        """Open a graph from validated settings; raises as `create`."""
        client = Client(settings)
        try:
            return cls(client, await discover(client))
        except BaseException:
            await client.close()
            raise

    async def ping(self) -> None:
        """Request a constant."""
        async with self._client.unoccupied() as client:
            await client.rows(queries.source().inject(0))

    async def may_write(self) -> str | None:
        """A sentence if the server would let this client write."""
        return await reason_it_may_write(self._client)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    # --- search and vocabulary ----------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Search by id, name and alias, by an index for words or by comparing names."""
        wanted = [name for name in node_types or () if is_text(name)]
        if node_types and not wanted:
            return []
        schema = await self._current()
        return await search(self, self._client, schema, query, wanted or None)

    async def entity_types(self) -> list[str]:
        """The types that occur, sorted; of a very large graph, those of a sample."""
        return await self._names("types")

    async def predicates(self) -> list[str]:
        """The edge labels that occur, sorted; of a very large graph, those of its schema."""
        return await self._names("labels")

    async def comprehensive(self) -> bool:
        """Whether the types and predicates last returned were counted, not sampled."""
        return not self._sampled

    async def _names(self, what: Literal["types", "labels"]) -> list[str]:
        names, whole = await names_in_time(self._client, await self._current(), what)
        (self._sampled.discard if whole else self._sampled.add)(what)
        return names

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of the entity's edges, and items it supplied as a document.

        Returns:
            Items in the order of their edges (`protocol.md` 16). If there are more edges than are
            read, `total` is None, and `edges_read` the number of edges.
        """
        touching = await self._evidence(entity_id)
        supplied = sorted(await self._supplied(entity_id) - touching.keys())
        metadata: dict[Triple, Metadata] = {
            edge: edge_metadata(each) for edge, each in touching.items()
        }
        metadata |= await self.metadata_for_edges_batch(supplied[:MAX_EVIDENCE], ["provenance"])
        items = [
            item
            for edge in sorted(metadata)
            for item in evidence_items(edge, metadata[edge])
            if edge in touching or item["document_id"] == entity_id
        ]
        if max(len(touching), len(supplied)) > MAX_EVIDENCE:
            return {"total": None, "items": items[:limit], "edges_read": len(metadata)}
        return {"total": len(items), "items": items[:limit]}

    async def outline(self) -> Outline:
        """Counted by the server if the graph is large; its properties are from a sample then."""
        return await outlined(self, self._client, self._schema)

    # --- batches ------------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist; several vertices with one id are one node."""
        await self._current()
        types: dict[str, str] = {}
        for chunk in _chunks(ids):
            asked = set(chunk)
            async for _, entity_id, entity_type in self._vertices(chunk):
                if entity_id in asked:
                    types[entity_id] = min(entity_type, types.get(entity_id, entity_type))
        new = tuple.__new__  # Node(...) runs Python code for each node
        return [new(Node, (entity_id, kind, NO_METADATA)) for entity_id, kind in types.items()]

    async def edges_stream(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[list[TypedTriple]]:
        """Every edge with one of the nodes at an end, and the types of both ends, as they come."""
        labels = None if predicates is None else sorted(filter(is_text, predicates))
        for chunk in _chunks(ids):
            part = ring_batches(self._client, await self._current(), chunk, labels, direction)
            async with aclosing(part) as batches:
                async for rows in batches:
                    yield rows

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        """The nodes of some types, with the properties that decide the conditions."""
        types = None if entity_types is None else sorted(filter(is_text, entity_types))
        if types == []:
            return
        schema = await self._current()
        keys = {one.key for one in conditions}
        present = [stored_names([one.key]) for one in conditions if one.operator != "lacks"]
        found = queries.nodes_of_types(schema, types, present)
        wanted = sorted(stored_names(keys)) if keys else []
        shown = {"p": queries.properties(wanted, unfolded, nested=False)} if keys else {}
        async with aclosing(
            self._client.stream(queries.identified(schema, found, **shown))
        ) as parts:
            async for rows in parts:
                yield [self._node(row, keys) for row in rows]

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Properties by id; with `keys`, only the properties that hold them are read."""
        wanted = None if keys is None else sorted(stored_names(keys))
        vertices: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for chunk in _chunks(ids):
            asked = set(chunk)
            for row in await vertex_rows(self._client, self._schema, chunk, wanted):
                entity_id = self._schema.entity_id(row[0], row[3:])
                if entity_id in asked:
                    found = vertices.setdefault(entity_id, [])
                    found.append((str(row[1]), properties_of(row[2])))
        return only({i: self._metadata(each) for i, each in vertices.items()}, keys)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Properties by triple, of `keys` as for nodes; parallel edges are merged."""
        wanted = None if keys is None else sorted(stored_names(merged_from(keys)))
        several: dict[Triple, list[Mapping[str, Any]]] = {}
        asked = {edge for edge in edges if is_text("".join(edge))}
        own = await self._own_ids({end for s, _, o in asked for end in (s, o)})
        own_edges = {
            (subject, edge[1], obj): edge
            for edge in asked
            for subject in own.get(edge[0], ())
            for obj in own.get(edge[2], ())
        }
        for *ends, rows in await edge_rows(self._client, self._schema, own_edges.keys(), wanted):
            several.setdefault(own_edges[tuple(ends)], []).append(properties_of(rows))
        merged = {
            edge: edge_metadata(each, self.time_keys.merge(edge[1]))
            for edge, each in several.items()
        }
        return only(merged, keys)

    # --- parts --------------------------------------------------------------

    async def _current(self) -> GraphSchema:
        """The schema, which is read again as long as the graph is empty."""
        if self._schema.is_empty:
            self._schema = await discover(self._client)
        return self._schema

    async def _vertices(self, ids: Sequence[str]) -> AsyncGenerator[tuple[Any, str, str]]:
        """Own id, id and type of the vertices that may have these ids."""
        found = queries.vertices(self._schema, ids)
        if found is None:
            return
        for row in await self._client.rows(queries.identified(self._schema, found)):
            yield row[0], self._schema.entity_id(row[0], row[2:]), str(row[1])

    async def _evidence(self, entity_id: str) -> dict[Triple, list[dict[str, Any]]]:
        """Properties of edges of a node with evidence, of one more than `MAX_EVIDENCE` at most."""
        found = queries.vertices(self._schema, [entity_id])
        if found is None:
            return {}
        keys = sorted(stored_names(["provenance"]))
        shown = queries.edge_properties(keys, as_is)
        edges = queries.with_any(found.both_e(), keys).dedup().limit(MAX_EVIDENCE + 1)
        rows = await self._client.rows(queries.edge_rows(edges, m=shown))
        entities = await entities_of(
            self._client, self._schema, {e for r in rows for e in (r[0], r[2])}
        )
        evidence: dict[Triple, list[dict[str, Any]]] = {}
        for subject, label, obj, properties in rows:
            edge = (entities[subject], label, entities[obj])
            evidence.setdefault(edge, []).append(properties_of(properties))
        return evidence

    async def _supplied(self, entity_id: str) -> set[Triple]:
        """The edges for which a node supplied evidence, as the loader has noted them."""
        rows = await vertex_rows(self._client, self._schema, [entity_id], [SUPPLIED])
        texts = [value for row in rows for _, value, *_ in row[2] if isinstance(value, str)]
        return {(s, p, o) for text in texts for s, p, o in json.loads(text)}

    async def _own_ids(self, ids: Collection[str]) -> dict[str, list[Any]]:
        """The own ids of the vertices of some nodes."""
        own: dict[str, list[Any]] = {}
        for chunk in _chunks(sorted(ids)):
            async for vertex, entity_id, _ in self._vertices(chunk):
                own.setdefault(entity_id, []).append(vertex)
        return own

    def _metadata(self, vertices: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
        shown = {*self._settings.name_property, *self._settings.alias_property}
        by_type = sorted(vertices, key=itemgetter(0))
        return node_metadata(by_type, self._schema.key_properties, shown)

    def _node(self, row: Sequence[Any], keys: Collection[str]) -> Node:
        """A node from a row of `nodes_stream`."""
        entity_type = str(row[1])
        if not keys:
            return Node(self._schema.entity_id(row[0], row[2:]), entity_type)
        entity_id = self._schema.entity_id(row[0], row[3:])
        metadata = self._metadata([(entity_type, properties_of(map(single, row[2])))])
        return Node(entity_id, entity_type, only({entity_id: metadata}, keys)[entity_id])


def _chunks(ids: Iterable[str]) -> Iterator[Sequence[str]]:
    return chunks(distinct_texts(ids), queries.CHUNK)
