"""Loads a graph into a store: an empty one, or in place of the existing content.

All records are read and merged before anything is changed, so that a failing source changes
nothing. From then on a load is many requests, each of which is a transaction where the engine has
them. A load that ends early leaves a part of the graph in the store, and the error states how much.
"""

from __future__ import annotations

from collections.abc import Iterable

from bfsql.errors import StoreError
from bfsql.loading import check_graph, graph_is_there, reporting_leftovers, staged
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client, place
from bfsql_gremlin.discovery import janusgraph
from bfsql_gremlin.load.rows import GraphRows, Names
from bfsql_gremlin.load.writer import GraphWriter
from bfsql_gremlin.settings import OWN_ID, GremlinSettings


async def load_graph(
    settings: GremlinSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Load the graph of these records into a store, and index it for reading if it is JanusGraph.

    Cancelling the call stops the load. If the store has changed by then, a
    note of the `CancelledError` describes its content.

    Args:
        settings: The servers.
        records: Nodes, edges and evidence in any order. They are read once, in a
            thread; memory does not grow with their number.
        options: What happens to an existing graph, and to whatever is missing in the new one.

    Returns:
        A report of the records found and the graph made. Edges without both of their nodes are left
        out.

    Raises:
        LoadRefused: The store holds a graph that is not to be replaced, or the graph is not
            worth loading.
        StoreError: The store cannot be written; the message states its present content.
        StoreUnavailable: No server answers, or they stopped answering.
    """
    if settings.id_property == OWN_ID:
        raise StoreError(
            "A load writes ids into a property, and the engine chooses its own ids by itself. Name "
            "a property with --id-property, for instance entity_id."
        )
    client = Client(settings)
    writer = GraphWriter(client)
    try:
        with reporting_leftovers(lambda: writer.leftovers):
            return await _load(writer, records, options)
    finally:
        await client.close()


async def _load(
    writer: GraphWriter, records: Iterable[GraphRecord], options: LoadOptions
) -> LoadReport:
    client, settings = writer.client, writer.client.settings
    try:
        await _check_empty(client, options)
        names = Names(settings, await janusgraph(client))
        async with staged(records, check=names.check, options=options) as staging:
            await staging.run(staging.merge)
            check_graph(staging.report, options)
            rows = GraphRows(staging, names)
            await staging.run(rows.find_kinds)
            await _check_empty(client, options)
            await writer.write(staging, rows)
    except TimeoutError as error:
        raise StoreError(
            f"{place(settings)} did not write a batch in time. Raise --query-timeout."
        ) from error
    staging.report.place = place(settings).removeprefix("The Gremlin server at ")
    return staging.report


async def _check_empty(client: Client, options: LoadOptions) -> None:
    """Make sure that the store may be filled: before anything is read, and before it is written.

    Raises:
        LoadRefused: The store holds a graph that is not to be replaced.
    """
    if options.mode is LoadMode.REPLACE or not await client.rows(
        queries.source().V().limit(1).id_()
    ):
        return
    [nodes] = await client.rows(queries.source().V().count())
    [edges] = await client.rows(queries.source().E().count())
    raise graph_is_there(
        place(client.settings), nodes, edges, elsewhere="load into another graph (--uri)"
    )
