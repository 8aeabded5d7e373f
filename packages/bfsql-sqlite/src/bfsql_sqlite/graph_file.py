"""Makes a graph file completely, or not at all.

A load makes a new file in a folder of its own beside the target and then moves it
to the target's place in one step. A reader that has the old file open continues
with it, one that opens the path later reads the new file, and an interrupted load
changes nothing. The folder is named after the target, and one load at a time can own it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from bfsql.arrays import Handles, distinct_numbers
from bfsql.errors import StoreError
from bfsql.integers import NO_NODE
from bfsql.loading.folders import LOADS, working_folder
from bfsql.loading.intake import EXAMPLES, check_graph
from bfsql.loading.staging import PRAGMAS
from bfsql.models.load import LoadOptions, LoadReport
from bfsql_sqlite import edge_tables
from bfsql_sqlite.adjacency import Adjacency
from bfsql_sqlite.backend import SqliteBackend
from bfsql_sqlite.connection import APPLICATION_ID, LAYOUT, TABLES, check
from bfsql_sqlite.outline import to_text
from bfsql_sqlite.queries import tables
from bfsql_sqlite.search_index import index_names
from bfsql_sqlite.target import Target, explained, look, put

CHECK_EVERY = 100_000
"""Steps of SQLite's machine between two checks whether a load is cancelled."""


class SpillError(Exception):
    """A temporary file cannot be written."""


class Making(NamedTuple):
    """A graph file under construction."""

    graph: sqlite3.Connection
    """The file, with empty tables."""
    folder: Path
    """A folder for further files; it is removed at the end."""
    target: Target
    """The state of the place that the file will take."""


def make_file(
    path: Path,
    options: LoadOptions,
    fill: Callable[[Making], LoadReport],
    stopped: Callable[[], bool],
) -> LoadReport:
    """Make a graph file and put it in its place.

    Args:
        path: Its place. An existing file that is not a graph is never replaced.
        options: What happens to an existing graph.
        fill: Fills the tables `type`, `predicate`, `node`, `detail`, `entry`, `edge` and
            `evidence`, those of properties, and those of edges by `edge_tables.write_edges`; the
            other tables are filled from these.
            Its report is complete except for dangling edges, which only the whole graph shows.
        stopped: Whether the load is cancelled.

    Returns:
        The report of `fill`, completed.

    Raises:
        LoadRefused: A graph already exists, another load is writing the file, or the graph
            has no node.
        StoreError: The file cannot be written, or the existing file is not a graph.
    """
    with ExitStack() as stack:
        with explained(path):
            place = Path(os.path.realpath(path))  # a link remains a link
            folder = stack.enter_context(working_folder(place.parent, LOADS, place.name))
            target = look(place, options)
        made = folder / "graph.db"
        try:
            with closing(sqlite3.connect(made)) as graph:
                graph.executescript(PRAGMAS + TABLES)
                graph.set_progress_handler(stopped, CHECK_EVERY)
                report = fill(Making(graph, folder, target))
                _finish(graph, report, options)
            check_graph(report, options, keeps_dangling=True)
            asyncio.run(_add_outline(made))
            with explained(path):
                report.backup = put(made, target, options)
        except (sqlite3.Error, SpillError) as error:
            raise StoreError(
                f"{path} cannot be written: {error}. The previous content is unchanged."
            ) from error
        report.place = str(path)
        return report


def _finish(graph: sqlite3.Connection, report: LoadReport, options: LoadOptions) -> None:
    """Write the types, the search tables, and the mark of a complete file."""
    steps: tuple[Callable[[], object], ...] = (
        lambda: edge_tables.write_types(graph),
        lambda: index_names(graph),
        lambda: _count_dangling(graph, report),
    )
    for number, step in enumerate(steps):
        if options.progress:
            options.progress("writing", number / len(steps))
        step()
    meta = {
        "default_type": options.default_type,
        "nodes": str(report.nodes),
        "edges": str(report.edges),
        "load": uuid4().hex,
    }
    graph.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    graph.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    graph.execute(f"PRAGMA user_version = {LAYOUT}")
    graph.commit()


async def _add_outline(path: Path) -> None:
    """Count the graph in a complete file, and keep its outline there."""
    graph = await SqliteBackend.create(path=path, connections=1)
    try:
        outline = await graph.outline()
    finally:
        await graph.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        outline = replace(outline, tables=tables(file))
        text = to_text(outline, check(path).writes + 1)  # the next transaction's
        file.execute("INSERT INTO meta VALUES ('outline', ?)", (text,))


def _count_dangling(graph: sqlite3.Connection, report: LoadReport) -> None:
    """Count the edges with an end that is not a node, and record some of these ends."""
    edges = Adjacency.of(graph)
    handles = np.flatnonzero(edges.types(graph) == NO_NODE).astype(np.int32)
    missing, first = Handles(edges.nodes, handles), handles[:0]
    for read in edges.plan(graph, handles):
        ring = read(graph)
        report.dangling_edges += len(ring.subjects)
        ends = np.concatenate([ring.subjects, ring.objects])
        found = ends.compress(missing.has(ends))
        first = distinct_numbers(np.concatenate([first, found]))[:EXAMPLES]
    report.dangling_examples = [
        id_
        for handle in first.tolist()
        for (id_,) in graph.execute("SELECT id FROM node WHERE n = ?", (handle,))
    ]
