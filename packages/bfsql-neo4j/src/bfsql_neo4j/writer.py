"""Writes merged records into a database, batch by batch, with the indexes for reading it."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from neo4j import AsyncManagedTransaction, AsyncSession
from neo4j.exceptions import Neo4jError

from bfsql.loading import Staging
from bfsql.models.load import LoadMode, LoadOptions, LoadReport
from bfsql.models.merge import evidence_items
from bfsql_neo4j import index_queries, queries, writes
from bfsql_neo4j.existing import Existing
from bfsql_neo4j.indexes import (
    EVIDENCE_INDEX,
    PATIENCE,
    Index,
    evidence_for_load,
    fulltext_for_load,
    indexes,
    make,
    vectors_lacking,
)
from bfsql_neo4j.rows import Batch, Change, GraphRows
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.values import SUFFIX, edge_metadata

DELETED_AT_ONCE = 10_000
"""Relationships or nodes deleted by one transaction."""
_EVIDENCE_KEYS = ["provenance", "provenance" + SUFFIX]


T = TypeVar("T")


class GraphWriter:
    """Fills a database, and tracks the progress.

    Args:
        settings: Names of the properties and of the index.
        options: Whether to delete the existing content, and the callback for progress.
    """

    def __init__(self, settings: Neo4jSettings, options: LoadOptions) -> None:
        self._settings = settings
        self._options = options
        self._appends = options.mode is LoadMode.APPEND
        self._report = LoadReport()
        self._deleting = self._under_way = self._wrote = False
        self._nodes = self._all_nodes = 0
        self._relationships = self._all_relationships = 0
        self._types: set[str] = set()

    @property
    def left(self) -> str:
        """The content that a load leaves if it ends now, and advice on it."""
        if not (self._deleting or self._under_way or self._wrote):
            return "No node in it has been changed."
        more = ", and perhaps the batch that was being written" if self._under_way else ""
        written = (
            f"{self._nodes:,} of {self._all_nodes:,} nodes and {self._relationships:,} "
            f"relationships are in the database{more}."
        )
        if not self._appends:
            before = "the previous graph may have been deleted, and " if self._deleting else ""
            return (
                f"The load is incomplete: {before}of the new graph, {written} Load again with "
                "--replace, which deletes them first."
            )
        gone = "What was to be removed may have been removed. " if self._deleting else ""
        return (
            f"The load is incomplete: of what was to be added, {written} {gone}Everything else in "
            "the database is unchanged. To add the rest, run the same load with --append again; "
            "relationships that are already there are then counted twice in multiplicity and "
            "confidences. For exact counts, load all sources with --replace."
        )

    async def write(
        self,
        session: AsyncSession,
        staging: Staging,
        rows: GraphRows,
        id_properties: Mapping[str, Sequence[str]],
        existing: Existing | None,
    ) -> None:
        """Write everything, the indexes of the ids first and that of the names last.

        Args:
            session: A session of a database whose content may be deleted, unless `existing` is
                given.
            staging: All records.
            rows: The records as rows.
            id_properties: For every label, the properties that may hold the id, best first.
            existing: The existing content to extend or remove.
        """
        self._report = staging.report
        self._all_nodes, self._all_relationships = await staging.run(rows.number)
        id_property = {label: names[0] for label, names in id_properties.items()}
        changes: list[str] = []
        if existing is None:
            changes += await self._clear(session, id_property)
        else:
            await self._remove(session, staging, existing)
        changes += [
            index_queries.create_range_index(label, name) for label, name in id_property.items()
        ]
        await make(session, self._settings, changes)

        async def write_nodes(batch: Batch) -> None:
            pairs = await self._wait(
                session.execute_write(_create_nodes, batch, id_property[batch.name])
            )
            rows.note_written(pairs)
            self._nodes += len(pairs)
            self._tell()

        async def change_nodes(change: Change) -> None:
            await self._wait(session.execute_write(_change_nodes, change))
            self._nodes += len(change.rows)
            self._tell()

        async def write_relationships(batch: Batch) -> None:
            written = await self._wait(session.execute_write(_write_relationships, batch))
            self._relationships += written
            self._types.add(batch.name)
            self._tell()

        await staging.feed(rows.nodes(id_property.__getitem__), write_nodes)
        await staging.feed(rows.changed_nodes(id_properties.__getitem__), change_nodes)
        await staging.feed(rows.relationships(), write_relationships)
        await self._make_searchable(session, list(id_property))
        await self._make_documents_findable(session)
        if existing is not None:
            await self._count(session)

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

    def _tell(self) -> None:
        if self._options.progress:
            done = self._nodes + self._relationships
            of = self._all_nodes + self._all_relationships
            self._options.progress("writing", done / of if of else 1.0)

    # --- what goes ------------------------------------------------------------

    async def _clear(self, session: AsyncSession, id_property: Mapping[str, str]) -> list[str]:
        """Delete the existing content; returns statements that drop indexes of an earlier load."""
        ((there,),) = await (await session.run(queries.NODES)).values()
        if there:
            self._deleting = True
            for text in (writes.DELETE_RELATIONSHIPS, writes.DELETE_NODES):
                await (await session.run(text, rows=DELETED_AT_ONCE)).consume()
        idle = [
            index_queries.drop_index(index.name)
            for index in await indexes(session)
            if index.name == self._settings.fulltext_index or self._is_idle(index, id_property)
        ]
        return [*idle, index_queries.drop_index(EVIDENCE_INDEX)]

    def _is_idle(self, index: Index, id_property: Mapping[str, str]) -> bool:
        """Whether it is an index over ids for a label that no longer exists."""
        ids = {*self._settings.common_id_properties, *id_property.values()}
        return (
            index.type == "RANGE"
            and not index.owned
            and len(index.properties) == 1
            and ids.issuperset(index.properties)
            and id_property.keys().isdisjoint(index.labels)
        )

    async def _remove(self, session: AsyncSession, staging: Staging, existing: Existing) -> None:
        """Delete the nodes and edges to remove; counts the edges of removed nodes."""

        async def delete(text: Any, elements: list[str]) -> None:
            self._deleting = True
            result = await session.run(text, elements=elements, rows=DELETED_AT_ONCE)
            await result.consume()

        async def delete_relationships(elements: list[str]) -> None:
            await delete(writes.DELETE_NAMED_RELATIONSHIPS, elements)

        async def delete_nodes(elements: list[str]) -> None:
            result = await session.run(writes.TRIPLES_OF_NODES, elements=elements)
            ((triples,),) = await result.values()
            self._report.removed_edges += triples
            await delete(writes.DELETE_RELATIONSHIPS_OF_NODES, elements)
            await delete(writes.DELETE_NAMED_NODES, elements)

        await staging.feed(existing.relationships_to_go(), delete_relationships)
        await staging.feed(existing.nodes_to_go(), delete_nodes)

    # --- indexes --------------------------------------------------------------

    async def _make_searchable(self, session: AsyncSession, labels: list[str]) -> None:
        lacks = await fulltext_for_load(session, self._settings, labels, appends=self._appends)
        if labels:
            lacks += await vectors_lacking(session, self._settings, labels)
        await make(session, self._settings, lacks)

    async def _make_documents_findable(self, session: AsyncSession) -> None:
        if not self._report.evidence:
            return
        for text in await evidence_for_load(session, self._types):
            query: Any = text
            await (await session.run(query)).consume()
        filled = await session.run(
            index_queries.AWAIT_INDEX, index=EVIDENCE_INDEX, seconds=int(PATIENCE)
        )
        await filled.consume()

    # --- what is there in the end ---------------------------------------------

    async def _count(self, session: AsyncSession) -> None:
        """Count the content of the database, of which the load has seen only a part."""
        report = self._report
        ((report.nodes, _),) = await (await session.run(writes.SIZE)).values()
        ((report.edges,),) = await (await session.run(writes.TRIPLES)).values()
        report.evidence = 0
        async for record in await session.run(writes.EVIDENCE, keys=_EVIDENCE_KEYS):
            several = [
                {key: v for key, v in zip(_EVIDENCE_KEYS, values, strict=True) if v is not None}
                for values in record["found"]
            ]
            report.evidence += len(evidence_items(("", "", ""), edge_metadata(several)))


async def _create_nodes(
    tx: AsyncManagedTransaction, batch: Batch, id_property: str
) -> list[list[Any]]:
    """Number and element id of every node written."""
    text: Any = writes.create_nodes(batch.name, id_property)
    return await (await tx.run(text, rows=batch.rows)).values()


async def _change_nodes(tx: AsyncManagedTransaction, change: Change) -> None:
    text: Any = writes.change_nodes(change.label, change.new_label, change.held, change.id_property)
    await (await tx.run(text, rows=change.rows)).consume()


async def _write_relationships(tx: AsyncManagedTransaction, batch: Batch) -> int:
    """The number of new relationships."""
    new = [row for row in batch.rows if len(row) == 3]  # noqa: PLR2004 - with both ends
    changed = [row for row in batch.rows if len(row) != 3]  # noqa: PLR2004
    create: Any = writes.create_relationships(batch.name)
    for text, rows in ((create, new), (writes.CHANGE_RELATIONSHIPS, changed)):
        if rows:
            await (await tx.run(text, rows=rows)).consume()
    return len(new)
