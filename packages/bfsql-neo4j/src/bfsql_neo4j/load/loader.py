"""Loads a graph into a database: an empty one, or in place of the existing content.

All records are read and merged before anything is changed, so that a failing source changes
nothing. From then on a load is many transactions, since Neo4j cannot take a large graph in one.
A load that ends early leaves a part of the graph in the database, and the error states how much.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

from neo4j import AsyncSession

from bfsql.errors import StoreError
from bfsql.loading import Staging, check_graph, graph_is_there, reporting_leftovers, staged
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql_neo4j import schema_queries
from bfsql_neo4j.connection import DRIVER_ERRORS, address, open_driver, place, translate_error
from bfsql_neo4j.id_templates import id_template
from bfsql_neo4j.indexes import id_properties
from bfsql_neo4j.load.rows import PLAIN, GraphRows, check
from bfsql_neo4j.load.writer import GraphWriter
from bfsql_neo4j.settings import Neo4jSettings

# Node by node, since distinguishing all triples of a large graph at once would exhaust the memory.
_TRIPLES = (
    "MATCH (a) CALL (a) { MATCH (a)-[r]->(b) RETURN count(DISTINCT [type(r), elementId(b)]) AS n } "
    "RETURN sum(n)"
)


async def load_graph(
    settings: Neo4jSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Load the graph of these records into a database, and index it for reading.

    Cancelling the call stops the load. A note of the `CancelledError` says whether
    the database has changed by then, and describes its content.

    Args:
        settings: The database.
        records: Nodes, edges and evidence in any order. They are read once, in a
            thread; memory does not grow with their number.
        options: What happens to an existing graph, and to whatever is missing in the new one.

    Returns:
        A report of the records found and the graph made. Edges without both of their nodes are left
        out.

    Raises:
        LoadRefused: The database holds a graph that is not to be replaced, or the graph is not
            worth loading.
        StoreError: The database cannot be written; the message states its present content.
        StoreUnavailable: The server does not answer, or stopped answering.
    """
    writer = GraphWriter(settings)
    with reporting_leftovers(lambda: writer.leftovers):
        async with _session(settings) as session:
            await _check_empty(session, settings, options)
        async with staged(records, check=check, codec=PLAIN, options=options) as staging:
            rows = GraphRows(staging)
            await staging.run(lambda: _merge(staging))
            by_label = {label: _id_property(settings, label) for label in rows.labels()}
            await staging.run(lambda: _check_graph(staging, options))
            async with _session(settings) as session:
                await _check_empty(session, settings, options)
                await writer.write(session, staging, rows, by_label)
    staging.report.place = address(settings)
    return staging.report


def _merge(staging: Staging) -> None:
    staging.merge_nodes()
    staging.drop_dangling("predicate, subject, object")
    staging.find_passages()


async def _check_empty(
    session: AsyncSession, settings: Neo4jSettings, options: LoadOptions
) -> None:
    """Make sure that the database may be filled: before anything is read, and before it is written.

    Raises:
        LoadRefused: The database holds a graph that is not to be replaced.
    """
    ((nodes,),) = await (await session.run(schema_queries.NODES)).values()
    if nodes and options.mode is not LoadMode.REPLACE:
        ((edges,),) = await (await session.run(_TRIPLES)).values()
        raise graph_is_there(
            place(settings),
            nodes,
            edges,
            elsewhere="load into another database (--database) or server (--uri)",
        )


def _check_graph(staging: Staging, options: LoadOptions) -> None:
    """Make sure that the graph is worth loading, before anything is written.

    Raises:
        LoadRefused: The graph is not worth loading, and the options require it.
    """
    ((edges,),) = staging.connection.execute("SELECT EXISTS (SELECT 1 FROM edge)")
    check_graph(replace(staging.report, edges=edges), options)


def _id_property(settings: Neo4jSettings, label: str) -> str:
    """The property that receives the ids of a label's nodes."""
    names = id_properties(settings, label)
    if not names:
        raise StoreError(
            f"id_property has no property for the label {label!r}, so its nodes would have no "
            "ids. Add a property that applies to all labels, for instance --id-property "
            "entity_id."
        )
    if not id_template(names[0]).is_property:
        raise StoreError(
            f"The id of the label {label!r} is made by a template ({names[0]}), and a load has to "
            f"write it into one property: give --id-property {label}=entity_id."
        )
    return names[0]


@asynccontextmanager
async def _session(settings: Neo4jSettings) -> AsyncIterator[AsyncSession]:
    """A session for writing, with a sentence for any error of the driver that ends it."""
    try:
        async with (
            open_driver(settings) as driver,
            driver.session(database=settings.database) as session,
        ):
            yield session
    except DRIVER_ERRORS as error:
        raise translate_error(error, settings) from error
