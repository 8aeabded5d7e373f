"""The second half of a load: what is merged goes into the database, batch by batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from neo4j import AsyncManagedTransaction, AsyncSession

from bfsql.models.records import LoadReport
from bfsql_neo4j.indexes import (
    EVIDENCE_INDEX,
    PATIENCE,
    Index,
    indexes,
    make,
    property_keys,
    searched_properties,
    vectors_lacking,
)
from bfsql_neo4j.queries import indexing, loading
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.staging import Batch, Staging
from bfsql_neo4j.stored import DOCUMENTS

DELETED_AT_ONCE = 10_000
"""Relationships or nodes that one transaction deletes."""

T = TypeVar("T")
InThread = Callable[[Callable[[], T]], Awaitable[T]]


class Writing:
    """Fills a database from a staging file, and knows how far it is.

    Args:
        settings: Names of the properties and of the index.
        report: What is to be written.
    """

    def __init__(self, settings: Neo4jSettings, report: LoadReport) -> None:
        self._settings = settings
        self._report = report
        self._cleared = False
        self._nodes = 0
        self._relationships = 0
        self._types: set[str] = set()

    @property
    def left(self) -> str:
        """What a load that ends now leaves, and what to do about it."""
        if not self._cleared and not self._nodes:
            return "No node in it was changed."
        before = "what was there before may be gone, and " if self._cleared else ""
        return (
            f"The load is not whole: {before}of the new graph {self._nodes:,} of "
            f"{self._report.nodes:,} nodes and {self._relationships:,} relationships are in the "
            "database. Load again with the setting replace, which deletes them first."
        )

    async def write(
        self,
        session: AsyncSession,
        staging: Staging,
        id_property: Mapping[str, str],
        in_thread: InThread[Any],
    ) -> None:
        """Write everything, the indexes of the ids first and that of the names last.

        Args:
            session: Of a database whose content may go.
            staging: All records.
            id_property: For every label the property that holds the id.
            in_thread: Runs what waits for a disk.
        """
        await self._clear(session, id_property)
        wanted = [indexing.create_range_index(label, name) for label, name in id_property.items()]
        await make(session, self._settings, wanted)
        ahead = partial(_ahead, staging, in_thread)
        async for batch in ahead(staging.node_batches(id_property.__getitem__)):
            pairs = await session.execute_write(_write_nodes, batch, id_property[batch.name])
            await in_thread(partial(staging.note_written, pairs))
            self._nodes += len(pairs)
        async for batch in ahead(staging.edge_batches()):
            await session.execute_write(_write_relationships, batch)
            self._relationships += len(batch.rows)
            self._types.add(batch.name)
        await self._make_searchable(session, list(id_property))
        await self._make_documents_findable(session)

    async def _clear(self, session: AsyncSession, id_property: Mapping[str, str]) -> None:
        """Delete what is there, and the indexes of a former load that are of no use."""
        ((there,),) = await (await session.run(loading.COUNT)).values()
        if there:
            self._cleared = True
            for text in (loading.DELETE_RELATIONSHIPS, loading.DELETE_NODES):
                await (await session.run(text, rows=DELETED_AT_ONCE)).consume()
        idle = [
            indexing.drop_index(index.name)
            for index in await indexes(session)
            if index.name == self._settings.fulltext_index or self._is_idle(index, id_property)
        ]
        await make(session, self._settings, [*idle, indexing.drop_index(EVIDENCE_INDEX)])

    def _is_idle(self, index: Index, id_property: Mapping[str, str]) -> bool:
        """Whether it finds ids, of a label that is no more."""
        ids = {*self._settings.common_id_properties, *id_property.values()}
        return (
            index.type == "RANGE"
            and not index.owned
            and len(index.properties) == 1
            and ids.issuperset(index.properties)
            and id_property.keys().isdisjoint(index.labels)
        )

    async def _make_searchable(self, session: AsyncSession, labels: list[str]) -> None:
        keys = await property_keys(session)
        properties = searched_properties(self._settings, labels, keys)
        if labels and properties:
            name = self._settings.fulltext_index
            text = indexing.create_fulltext_index(name, labels, properties)
            vectors = await vectors_lacking(session, self._settings, labels)
            await make(session, self._settings, [text, *vectors])

    async def _make_documents_findable(self, session: AsyncSession) -> None:
        if not self._report.evidence:
            return
        text: Any = indexing.create_evidence_index(EVIDENCE_INDEX, sorted(self._types), DOCUMENTS)
        await (await session.run(text)).consume()
        filled = await session.run(
            indexing.AWAIT_INDEX, index=EVIDENCE_INDEX, seconds=int(PATIENCE)
        )
        await filled.consume()


async def _write_nodes(
    tx: AsyncManagedTransaction, batch: Batch, id_property: str
) -> list[list[Any]]:
    """Number and element id of every node written."""
    text: Any = loading.create_nodes(batch.name, id_property)
    return await (await tx.run(text, rows=batch.rows)).values()


async def _write_relationships(tx: AsyncManagedTransaction, batch: Batch) -> None:
    text: Any = loading.create_relationships(batch.name)
    await (await tx.run(text, rows=batch.rows)).consume()


async def _ahead(
    staging: Staging, in_thread: InThread[Any], batches: Iterator[Batch]
) -> AsyncIterator[Batch]:
    """The batches, each made while the one before is being written."""

    def begin() -> asyncio.Future[Batch | None]:
        return asyncio.ensure_future(in_thread(partial(staging.next_of, batches)))

    coming = begin()
    try:
        while (batch := await coming) is not None:
            coming = begin()
            yield batch
    finally:
        coming.cancel()
        await asyncio.wait([coming])
