"""Writes a graph into a database, in batches.

All records are read and merged before the first is written, so that a source
that breaks changes nothing. From then on a load is many transactions, since
Neo4j cannot take a large graph in one: what ends it early leaves a part of the
graph in the database, and the error states how much.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from neo4j import AsyncManagedTransaction, AsyncSession

from bfsql.errors import StoreError
from bfsql.loading import Staging, StagingError, staged
from bfsql.models.load import REPLACING, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql_neo4j import queries
from bfsql_neo4j.connection import (
    DRIVER_ERRORS,
    address,
    open_driver,
    place,
    translate_error,
    without_user,
)
from bfsql_neo4j.indexes import (
    EVIDENCE_INDEX,
    PATIENCE,
    Index,
    id_properties,
    indexes,
    make,
    property_keys,
    searched_properties,
    vectors_lacking,
)
from bfsql_neo4j.rows import PLAIN, Batch, GraphRows, check
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.values import DOCUMENTS

DELETED_AT_ONCE = 10_000
"""Relationships or nodes that one transaction deletes."""


async def load_graph(
    settings: Neo4jSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Fill a database with the graph of these records, and index it for reading.

    Cancelling the call stops it. A note of the `CancelledError` states what is in
    the database then, where that is not what was there before.

    Args:
        settings: The database. It has to be empty, unless `replace` names it: then
            everything in it is deleted first.
        records: Nodes, edges and evidence in any order. They are read once, in a
            thread; memory does not grow with their number.
        options: What becomes of a graph that is there, and of what is missing in the new one.

    Returns:
        What was found and made. Edges without both of their nodes are kept out.

    Raises:
        StoreError: The database is not empty or cannot be written; the sentence
            says what is in it now.
        StoreUnavailable: The server does not answer, or not any more.
    """
    writer = GraphWriter(settings)
    async with _session(settings, writer) as session:
        await _check(session, settings)
    try:
        async with staged(records, check=check, codec=PLAIN, options=options) as staging:
            await staging.run(lambda: _merge(staging))
            rows = GraphRows(staging)
            by_label = {label: _id_property(settings, label) for label in rows.labels()}
            async with _session(settings, writer) as session:
                await writer.write(session, staging, rows, by_label)
    except StagingError as error:
        raise StoreError(f"{error} {writer.left}") from error
    return staging.report


def _merge(staging: Staging) -> None:
    staging.merge_nodes()
    staging.drop_dangling("predicate, subject, object")
    staging.find_passages()


async def _check(session: AsyncSession, settings: Neo4jSettings) -> None:
    """Make sure that the database may be filled, before anything is read.

    Raises:
        StoreError: It holds a graph, and `replace` does not name it.
    """
    ((there,),) = await (await session.run(queries.NODES)).values()
    named, wanted = without_user(settings.replace or ""), address(settings)
    if there and named != wanted:
        other = f" It names {named!r}, which is not this one." if named else ""
        raise StoreError(
            f"{place(settings)} is not empty: it holds {there:,} nodes, and a load would mix two "
            f"graphs. Choose an empty database, or set replace (--replace {wanted}), which "
            f"deletes everything in this one first.{other}"
        )


def _id_property(settings: Neo4jSettings, label: str) -> str:
    """Where the ids of a label's nodes go: where they will be looked for first."""
    names = id_properties(settings, label)
    if not names:
        raise StoreError(
            f"id_property says nothing of the label {label!r}, so its nodes would have no ids. "
            "Add a property without a label to it, for instance --id-property entity_id."
        )
    return names[0]


@asynccontextmanager
async def _session(settings: Neo4jSettings, writer: GraphWriter) -> AsyncIterator[AsyncSession]:
    """A session for writing, with a sentence for whatever ends it."""
    try:
        async with (
            open_driver(settings) as driver,
            driver.session(database=settings.database) as session,
        ):
            yield session
    except StoreError as error:
        raise type(error)(f"{error} {writer.left}") from error
    except DRIVER_ERRORS as error:
        sentence = translate_error(error, settings)
        raise type(sentence)(f"{sentence} {writer.left}") from error
    except asyncio.CancelledError as cancelled:
        cancelled.add_note(writer.left)
        raise


class GraphWriter:
    """Fills a database, and knows how far it is.

    Args:
        settings: Names of the properties and of the index.
    """

    def __init__(self, settings: Neo4jSettings) -> None:
        self._settings = settings
        self._report = LoadReport()
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
        rows: GraphRows,
        id_property: Mapping[str, str],
    ) -> None:
        """Write everything, the indexes of the ids first and that of the names last.

        Args:
            session: Of a database whose content may go.
            staging: All records.
            rows: The same as rows.
            id_property: For every label the property that holds the id.
        """
        self._report = staging.report
        await self._clear(session, id_property)
        wanted = [queries.create_range_index(label, name) for label, name in id_property.items()]
        await make(session, self._settings, wanted)

        async def write_nodes(batch: Batch) -> None:
            pairs = await session.execute_write(_write_nodes, batch, id_property[batch.name])
            rows.note_written(pairs)
            self._nodes += len(pairs)

        async def write_relationships(batch: Batch) -> None:
            await session.execute_write(_write_relationships, batch)
            self._relationships += len(batch.rows)
            self._types.add(batch.name)

        await staging.feed(rows.nodes(id_property.__getitem__), write_nodes)
        await staging.feed(rows.relationships(), write_relationships)
        await self._make_searchable(session, list(id_property))
        await self._make_documents_findable(session)

    async def _clear(self, session: AsyncSession, id_property: Mapping[str, str]) -> None:
        """Delete what is there, and the indexes of a former load that are of no use."""
        ((there,),) = await (await session.run(queries.NODES)).values()
        if there:
            self._cleared = True
            for text in (queries.DELETE_RELATIONSHIPS, queries.DELETE_NODES):
                await (await session.run(text, rows=DELETED_AT_ONCE)).consume()
        idle = [
            queries.drop_index(index.name)
            for index in await indexes(session)
            if index.name == self._settings.fulltext_index or self._is_idle(index, id_property)
        ]
        await make(session, self._settings, [*idle, queries.drop_index(EVIDENCE_INDEX)])

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
            text = queries.create_fulltext_index(name, labels, properties)
            vectors = await vectors_lacking(session, self._settings, labels)
            await make(session, self._settings, [text, *vectors])

    async def _make_documents_findable(self, session: AsyncSession) -> None:
        if not self._report.evidence:
            return
        text: Any = queries.create_evidence_index(EVIDENCE_INDEX, sorted(self._types), DOCUMENTS)
        await (await session.run(text)).consume()
        filled = await session.run(queries.AWAIT_INDEX, index=EVIDENCE_INDEX, seconds=int(PATIENCE))
        await filled.consume()


async def _write_nodes(
    tx: AsyncManagedTransaction, batch: Batch, id_property: str
) -> list[list[Any]]:
    """Number and element id of every node written."""
    text: Any = queries.create_nodes(batch.name, id_property)
    return await (await tx.run(text, rows=batch.rows)).values()


async def _write_relationships(tx: AsyncManagedTransaction, batch: Batch) -> None:
    text: Any = queries.create_relationships(batch.name)
    await (await tx.run(text, rows=batch.rows)).consume()
