"""Loads a graph into a database: into an empty one, in place of what is there, or added to it.

All records are read and merged before anything is changed, so that a source that breaks changes
nothing. From then on a load is many transactions, since Neo4j cannot take a large graph in one:
what ends it early leaves a part of the graph in the database, and the error states how much.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

from neo4j import AsyncSession

from bfsql.errors import LoadRefused, StoreError
from bfsql.loading import Staging, StagingError, check_graph, graph_is_there, staged
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql_neo4j import writes
from bfsql_neo4j.connection import (
    DRIVER_ERRORS,
    address,
    open_driver,
    place,
    translate_error,
)
from bfsql_neo4j.existing import Existing, schema_of
from bfsql_neo4j.indexes import id_properties
from bfsql_neo4j.rows import PLAIN, GraphRows, check
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.writer import GraphWriter


async def load_graph(
    settings: Neo4jSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Load the graph of these records into a database, and index it for reading.

    Cancelling the call stops it. A note of the `CancelledError` states what is in
    the database then, where that is not what was there before.

    Args:
        settings: The database.
        records: Nodes, edges and evidence in any order. They are read once, in a
            thread; memory does not grow with their number.
        options: What becomes of a graph that is there, and of what is missing in the new one.
            Of a graph that is added to, only what the records name is read and changed.

    Returns:
        What was found and made. Edges without both of their nodes are kept out.

    Raises:
        LoadRefused: The database holds a graph, and the mode is NEW; it has something that
            cannot be added to; or the graph is not worth loading.
        StoreError: The database cannot be written; the sentence says what is in it now.
        StoreUnavailable: The server does not answer, or not any more.
    """
    writer = GraphWriter(settings, options)
    async with _session(settings, writer) as session:
        await _check(session, settings, options)
    try:
        async with staged(records, check=check, codec=PLAIN, options=options) as staging:
            rows = GraphRows(staging)
            existing = None
            if options.mode is LoadMode.APPEND:
                async with _session(settings, writer) as session:
                    existing = await _existing(session, settings, staging, options)
            await staging.run(lambda: _merge(staging))
            by_label = {label: _id_properties(settings, label) for label in rows.labels()}
            async with _session(settings, writer) as session:
                size = await _check(session, settings, options)
                await staging.run(lambda: _check_graph(staging, size, options))
                await writer.write(session, staging, rows, by_label, existing)
    except StagingError as error:
        raise StoreError(f"{error} {writer.left}") from error
    staging.report.place = address(settings)
    return staging.report


def _merge(staging: Staging) -> None:
    staging.merge_nodes()
    staging.drop_dangling("predicate, subject, object")
    staging.find_passages()


async def _existing(
    session: AsyncSession, settings: Neo4jSettings, staging: Staging, options: LoadOptions
) -> Existing:
    """What is in the database of what the records name, put before them in the staging."""
    existing = Existing(staging, settings, await schema_of(settings))
    await staging.run(lambda: existing.take_removals(options.remove))
    await existing.read(session)
    return existing


async def _check(
    session: AsyncSession, settings: Neo4jSettings, options: LoadOptions
) -> tuple[int, int]:
    """Make sure that the database may be filled: before anything is read, and before it is written.

    Returns:
        How many nodes and relationships it holds.

    Raises:
        LoadRefused: It holds a graph that has to stay as it is.
    """
    ((nodes, relationships),) = await (await session.run(writes.SIZE)).values()
    if nodes and options.mode is LoadMode.NEW:
        ((edges,),) = await (await session.run(writes.TRIPLES)).values()
        raise graph_is_there(place(settings), nodes, edges)
    return nodes, relationships


def _check_graph(staging: Staging, size: tuple[int, int], options: LoadOptions) -> None:
    """Make sure that the graph is worth loading, before anything is written.

    Raises:
        LoadRefused: It is not, and the options want it to be.
    """
    report = staging.report
    ((edges,),) = staging.connection.execute("SELECT EXISTS (SELECT 1 FROM edge)")
    nodes, relationships = size if options.mode is LoadMode.APPEND else (0, 0)
    whole = replace(
        report,
        nodes=report.nodes + max(nodes - report.removed_nodes, 0),
        edges=edges + relationships,
    )
    check_graph(whole, options)


def _id_properties(settings: Neo4jSettings, label: str) -> list[str]:
    """Where the ids of a label's nodes are looked for; new ones go into the first."""
    names = id_properties(settings, label)
    if not names:
        raise StoreError(
            f"id_property has no property for the label {label!r}, so its nodes would have no "
            "ids. Add a property that applies to all labels, for instance --id-property "
            "entity_id."
        )
    return names


@asynccontextmanager
async def _session(settings: Neo4jSettings, writer: GraphWriter) -> AsyncIterator[AsyncSession]:
    """A session for writing, with a sentence for whatever ends it."""
    try:
        async with (
            open_driver(settings) as driver,
            driver.session(database=settings.database) as session,
        ):
            yield session
    except LoadRefused:
        raise
    except StoreError as error:
        raise type(error)(f"{error} {writer.left}") from error
    except DRIVER_ERRORS as error:
        sentence = translate_error(error, settings)
        raise type(sentence)(f"{sentence} {writer.left}") from error
    except asyncio.CancelledError as cancelled:
        cancelled.add_note(writer.left)
        raise
