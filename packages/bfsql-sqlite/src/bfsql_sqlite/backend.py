"""SqliteBackend: the questions of core, answered from one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Self

from bfsql.abc import BatchGraphDb
from bfsql.models.json_values import decode, is_text
from bfsql.models.merge import evidence_items
from bfsql.models.records import NO_METADATA, Edge, EntityStub, Metadata, Node, Triple
from bfsql_sqlite import queries
from bfsql_sqlite.connection import Pool
from bfsql_sqlite.search import search
from bfsql_sqlite.settings import SqliteSettings

Reader = sqlite3.Connection


class SqliteBackend(BatchGraphDb):
    """A graph in one file that `bfsql load` made, opened read-only; many processes can share it.

    Args:
        pool: Connections to the file.
        types: Names of the types by number; they are fixed, as everything in the file is.
    """

    def __init__(self, pool: Pool, types: dict[int, str]) -> None:
        self._pool = pool
        self._types = types

    @classmethod
    async def create(cls, **settings: Any) -> Self:
        """Open a graph.

        Args:
            **settings: The fields of `SqliteSettings`, `path` above all.

        Raises:
            StoreError: The file is missing or is not a graph that can be read.
        """
        return await cls.open(SqliteSettings(**settings))

    @classmethod
    async def open(cls, settings: SqliteSettings) -> Self:
        """The same from settings that are checked already."""
        pool = Pool.open(settings.path, settings.connections, settings.cache_mb)
        try:
            return cls(pool, await pool.run(_types))
        except BaseException:
            await pool.close()
            raise

    async def close(self) -> None:
        """Give the file back; what is under way stops."""
        await self._pool.close()

    # --- the eight ----------------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """By id, name, alias, prefix, words, part and likeness, in this order."""
        kept = None
        if node_types:
            wanted = set(node_types)
            kept = [t for t, name in self._types.items() if name in wanted]
            if not kept:
                return []
        return await self._pool.run(
            partial(search, query=query, types=kept, type_names=self._types)
        )

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All edges that leave the entity."""
        return await self._pool.run(partial(_edges, entity_id, queries.LEAVING))

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All edges that enter the entity."""
        return await self._pool.run(partial(_edges, entity_id, queries.ENTERING))

    async def entity_types(self) -> list[str]:
        """The types that occur, sorted."""
        return sorted(self._types.values())

    async def predicates(self) -> list[str]:
        """The predicates that occur, sorted."""
        return await self._pool.run(
            lambda reader: [name for (name,) in reader.execute(queries.PREDICATES)]
        )

    # --- in one go ----------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist, one thread hop for all."""
        return await self._pool.run(partial(_nodes, ids, self._types))

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        """Every edge with an asked node at either end, as the cursor gives them."""
        return await self._pool.run(partial(_ring, ids))

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        """Metadata by id."""
        return await self._pool.run(partial(_node_metadata, ids))

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        """Metadata by triple."""
        return await self._pool.run(partial(_edge_metadata, edges))

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of the edges that touch the entity, and what it supplied as a document."""
        return await self._pool.run(partial(_provenance, entity_id, limit))

    async def next_steps(self) -> str:
        """The generic advice, and how many nodes each type has."""
        return await self._pool.run(
            lambda reader: str(reader.execute(queries.NEXT_STEPS).fetchone()[0])
        )


# --- what runs in a thread; a reader comes last, for `partial` ---------------


def _types(reader: Reader) -> dict[int, str]:
    return dict(reader.execute(queries.TYPES))


def _storable(ids: Sequence[str]) -> list[str]:
    """Ids that the store could have: one with a lone surrogate is never in it."""
    return [entity_id for entity_id in ids if is_text(entity_id)]


def _edges(entity_id: str, statement: str, reader: Reader) -> list[Edge]:
    if not (is_text(entity_id) and reader.execute(queries.NODE, (entity_id,)).fetchone()):
        raise KeyError(entity_id)
    return [Edge(*row) for row in reader.execute(statement, (entity_id,))]


def _nodes(ids: Sequence[str], types: dict[int, str], reader: Reader) -> list[Node]:
    # Node(...) runs Python for each node, which a hub of 60,000 neighbours feels.
    new = tuple.__new__
    return [
        new(Node, (entity_id, types[t], NO_METADATA))
        for statement, keys in queries.chunks(_storable(ids), queries.nodes)
        for entity_id, t in reader.execute(statement, keys)
    ]


def _ring(ids: Sequence[str], reader: Reader) -> list[Triple]:
    ring: list[Triple] = []
    for statement, keys in queries.chunks(_storable(ids), queries.ring):
        ring += reader.execute(statement, keys).fetchall()
    return ring


def _node_metadata(ids: Sequence[str], reader: Reader) -> dict[str, Metadata]:
    return {
        entity_id: decode(text)
        for statement, keys in queries.chunks(_storable(ids), queries.node_metadata)
        for entity_id, text in reader.execute(statement, keys)
    }


def _edge_metadata(edges: Collection[Triple], reader: Reader) -> dict[Triple, Metadata]:
    asked = [edge for edge in edges if is_text("".join(edge))]
    return {
        (subject, predicate, obj): decode(text)
        for statement, keys in queries.chunks(asked, queries.edge_metadata)
        for subject, predicate, obj, text in reader.execute(
            statement, [name for key in keys for name in key]
        )
    }


def _provenance(entity_id: str, limit: int, reader: Reader) -> dict[str, Any]:
    total, items = 0, []
    values = {"id": entity_id, "limit": limit}
    rows = reader.execute(queries.PROVENANCE, values) if is_text(entity_id) else ()
    for subject, predicate, obj, touching, of_all, text in rows:
        total = of_all
        items += [
            item
            for item in evidence_items((subject, predicate, obj), decode(text))
            if touching or item["document_id"] == entity_id
        ]
    return {"total": total, "items": items[:limit]}
