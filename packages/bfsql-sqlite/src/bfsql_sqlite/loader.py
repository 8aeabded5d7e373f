"""Loads records into a graph file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from json import JSONDecodeError

from bfsql.loading.intake import Worker
from bfsql.models.load import REPLACING, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql_sqlite.graph_file import Making, make_file
from bfsql_sqlite.settings import SqliteSettings


async def load_graph(
    settings: SqliteSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Make a file from records, or from the existing graph and records.

    The work runs in a thread; cancelling the call stops the thread, removes
    its files and leaves the old file unchanged. If the new file was already
    in its place, the cancellation has a note that says so.

    Args:
        settings: `path` is the file to make. An existing file that is not a graph is never
            replaced.
        records: Nodes, edges and evidence in any order. They are read once, in
            the thread; memory hardly grows with their number.
        options: What happens to an existing graph, and to whatever is missing in the new one.

    Returns:
        A report of the records found and the graph made.

    Raises:
        LoadRefused: A graph already exists, another load is writing the file, or the records
            make no graph.
        StoreError: The file cannot be written, or the existing file is not a graph.
    """
    worker, options = Worker(), replace(options, time_keys=settings.time_keys)

    def fill(making: Making) -> LoadReport:
        from bfsql_sqlite.bulk import write_graph  # and with it DuckDB
        from bfsql_sqlite.old_graph import damaged

        try:
            return write_graph(records, making, worker.stopped, options)
        except JSONDecodeError as error:  # of metadata that is already in the file
            raise damaged(settings.path, error) from error

    def make() -> None:
        done.append(make_file(settings.path.expanduser(), options, fill, worker.stopped))

    done: list[LoadReport] = []
    try:
        await worker.run(make)
    except asyncio.CancelledError as cancelled:
        if done:  # too late to stop it
            cancelled.add_note("The new graph is in place.")
        raise
    return done[0]
