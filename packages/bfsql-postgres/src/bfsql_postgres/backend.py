"""PostgresBackend: implements the backend interface on tables."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import lru_cache, partial
from itertools import repeat
from typing import Any, Self, Unpack

from bfsql import workers
from bfsql.abc import DEFAULT_NEXT_STEPS, BatchGraphDb, chunks
from bfsql.embedding import Embedder, open_embedder
from bfsql.errors import EmbeddingFailed, StoreError
from bfsql.models.condition import PropertyCondition
from bfsql.models.merge import UNTYPED
from bfsql.models.name_keys import NameKeys
from bfsql.models.outline import Outline, outline_of
from bfsql.models.parts import EdgeFilter
from bfsql.models.records import NO_METADATA, EdgeDirection, EntityStub, Metadata, Node, Triple
from bfsql.settings import resolve
from bfsql_postgres import outline, queries, topology
from bfsql_postgres.connection import Pool
from bfsql_postgres.discovery import proposed_layout, warning_of_shared_ids
from bfsql_postgres.ids import known_ids, prefix, prefixes
from bfsql_postgres.indexes import missing_indexes
from bfsql_postgres.metadata import FEW_TABLES, PartReaders, with_texts
from bfsql_postgres.node_list import NodeList, nodes_of
from bfsql_postgres.rights import reason_it_may_write
from bfsql_postgres.schema import Layout
from bfsql_postgres.search import Search, vector_size
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import storable
from bfsql_postgres.topology import RingDirection

CHUNK = 20_000
"""Most ids in one statement."""
FEW = 250
"""Most ids whose ring may be small."""
SMALL = 5_000
"""Most edges of a small ring, which includes the types of its ends. In a larger ring, whose edges
share many of their ends, a type for each edge takes longer than one for each end. Without small
rings, by a cursor and with types from a second statement, a call of one or two hops takes 2.6 times
as long (8 and 11 ms become 22 and 29).
"""

log = logging.getLogger("bfsql.postgres")


class PostgresBackend(BatchGraphDb):
    """A graph in Postgres, read only: kgraph's schema, or any tables of nodes and edges.

    Args:
        pool: Connections to the database.
        layout: The location of the graph in the database.
        embedder: Makes vectors of search texts; None to search by name only.
        caution: What to know of the ids and of what is left out, which ends `next_steps`.
        schema_timeout: Seconds that counting the nodes or the relations of large tables may take.
    """

    def __init__(
        self,
        pool: Pool,
        layout: Layout,
        embedder: Embedder | None = None,
        caution: str = "",
        *,
        schema_timeout: float = 20,
    ) -> None:
        self._pool = pool
        self._schema_timeout = schema_timeout
        self._layout = layout
        self._embedder = embedder
        self._caution = caution
        self._ring = lru_cache(200)(partial(topology.ring, layout))
        self._small_ring = lru_cache(200)(partial(topology.small_ring, layout, SMALL + 1))
        self._nodes = lru_cache(200)(partial(topology.nodes, layout))
        self._has_types = topology.has_types(layout)
        self._metadata = PartReaders(pool, layout)
        self._list = NodeList(pool, layout, self.metadata_for_nodes_batch)
        self._search = Search(pool, layout, embedder)

    @classmethod
    async def create(
        cls,
        dsn: str | None = None,
        *,
        embedding_fn: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Open a graph.

        Args:
            dsn: The database's URL; by default `DATABASE_URL` or libpq's variables.
            embedding_fn: Maps a text to its vector, plain or async; must use the model
                that made the stored vectors.
            **settings: The other fields of `PostgresSettings`.

        Raises:
            ConfigurationError: Nothing names the database, or a setting is wrong.
            StoreError: The database cannot be reached, or has no readable graph.
        """
        given = {**settings, "dsn": dsn}
        resolved = resolve(PostgresSettings, options=given, environment=os.environ).settings
        return await cls.open(resolved, Embedder.of(embedding_fn) if embedding_fn else None)

    @classmethod
    async def open(cls, settings: PostgresSettings, embedder: Embedder | None = None) -> Self:
        """Open a graph from validated settings; `embedder` replaces the one that they name."""
        embedder = embedder or open_embedder(settings)
        pool = await Pool.open(settings)
        try:
            layout, proposal = await proposed_layout(pool, settings)
            fitting = await _fitting(embedder, pool, layout)
            caution = await warning_of_shared_ids(pool, layout)
        except BaseException:
            await pool.close()
            if embedder is not None:
                await embedder.close()
            raise
        proposal.log()
        if caution:
            log.warning("%s", caution)
        if any("left out" in sentence for sentence in proposal.left_out):
            caution += " Some tables are not in this graph: bfsql doctor lists them."
        _warn_of_slowness(layout, by_meaning=fitting is not None)
        _log_visible_rows(layout, settings)
        layout = replace(layout, time_keys=settings.time_keys)
        return cls(pool, layout, fitting, caution, schema_timeout=settings.schema_timeout)

    async def ping(self) -> None:
        """Query the server for a constant."""
        await self._pool.ping()

    async def may_write(self) -> str | None:
        """A sentence if the role is a superuser, or may change the tables or create new ones."""
        return await reason_it_may_write(self._pool, self._layout)

    async def close(self) -> None:
        """Close all connections; running statements stop."""
        try:
            await self._pool.close()
        finally:
            if self._embedder is not None:
                await self._embedder.close()

    # --- search and vocabulary ----------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Search by id, name, alias, beginning, part and words, similar spelling, and meaning."""
        return await self._search(query, node_types)

    async def entity_types(self) -> list[str]:
        """The types that occur, sorted."""
        rows = await self._pool.fetch(queries.types(self._layout))
        return sorted({name or UNTYPED for (name,) in rows})

    async def predicates(self) -> list[str]:
        """The predicates that occur, sorted."""
        rows = await self._pool.fetch(queries.predicates(self._layout))
        return sorted(name for (name,) in rows if name is not None)

    # --- in one go ----------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist, each once."""
        known = list(known_ids(ids, self._layout).values())
        rows: list[Any] = []
        for chunk in chunks(known, CHUNK):
            part = self._of_ids(topology.WHOLE, chunk)
            rows += await self._pool.fetch(self._nodes(part), chunk)
        if len({row[0] for row in rows}) < len(rows):
            # The first table that has an id determines its type, and within it the first type.
            rows.sort(key=lambda row: (row[2:], row[1] or ""), reverse=True)
            rows = list({row[0]: row for row in rows}.values())
        return nodes_of(rows, repeat(NO_METADATA))

    async def edge_values_stream(
        self, ids: Sequence[str], keys: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[Sequence[Any]]:
        """A ring with texts in each row, from the same statements unless there are many tables."""
        few, fields = len(self._layout.edges) <= FEW_TABLES, queries.edge_values(self._layout, keys)
        ring = super().edge_values_stream(ids, keys, **part)
        if few:
            ring = self.edges_stream(ids, keys=tuple(keys), **part)
        async with aclosing(ring) as batches:
            async for rows in batches:
                read = partial(with_texts, rows, fields, keys)
                yield await workers.off_loop(len(rows), read) if few else rows

    async def edges_stream(
        self, ids: Sequence[str], *, keys: tuple[str, ...] = (), **of_ring: Unpack[EdgeFilter]
    ) -> AsyncGenerator[Sequence[Any]]:
        """A small ring with the types of its ends, by one statement; a large ring by cursors."""
        part, some = self._part(**of_ring)
        part = part._replace(keys=keys)
        known = await self._parameters(ids, some)
        if 0 < len(known) <= FEW:
            number = [len(known)] if self._has_types else []
            small = self._small_ring(self._of_ids(part, known))
            rows: Any = await self._pool.fetch(small, known, *number, *some) if small else []
            if len(rows) <= SMALL:
                yield rows
                return
            del rows
        for chunk in chunks(known, CHUNK):
            if not (statement := self._ring(self._of_ids(part, chunk))):
                continue
            async with aclosing(self._pool.stream(statement, chunk, *some)) as batches:
                async for batch in batches:
                    yield batch

    def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        """The nodes of some types, without most that do not meet the conditions."""
        return self._list.stream(entity_types, conditions)

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """Whether the database compares a property as core does: presence, and integers."""
        return self._list.filters_exactly(condition)

    def name_keys(self) -> NameKeys:
        """The columns of names."""
        return self._layout.name_keys

    async def keys(self) -> set[str] | None:
        """The columns of nodes; None if some hold JSON with keys of its own."""
        return self._layout.keys

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Metadata by id; with `keys`, only the columns that hold them are read."""
        known = known_ids(ids, self._layout)
        found: dict[str, Metadata] = {}
        for chunk in chunks(list(known), CHUNK):
            for reader, some in self._metadata.of(chunk, lambda one: (prefix(one),)):
                found |= await reader.of_nodes(some, [known[i] for i in some], keys)
        return found

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata by triple; with `keys`, as for nodes."""
        distinct = dict.fromkeys(edges)
        ends = known_ids((end for s, _, o in distinct for end in (s, o)), self._layout)
        codec = self._layout.codec
        spelled = {name for name in {p for _, p, _ in distinct} if storable((name,), codec)}
        known = [t for t in distinct if t[0] in ends and t[1] in spelled and t[2] in ends]
        found: dict[Triple, Metadata] = {}
        for chunk in chunks(known, CHUNK):
            for reader, some in self._metadata.of(chunk, lambda t: (prefix(t[0]), prefix(t[2]))):
                subjects = [ends[subject] for subject, _, _ in some]
                objects = [ends[obj] for _, _, obj in some]
                values = (subjects, [predicate for _, predicate, _ in some], objects)
                found |= await reader.of_edges(some, values, keys)
        return found

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of the edges that touch the entity, and items it supplied as a document."""
        known = known_ids([entity_id], self._layout)
        if not known:
            return {"total": 0, "items": []}
        return await self._metadata.whole.provenance(entity_id, known[entity_id], limit)

    async def outline(self) -> Outline:
        """Counts of the tables, or relations of some of their blocks; properties of some rows."""
        counts = await outline.counts(self._pool, self._layout, self._schema_timeout)
        of_type, of_relation, sampled = counts
        types: dict[str, str] = dict(await self._pool.fetch(outline.some_nodes(self._layout)))
        rows = await self._pool.fetch(outline.some_edges(self._layout))
        edges = [(s, p, o) for s, p, o in rows]
        of_nodes = await self.metadata_for_nodes_batch(list(types))
        of_edges = await self.metadata_for_edges_batch(edges)
        dated = (
            ((types.get(s, ""), p, types.get(o, "")), of_edges[s, p, o]) for s, p, o in of_edges
        )
        return outline_of(
            of_type,
            of_relation,
            ((types[i], known) for i, known in of_nodes.items() if i in types),
            ((edge[1], known) for edge, known in of_edges.items()),
            sampled=sampled,
            ended=self.time_keys.ended(dated, of_relation),
        )

    async def next_steps(self) -> str:
        """The generic advice, and cautions about the ids and about what is left out."""
        return f"{DEFAULT_NEXT_STEPS} {self._caution.strip()}".rstrip()

    def _part(
        self, predicates: Collection[str] | None = None, direction: EdgeDirection | None = None
    ) -> tuple[RingDirection, list[list[str]]]:
        """The requested part of a ring, and its predicates as the last value of a statement."""
        if predicates is None:
            return RingDirection(direction), []
        codec = self._layout.codec
        known = sorted(name for name in set(predicates) if storable((name,), codec))
        return RingDirection(direction, filtered=True), [known]

    def _of_ids(self, part: RingDirection, ids: Sequence[Any]) -> RingDirection:
        """The part that certain ids have, as they are sent."""
        return part._replace(prefixes=prefixes(ids, self._layout))

    async def _parameters(self, ids: Sequence[str], predicates: Sequence[list[str]]) -> list[Any]:
        """The ids in the form they are sent; none if the predicates are empty."""
        if not all(predicates):
            return []
        known = partial(known_ids, ids, self._layout)
        return list((await workers.off_loop(len(ids), known)).values())


async def _fitting(embedder: Embedder | None, pool: Pool, layout: Layout) -> Embedder | None:
    """The embedder, if its vectors are as long as those of the store."""
    if embedder is None:
        return None
    nodes = layout.embedded
    if nodes is None:
        log.warning("No table of nodes has a column of vectors: searches compare names only.")
        return embedder
    try:
        length = await embedder.probe()
    except EmbeddingFailed as failed:
        log.warning("Searches compare names only, until this is corrected: %s", failed)
        return embedder
    stored = await pool.fetch(vector_size(nodes))
    assert nodes.embedding is not None
    column = f"{nodes.relation.schema}.{nodes.relation.name}.{nodes.embedding.name}"
    if not stored:
        log.warning("%s contains no vectors: searches compare names only.", column)
    elif stored[0][0] != length:
        raise StoreError(
            f"The vectors in {column} have {stored[0][0] or 'no'} numbers, and {embedder.name} "
            f"produces {length}. Name the model that produced the stored vectors with --embedding."
        )
    return embedder


def _log_visible_rows(layout: Layout, settings: PostgresSettings) -> None:
    """Log whose rows the graph has, as a warning if settings choose them and tables have no say."""
    tables = layout.relations.values()
    secured = sum(one.secured for one in tables)
    chosen = settings.role or settings.claims
    warned = chosen and not secured and all(one.is_indexable for one in tables)
    log.log(
        logging.WARNING if warned else logging.INFO,
        "Rows are those that the Postgres role %r sees: row security applies to it in %d of %d "
        "tables.",
        *(layout.catalogue.role, secured, len(tables)),
    )


def _warn_of_slowness(layout: Layout, *, by_meaning: bool) -> None:
    columns = [(relation, column) for relation, own in layout.id_sources for column in own.columns]
    cast = dict.fromkeys(f"{r.schema}.{r.name}.{c.name}" for r, c in columns if not c.is_text)
    if cast and layout.key == "mixed":
        slow = "Ids are of different types, so %s are compared as text, which is slow."
        log.warning(slow, ", ".join(cast))
    if missing := [*missing_indexes(layout, by_meaning=by_meaning)]:
        log.warning(
            "Indexes that make this graph fast are missing: %d. `bfsql index --backend postgres` "
            "prints the statements that create them.",
            len(missing),
        )
