"""SqliteBackend: answers core's requests from one file."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Hashable, Iterable, Sequence
from contextlib import aclosing, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bfsql.abc import BatchGraphDb
from bfsql.arrays import numbers_of
from bfsql.integers import Ring
from bfsql.models import PropertyCondition
from bfsql.models.json_values import decode, distinct_texts, is_text
from bfsql.models.merge import evidence_items
from bfsql.models.name_keys import NameKeys
from bfsql.models.outline import Outline
from bfsql.models.records import (
    NO_METADATA,
    EdgeDirection,
    EntityStub,
    Metadata,
    Node,
    Triple,
    edge_label,
)
from bfsql.schema_statistics import outline_in_integers
from bfsql_sqlite import queries
from bfsql_sqlite.adjacency import NumberedEdgeFilter
from bfsql_sqlite.connection import FEW, Pool, Result, holds_tables
from bfsql_sqlite.integer_graph import Schema, SqliteIntegerGraph, find, names_of, rows_of_nodes
from bfsql_sqlite.outline import of_file
from bfsql_sqlite.plugin import SOURCES
from bfsql_sqlite.records import Records, part
from bfsql_sqlite.search import search
from bfsql_sqlite.settings import SqliteSettings

if TYPE_CHECKING:
    from bfsql_sqlite.temporary_graph import TemporaryGraph

log = logging.getLogger("bfsql")

Reader = sqlite3.Connection

NODE_BATCH = 5_000
"""Nodes in a batch of `nodes_stream`."""


class SqliteBackend(BatchGraphDb):
    """A graph in one file that `bfsql load` made, opened read-only; many processes can share it.

    Args:
        pool: Connections to the file.
        schema: The part that is read only once, since the file never changes.
        temporary: The file, if it is removed at the end.
    """

    def __init__(self, pool: Pool, schema: Schema, temporary: TemporaryGraph | None = None) -> None:
        self._pool = pool
        self._schema = schema
        self.time_keys = schema.time_keys
        self.title, self.description = schema.about
        self._temporary = temporary

    @classmethod
    async def create(cls, **settings: Any) -> SqliteBackend:
        """Open a graph.

        Args:
            **settings: The fields of `SqliteSettings`, `path` above all.

        Raises:
            StoreError: The file is missing or is not a graph that can be read.
        """
        return await cls.open(SqliteSettings(**settings))

    @classmethod
    async def open(cls, settings: SqliteSettings) -> SqliteBackend:
        """Open a graph from settings that are already validated.

        Files that only `bfsql load` reads are loaded first, into a graph that is kept.

        Raises:
            StoreError: As `create`; or such a file cannot be loaded.
        """
        path = settings.path.expanduser()
        is_source = path.name.lower().endswith(SOURCES) or settings.more_files
        if not is_source and not holds_tables(path):
            if unused := sorted(settings.file_options.keys() & settings.model_fields_set):
                names = ", ".join(unused)
                log.warning("%s is a loaded graph, for which %s has no effect", path, names)
            return cls(*await _read_graph(settings))
        from bfsql_sqlite.temporary_graph import TemporaryGraph  # and with it all readers

        temporary = await TemporaryGraph.load(settings)
        try:
            return cls(*await _read_graph(temporary.settings), temporary)
        except BaseException:
            temporary.close()
            raise

    def changed(self) -> Hashable | None:
        """The state of the file at the path, if it is no longer the file that was opened."""
        return (self._temporary or self._pool).changed()

    async def ping(self) -> None:
        """Read a row on the event loop: calls that take long may occupy all threads."""
        self._pool.at_once(lambda reader: reader.execute("SELECT 1 FROM meta").fetchone())

    async def close(self) -> None:
        """Close the file; running reads stop."""
        try:
            await self._pool.close()
        finally:
            if self._temporary is not None:
                self._temporary.close()

    # --- the eight ----------------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None, without: Sequence[str] = ()
    ) -> list[EntityStub]:
        """Candidates by id, name, alias, prefix, words, part and likeness, in this order."""
        names = self._schema.types
        kept = numbers_of(node_types or (), names).tolist()
        if node_types and not kept:
            return []
        work = partial(search, query=query, types=kept, type_names=names, without=without)
        return await self._pool.run(work)

    async def entity_types(self) -> list[str]:
        """The types that occur, sorted."""
        return list(self._schema.types)

    async def predicates(self) -> list[str]:
        """The predicates that occur, sorted."""
        return list(self._schema.predicates)

    async def keys(self) -> Collection[str] | None:
        """The properties that have a column, if all have one."""
        properties = self._schema.properties
        return properties.columns.keys() if properties.are_all else None

    def columns(self) -> SqliteIntegerGraph:
        """The graph in integers, as the file stores it."""
        return SqliteIntegerGraph(self._pool, self._schema)

    async def outline(self) -> Outline:
        """The composition of the graph, counted over all of its edges."""
        stored = await self._pool.run(partial(of_file, writes=self._pool.writes))
        outline = stored or await outline_in_integers(self, self.columns())
        return outline if self.time_keys == self._schema.time_keys else outline.without_ends

    # --- in one go ----------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist, read in one thread hop."""
        return await self._pool.run(partial(_nodes, ids, self._schema), len(ids))

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        """Every wanted edge with a requested node at either end, each once."""
        schema = self._schema
        numbers = None if predicates is None else numbers_of(predicates, schema.predicates)
        ring = partial(_ring, ids, NumberedEdgeFilter(numbers, direction), schema)
        return await self._pool.run(ring, len(ids))

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        """The nodes of some types that meet the conditions."""
        columns = self.columns()
        async with aclosing(columns.nodes(entity_types, conditions)) as batches:
            async for batch in batches:
                for start in range(0, len(batch.handles), NODE_BATCH):
                    part = slice(start, start + NODE_BATCH)
                    ids = await columns.ids(batch.handles[part])
                    types = map(self._schema.types.__getitem__, batch.types[part].tolist())
                    yield list(map(Node, ids, types))

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """True: every condition is judged."""
        return True

    def name_keys(self) -> NameKeys:
        """The columns that became the name, as `bfsql load` was told or found them."""
        return self._schema.name_keys

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Metadata by id."""
        return await self._records(partial(_node_metadata, ids, keys), len(ids))

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata by triple."""
        work = partial(_edge_metadata, edges, keys, self._schema)
        return await self._records(work, 3 * len(edges))

    async def _records(self, work: Callable[..., Result], size: int) -> Result:
        """Records that are read on the event loop, or in a thread if they are many or large."""
        if size <= FEW:
            with suppress(_LargeRecord):
                return self._pool.at_once(partial(work, None))
        return await self._pool.run(partial(work, Records()), size)

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of the edges that touch the entity, and items it supplied as a document."""
        return await self._pool.run(partial(_provenance, entity_id, limit, self._schema))


async def _read_graph(settings: SqliteSettings) -> tuple[Pool, Schema]:
    """Open a file that `bfsql load` made.

    Raises:
        StoreError: It is missing or is not a graph that can be read.
    """
    pool = Pool.open(settings.path, settings.connections, settings.cache_mb)
    try:
        return pool, await pool.run(Schema.read)
    except BaseException:
        await pool.close()
        raise


# --- what runs in a thread; a reader comes last, for `partial` ---------------


def _nodes(ids: Sequence[str], schema: Schema, reader: Reader) -> list[Node]:
    # Node(...) runs Python code for each node, which is noticeable for a hub of 60,000 neighbours.
    new, types = tuple.__new__, schema.types
    rows = rows_of_nodes(reader, ids, schema)
    return [new(Node, (entity_id, types[t], NO_METADATA)) for entity_id, _, t in rows]


def _ring(
    ids: Sequence[str], part: NumberedEdgeFilter, schema: Schema, reader: Reader
) -> list[Triple]:
    handles = [found.handle for found in find(reader, ids, schema).values()]
    reads = schema.edges.plan(reader, np.array(handles, np.int32), part)
    return _named((read(reader) for read in reads), schema, reader)


def _named(rings: Iterable[Ring], schema: Schema, reader: Reader) -> list[Triple]:
    """Edges with ids and names instead of numbers."""
    kept = list(rings)
    ends = {handle for s, _, o in kept for end in (s, o) for handle in end.tolist()}
    names = names_of(reader, ends)
    ids, predicates = names.__getitem__, schema.predicates.__getitem__
    return [
        triple
        for s, p, o in kept
        for triple in zip(
            map(ids, s.tolist()), map(predicates, p.tolist()), map(ids, o.tolist()), strict=True
        )
    ]


class _LargeRecord(Exception):
    """A record is too large for the event loop."""


def _decoded(
    label: Callable[[], str], text: str | int, keys: Collection[str] | None, records: Records | None
) -> Metadata:
    """Metadata of a record; without `records`, only of a small one."""
    if records is not None:
        return records.decoded(label, text, keys)
    if isinstance(text, int):
        raise _LargeRecord
    return part(decode(text), keys)


def _node_metadata(
    ids: Sequence[str], keys: Collection[str] | None, records: Records | None, reader: Reader
) -> dict[str, Metadata]:
    most = Records.small if records is None else records.most
    with closing(
        queries.rows_for(reader, queries.node_metadata, distinct_texts(ids), most)
    ) as rows:
        return {i: _decoded(partial(str, i), text, keys, records) for i, text in rows}


def _edge_metadata(
    edges: Collection[Triple],
    keys: Collection[str] | None,
    schema: Schema,
    records: Records | None,
    reader: Reader,
) -> dict[Triple, Metadata]:
    ends = distinct_texts({end for subject, _, obj in edges for end in (subject, obj)})
    handles = dict(queries.rows_for(reader, queries.handles, ends))
    predicates = schema.predicate_numbers
    known = {
        (handles[s], predicates[p], handles[o]): (s, p, o)
        for s, p, o in edges
        if s in handles and o in handles and p in predicates
    }
    numbers = schema.edges.numbers(reader, known)
    triples = {e: known[edge] for edge, e in numbers.items()}
    most = Records.small if records is None else records.most
    found: dict[Triple, Metadata] = {triple: {} for triple in triples.values()}
    with closing(queries.rows_for(reader, queries.edge_metadata, sorted(triples), most)) as rows:
        for e, text in rows:
            triple = triples[e]
            found[triple] = _decoded(partial(edge_label, triple), text, keys, records)
    return found


def _provenance(entity_id: str, limit: int, schema: Schema, reader: Reader) -> dict[str, Any]:
    if not is_text(entity_id):
        return {"total": 0, "items": []}
    records = Records()
    values = {"id": entity_id, "limit": limit, "most": records.most}
    rows = [
        (*row, records.decoded(partial(str, entity_id), text))
        for *row, text in reader.execute(queries.EVIDENCE, values)
    ]
    ends = schema.edges.at(reader, [row[0] for row in rows])
    names = names_of(reader, {row[1] for row in rows}.union(o for _, o in ends))
    total, items = 0, []
    for (_, s, touching, of_all, metadata), (p, o) in zip(rows, ends, strict=True):
        total = of_all
        items += [
            item
            for item in evidence_items((names[s], schema.predicates[p], names[o]), metadata)
            if touching or item["document_id"] == entity_id
        ]
    return {"total": total, "items": items[:limit]}
