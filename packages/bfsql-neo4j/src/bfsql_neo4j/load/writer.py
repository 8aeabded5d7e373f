"""Writes merged records into a database, batch by batch, with the indexes for reading it."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from neo4j import AsyncManagedTransaction, AsyncSession
from neo4j.exceptions import Neo4jError

from bfsql.loading import Staging
from bfsql_neo4j import index_queries, schema_queries
from bfsql_neo4j.cypher import quoted
from bfsql_neo4j.indexes import Index, fulltext_for_load, indexes, make, vectors_lacking
from bfsql_neo4j.load.rows import Batch, GraphRows
from bfsql_neo4j.settings import Neo4jSettings, for_all

# Relationships first, since deleting a hub together with them would be one huge transaction.
_DELETE_RELATIONSHIPS = "MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF $rows ROWS"
_DELETE_NODES = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF $rows ROWS"

T = TypeVar("T")


class GraphWriter:
    """Fills a database, and tracks the progress.

    Args:
        settings: Names of the properties and of the index.
    """

    def __init__(self, settings: Neo4jSettings) -> None:
        self._settings = settings
        self._deleting = self._under_way = self._wrote = False
        self._nodes = self._all_nodes = 0
        self._relationships = self._all_relationships = 0
        self._types: set[str] = set()

    @property
    def leftovers(self) -> str:
        """The content that a load leaves if it ends now, and advice on it."""
        if not (self._deleting or self._under_way or self._wrote):
            return "No node in it has been changed."
        more = ", and perhaps the batch that was being written" if self._under_way else ""
        before = "the previous graph may have been deleted, and " if self._deleting else ""
        return (
            f"The load is incomplete: {before}of the new graph, {self._nodes:,} of "
            f"{self._all_nodes:,} nodes and {self._relationships:,} relationships are in the "
            f"database{more}. Load again with --replace, which deletes them first."
        )

    async def write(
        self,
        session: AsyncSession,
        staging: Staging,
        rows: GraphRows,
        id_property: Mapping[str, str],
    ) -> None:
        """Write everything, the indexes of the ids first and that of the names last.

        Args:
            session: A session of a database whose content may be deleted.
            staging: All records.
            rows: The records as rows.
            id_property: For every label, the property that receives the ids.
        """
        self._all_nodes = staging.report.nodes
        self._all_relationships = await staging.run(rows.number_of_relationships)
        idle = await self._clear(session, id_property)
        made = [index_queries.create_range_index(*index) for index in id_property.items()]
        await make(session, self._settings, [*idle, *made])

        async def write_nodes(batch: Batch) -> None:
            pairs = await self._wait(
                session.execute_write(_create_nodes, batch, id_property[batch.name])
            )
            rows.note_written(pairs)
            self._nodes += len(pairs)
            staging.tell("writing", self._share())

        async def write_relationships(batch: Batch) -> None:
            await self._wait(session.execute_write(_create_relationships, batch))
            self._relationships += len(batch.rows)
            self._types.add(batch.name)
            staging.tell("writing", self._share())

        await staging.feed(rows.nodes(id_property.__getitem__), write_nodes)
        await staging.feed(rows.relationships(), write_relationships)
        made = await self._search_indexes(session, list(id_property))
        if staging.report.evidence:
            made.append(index_queries.create_evidence_index(sorted(self._types)))
        await make(session, self._settings, made)

    async def _wait(self, transaction: Awaitable[T]) -> T:
        """Wait for a transaction, which may have been committed even if it is cut off."""
        self._under_way = True
        try:
            result = await transaction
        except Neo4jError:
            self._under_way = False
            raise
        self._under_way, self._wrote = False, True
        return result

    def _share(self) -> float:
        """The share of the graph that is written; there is something to write."""
        done = self._nodes + self._relationships
        return done / (self._all_nodes + self._all_relationships)

    # --- what goes ------------------------------------------------------------

    async def _clear(self, session: AsyncSession, id_property: Mapping[str, str]) -> list[str]:
        """Delete the existing content; returns statements that drop indexes of an earlier load."""
        ((there,),) = await (await session.run(schema_queries.NODES)).values()
        if there:
            self._deleting = True
            for text in (_DELETE_RELATIONSHIPS, _DELETE_NODES):
                await (await session.run(text, rows=10_000)).consume()
        idle = [
            index_queries.drop_index(index.name)
            for index in await indexes(session)
            if index.name == self._settings.fulltext_index or self._is_idle(index, id_property)
        ]
        return [*idle, index_queries.drop_index(index_queries.EVIDENCE_INDEX)]

    def _is_idle(self, index: Index, id_property: Mapping[str, str]) -> bool:
        """Whether it is an index over ids for a label that no longer exists."""
        ids = {*for_all(self._settings.id_property), *id_property.values()}
        return (
            index.type == "RANGE"
            and not index.owned
            and len(index.properties) == 1
            and ids.issuperset(index.properties)
            and id_property.keys().isdisjoint(index.labels)
        )

    # --- indexes --------------------------------------------------------------

    async def _search_indexes(self, session: AsyncSession, labels: list[str]) -> list[str]:
        """The statements that create the indexes for searches by name and by meaning."""
        if not labels:
            return []
        made = await fulltext_for_load(session, self._settings, labels)
        return made + await vectors_lacking(session, self._settings, labels)


async def _create_nodes(
    tx: AsyncManagedTransaction, batch: Batch, id_property: str
) -> list[list[Any]]:
    """Number and element id of every node written."""
    text: Any = (
        f"UNWIND $rows AS row CREATE (n:{quoted(batch.name)}) "
        f"SET n = row[2], n.{quoted(id_property)} = row[1] RETURN row[0], elementId(n)"
    )
    return await (await tx.run(text, rows=batch.rows)).values()


async def _create_relationships(tx: AsyncManagedTransaction, batch: Batch) -> None:
    text: Any = (
        "UNWIND $rows AS row MATCH (a) WHERE elementId(a) = row[0] "
        "MATCH (b) WHERE elementId(b) = row[1] "
        f"CREATE (a)-[r:{quoted(batch.name)}]->(b) SET r = row[2]"
    )
    await (await tx.run(text, rows=batch.rows)).consume()
