"""Neo4jBackend: implements the backend interface on a Neo4j server."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Self, Unpack

from bfsql import call, workers
from bfsql.abc import BatchGraphDb, chunks
from bfsql.embedding import Embedder, open_embedder
from bfsql.memory_account import COPIES
from bfsql.models import Outline, PropertyCondition
from bfsql.models.json_properties import SUFFIX, stored_names
from bfsql.models.json_values import distinct_texts, is_text
from bfsql.models.merge import add_other_types, evidence_items, merged_from
from bfsql.models.parts import EdgeFilter, only
from bfsql.models.records import (
    NO_METADATA,
    EntityStub,
    Metadata,
    Node,
    Omission,
    Triple,
    edge_label,
)
from bfsql.settings import resolve
from bfsql_neo4j import queries, schema_queries
from bfsql_neo4j.conditions import node_filter
from bfsql_neo4j.connection import Reader
from bfsql_neo4j.cypher import Part, Statement
from bfsql_neo4j.discovery import SchemaMonitor
from bfsql_neo4j.index_queries import EVIDENCE_INDEX
from bfsql_neo4j.outline import outlined
from bfsql_neo4j.proposal import proposal, with_proposal
from bfsql_neo4j.rights import reason_it_may_write
from bfsql_neo4j.rings import SHARED_ID, NewName, report_shared_id, ring_batches
from bfsql_neo4j.schema import GraphSchema
from bfsql_neo4j.search import phrase, search
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.values import (
    ELEMENT,
    can_name,
    edge_metadata,
    from_driver,
    from_properties,
    is_readable,
)

MAX_EVIDENCE = 1_000
"""Most relationships with evidence that are read for one entity."""
_EVIDENCE_KEYS = ["provenance", "provenance" + SUFFIX]


class Neo4jBackend(BatchGraphDb):
    """A Neo4j graph, read only.

    Args:
        reader: Its server.
        monitor: Its schema.
        settings: How to read the graph.
        embedder: Makes vectors of search texts; None to search by name only.
    """

    def __init__(
        self,
        reader: Reader,
        monitor: SchemaMonitor,
        settings: Neo4jSettings,
        embedder: Embedder | None = None,
    ) -> None:
        self._reader = reader
        self._monitor = monitor
        self._embedder = embedder
        self._settings = settings
        self._shown = {
            *settings.name_properties,
            *settings.alias_property,
            *settings.description_property,
        }

    @classmethod
    async def create(
        cls,
        uri: str | None = None,
        *,
        auth: tuple[str, str] | None = None,
        embedding_fn: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Open a graph; missing arguments come from `NEO4J_URI` and similar variables.

        Args:
            uri: The server, as in `bolt://localhost:7687` or `neo4j+s://host`.
            auth: Name and password.
            embedding_fn: Text to vector, plain or async, for searches by meaning.
            **settings: The other fields of `Neo4jSettings`; `id_property` may be a mapping.

        Raises:
            ConfigurationError: Settings that cannot be used.
            StoreError: The graph cannot be served.
            StoreUnavailable: The server does not answer.
        """
        given = {**settings, "uri": uri}
        if auth is not None:
            given["username"], given["password"] = auth
        resolved = resolve(Neo4jSettings, options=given, environment=os.environ).settings
        embedder = Embedder.of(embedding_fn) if embedding_fn is not None else None
        return await cls.open(resolved, embedder)

    @classmethod
    async def open(
        cls, settings: Neo4jSettings, embedder: Embedder | None = None, **options: Any
    ) -> Self:
        """Open a graph from validated settings; raises as `create`.

        Args:
            settings: The location of the graph, and how to read it.
            embedder: Replaces the one that the settings name.
            **options: Further options of the driver.
        """
        embedder = embedder or open_embedder(settings)
        reader = Reader(settings, **options)
        try:
            proposed = await proposal(reader, settings)
            proposed.log()
            settings = with_proposal(settings, proposed)
            monitor = await SchemaMonitor.open(reader, settings, embedder)
        except BaseException:
            await _close(reader, embedder)
            raise
        return cls(reader, monitor, settings, embedder)

    async def ping(self) -> None:
        """Query the server for a constant."""
        await self._reader.ping()

    async def may_write(self) -> str | None:
        """A sentence if the user has a privilege to write, or if the server has no privileges."""
        return await reason_it_may_write(self._reader, self._settings)

    async def close(self) -> None:
        """Close all connections; running statements end."""
        await _close(self._reader, self._embedder)

    # --- search and vocabulary ----------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Search by id, name and alias, then by similar words, and by meaning."""
        wanted = [name for name in node_types or () if is_text(name)]
        if node_types and not wanted:
            return []
        schema = await self._monitor.current()
        return await search(self._reader, schema, self._embedder, query, wanted or None)

    async def entity_types(self) -> list[str]:
        """The labels that are the type of a node, sorted."""
        return sorted((await self._monitor.refresh()).types)

    async def predicates(self) -> list[str]:
        """The relationship types that occur, sorted, as predicates."""
        return sorted((await self._monitor.refresh()).predicates.values())

    async def keys(self) -> set[str]:
        """The property keys of the database, of which no node needs to have one any more."""
        found = await self._reader.one(schema_queries.KEYS)
        return {key.removesuffix(SUFFIX) for key in found}

    # --- batches ------------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist, by index seeks."""
        schema = self._monitor.schema
        nodes = await self._nodes(schema, ids)
        if len(nodes) < len(set(ids)):  # the labels of the missing nodes may be new
            newer = await self._monitor.current()
            nodes = nodes if newer is schema else await self._nodes(newer, ids)
        return nodes

    def edge_values_stream(
        self, ids: Sequence[str], keys: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[Sequence[Any]]:
        """A ring with values in each row, where the server can find out how long they are."""
        if not self._monitor.schema.dialect.procedures:
            return super().edge_values_stream(ids, keys, **part)
        return self.edges_stream(ids, **part, keys=keys)

    async def edges_stream(
        self, ids: Sequence[str], *, keys: Sequence[str] = (), **of_ring: Unpack[EdgeFilter]
    ) -> AsyncGenerator[list[Any]]:
        """Every edge with one of the nodes at an end, and the types of both ends, as they come."""
        schema = self._monitor.schema
        if not set(schema.predicates.values()).issuperset(of_ring.get("predicates") or ()):
            schema = await self._monitor.current()  # they may be new
        while True:
            part = ring_batches(self._reader, schema, _chunks(ids), keys, **of_ring)
            try:
                async with aclosing(part) as batches:
                    async for rows in batches:
                        yield rows
            except NewName:  # restarts from the beginning, so an edge may come twice
                schema = await self._monitor.refresh(schema)
            else:
                return

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        """The nodes of some types that meet the conditions, by one statement."""
        schema = await self._monitor.current()
        types = None if entity_types is None else [one for one in entity_types if can_name(one)]
        if types == []:
            return
        keys = {one.key for one in conditions}
        wanted = stored_names(keys) | schema.every_id_property
        kept = node_filter(schema, conditions, self._shown)
        text, parameters = queries.nodes_that_meet(schema, types, kept, wanted)
        known: set[str] | None = set() if schema.without_id is None else None
        stream = self._reader.long_stream(text, **parameters)
        async with self._reader.lists.turn(), aclosing(stream) as records:
            async for labels, ids, properties in records:
                if not schema.rank.keys() >= set(labels):
                    schema = await self._monitor.refresh(schema)
                entity_type = schema.type_of(labels)
                if types is not None and entity_type not in types:
                    continue
                met = ids
                if properties is not None:
                    rows = [(i, labels, one) for i, one in zip(ids, properties, strict=True)]
                    met = await self._meeting(schema, rows, conditions)
                if known is not None:
                    met = _unshared(met, known, entity_type)
                new = tuple.__new__
                yield [new(Node, (i, entity_type, NO_METADATA)) for i in met]

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """True: what the server cannot decide, the backend compares."""
        return True

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Properties by id; with `keys`, only the properties that hold them are read."""
        schema = self._monitor.schema
        wanted = None if keys is None else stored_names(keys) | schema.every_id_property
        found: dict[str, Metadata] = {}
        for chunk in _chunks(ids):
            asked = set(chunk)
            query = partial(queries.node_metadata, wanted=wanted)
            rows = await self._with_properties(query, schema, chunk, str)
            for row in rows:
                if row[0] in asked and row[0] not in found:
                    found[row[0]] = self._node_metadata(schema, row)
        return found if keys is None else only(found, keys)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Properties by triple, of `keys` as for nodes; relationships of one triple are merged."""
        schema = self._monitor.schema
        wanted = None if keys is None else stored_names(merged_from(keys))
        types = {predicate: name for name, predicate in schema.predicates.items()}
        texts = [edge for edge in dict.fromkeys(edges) if is_text("".join(edge))]
        elements: dict[str, Any] = {}
        for ends in _chunks([end for s, _, o in texts for end in (s, o)]):
            text, parameters = queries.node_elements(schema, ends)
            for entity_id, element in await self._reader.one(text, **parameters):
                elements.setdefault(entity_id, element)
        found: dict[Triple, Metadata] = {}
        for chunk in chunks(texts, queries.CHUNK):
            asked = [
                [at, elements.get(s), types.get(p), elements.get(o)]
                for at, (s, p, o) in enumerate(chunk)
            ]
            several: dict[int, list[dict[str, Any]]] = {}
            query = partial(queries.edge_metadata, wanted=wanted)
            label = lambda at, chunk=chunk: edge_label(chunk[at])
            for at, properties in await self._with_properties(query, schema, asked, label):
                several.setdefault(at, []).append(dict(properties))
            found |= {
                chunk[at]: edge_metadata(records, self.time_keys.merge(chunk[at][1]))
                for at, records in several.items()
            }
        return found if keys is None else only(found, keys)

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of the entity's edges, and items it supplied as a document.

        Returns:
            Items in the order of their edges (`protocol.md` 16). If there is more evidence than
            is read, `total` is None, and `edges_read` the number of edges.
        """
        schema = self._monitor.schema
        wanted = {"keys": _EVIDENCE_KEYS, "most": MAX_EVIDENCE + 1}
        text, parameters = queries.evidence_of_node(schema, [entity_id])
        rows = await self._reader.one(text, id=entity_id, **wanted, **parameters)
        touching = _evidence_by_triple(rows, schema)
        supplied: dict[Triple, list[dict[str, Any]]] = {}
        if schema.evidence:
            wanted |= {"index": EVIDENCE_INDEX, "lucene": phrase(entity_id), "document": entity_id}
            rows = await self._reader.one(
                queries.evidence_of_document(schema), **wanted, **schema.parameters
            )
            supplied = _evidence_by_triple(rows, schema)
        edges = sorted({*touching, *supplied})
        items = [
            item
            for edge in edges
            for item in evidence_items(edge, edge_metadata(touching.get(edge) or supplied[edge]))
            if edge in touching or item["document_id"] == entity_id
        ]
        if max(len(touching), len(supplied)) > MAX_EVIDENCE:
            return {"total": None, "items": items[:limit], "edges_read": len(edges)}
        return {"total": len(items), "items": items[:limit]}

    async def outline(self) -> Outline:
        """Counted by the server if the graph is large; its properties are from a sample then."""
        schema = await self._monitor.current()
        return await outlined(self, self._reader, schema, self._settings.schema_timeout)

    async def next_steps(self) -> str:
        """The generic advice, and peculiarities of the graph."""
        return " ".join([await super().next_steps(), *self._monitor.peculiarities()])

    # --- parts --------------------------------------------------------------

    async def _nodes(self, schema: GraphSchema, ids: Sequence[str]) -> list[Node]:
        labels_of: dict[str, Any] = {}
        for chunk in _chunks(ids):
            text, parameters = queries.nodes(schema, chunk)
            asked = set(chunk)
            for entity_id, labels in await self._reader.one(text, **parameters):
                if entity_id in asked and labels_of.setdefault(entity_id, labels) is not labels:
                    await report_shared_id(self._reader, schema, entity_id)
        new = tuple.__new__  # Node(...) runs Python code for each node
        return [
            new(Node, (entity_id, schema.type_of(labels), NO_METADATA))
            for entity_id, labels in labels_of.items()
        ]

    async def _meeting(
        self,
        schema: GraphSchema,
        rows: Sequence[Sequence[Any]],
        conditions: Sequence[PropertyCondition],
    ) -> list[str]:
        """The ids of the nodes that meet the conditions, from id, labels and properties."""
        call.check()
        unread = [i for i, _, pairs in rows if not all(is_readable(value) for _, value in pairs)]
        found: dict[str, Metadata] = dict.fromkeys(unread, NO_METADATA)
        found |= await self.metadata_for_nodes_batch(unread)

        def compare() -> list[str]:
            own = (row for row in rows if row[0] not in found)
            records = found | {row[0]: self._node_metadata(schema, row) for row in own}
            return [
                i for i, record in records.items() if all(one.holds(record) for one in conditions)
            ]

        return await workers.off_loop(len(rows) * (1 + len(conditions)), compare)

    def _node_metadata(self, schema: GraphSchema, row: Sequence[Any]) -> dict[str, Any]:
        """Properties without the id, unless it is also a name, and labels other than the type."""
        entity_id, labels, properties = row[0], row[1], dict(row[2])
        ids = schema.id_properties(labels)
        hidden = None
        if not entity_id.startswith(ELEMENT):
            hidden = next((name for name in ids if name in properties), None)
        shown = {
            key: from_driver(value)
            for key, value in properties.items()
            if key != hidden or key in self._shown
        }
        metadata = from_properties(shown, ids)
        entity_type = schema.type_of(labels)
        add_other_types(metadata, [label for label in labels if label != entity_type])
        return metadata

    async def _with_properties(
        self,
        query: Callable[..., Statement],
        schema: GraphSchema,
        keys: Sequence[Any],
        label: Callable[[Any], str],
    ) -> list[list[Any]]:
        """Rows that end with properties; rows that the driver cannot read have times as text.

        A row begins with its key, or with the first value of its key, of which `label` is the name.
        Rows with large texts come once the call holds them, without those that are too large.
        """
        most = call.room(4 * COPIES * max(1, len(keys)), sys.maxsize)
        part: Part = "small" if schema.dialect.procedures else "all"
        rows = await self._part(query, schema, keys, part, most)
        large = {row[0] for row in rows if row[-1] is None}
        most = call.largest_value() or sys.maxsize
        if large:
            again = [key for key in keys if _first(key) in large]
            total = 0
            for first, *_, sizes in await self._part(query, schema, again, "sizes", most):
                total += sum(size for _, size in sizes if size <= most)
                call.omitted(
                    *(Omission(label(first), "values", s, key) for key, s in sizes if s > most)
                )
            call.hold_values(total)
            rows = [row for row in rows if row[0] not in large]
            rows += await self._part(query, schema, again, "fitting", most)
        broken = {row[0] for row in rows if not all(map(is_readable, dict(row[-1]).values()))}
        if not broken:
            return rows
        again = [key for key in keys if _first(key) in broken]
        rows = [row for row in rows if row[0] not in broken]
        part = "fitting as text" if schema.dialect.procedures else "all as text"
        return rows + await self._part(query, schema, again, part, most)

    async def _part(
        self,
        query: Callable[..., Statement],
        schema: GraphSchema,
        keys: Sequence[Any],
        part: Part,
        most: int,
    ) -> list[list[Any]]:
        text, parameters = query(schema, keys, part=part)
        rows: list[list[Any]] = await self._reader.one(text, most=most, **parameters)
        return rows


def _first(key: Any) -> Any:
    return key if isinstance(key, str) else key[0]


async def _close(reader: Reader, embedder: Embedder | None) -> None:
    await asyncio.gather(reader.close(), *([embedder.close()] if embedder else []))


def _unshared(ids: Sequence[str], known: set[str], entity_type: str) -> list[str]:
    """The ids that are not known yet; reports those of a node with the id of another."""
    fresh = [i for i in dict.fromkeys(ids) if i not in known]
    if len(fresh) < len(ids):
        call.omitted(Omission(entity_type, "nodes", reason=SHARED_ID))
    known.update(fresh)
    return fresh


def _chunks(ids: Iterable[str]) -> Iterator[Sequence[str]]:
    return chunks(distinct_texts(ids), queries.CHUNK)


def _evidence_by_triple(
    rows: Sequence[Any], schema: GraphSchema
) -> dict[Triple, list[dict[str, Any]]]:
    """Properties of the relationships of each triple."""
    found: dict[Triple, list[dict[str, Any]]] = {}
    for subject, name, obj, values in rows:
        properties = {k: v for k, v in zip(_EVIDENCE_KEYS, values, strict=True) if v is not None}
        if name in schema.predicates:
            found.setdefault((subject, schema.predicates[name], obj), []).append(properties)
    return found
