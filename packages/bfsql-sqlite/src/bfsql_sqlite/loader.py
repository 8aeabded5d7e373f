"""Loads records into a graph file.

`bulk` reads tables if that makes the same graph. Otherwise core's staging merges the
records, after those of the graph to append to, if any; `staged_graph` writes the result.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

from bfsql.errors import LoadRefused, StoreError
from bfsql.loading import RefusalFilter
from bfsql.loading.intake import Worker
from bfsql.loading.staging import Staging
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.merge import UNTYPED
from bfsql.models.records import GraphRecord
from bfsql_sqlite.adjacency import Adjacency
from bfsql_sqlite.connection import read_only
from bfsql_sqlite.graph_file import Making, make_file
from bfsql_sqlite.packed_arrays import Damaged, cut
from bfsql_sqlite.settings import SqliteSettings
from bfsql_sqlite.staged_graph import write_graph
from bfsql_sqlite.target import Target

BATCH = 5_000
"""Edges whose metadata is read at a time."""

# `old` is the graph to append to; everything else is in the staging's own file. What was merged
# before is merged again if new records concern it.
_OLD = """
INSERT INTO node (n, id) SELECT n, id FROM old.node ORDER BY n;
INSERT INTO predicate (p, name) SELECT p, name FROM old.predicate ORDER BY p;
INSERT INTO described (n, type, metadata)
SELECT n, type.name, coalesce(metadata, '{}')
FROM old.node CROSS JOIN old.type USING (t) LEFT JOIN old.detail USING (n) ORDER BY n;
"""

_OLD_METADATA = "SELECT e, metadata FROM edge WHERE e BETWEEN ? AND ?"

# A name that an earlier load gave to nodes without a type yields to a type in a later record.
_UNTYPED = """
UPDATE described SET type = ''
WHERE type = :name AND d <= :last AND n IN (SELECT n FROM described WHERE d > :last)
"""


async def load_graph(
    settings: SqliteSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Make a file from records, or from the existing graph and records.

    The work runs in a thread; cancelling the call stops the thread, removes
    its files and leaves the old file unchanged.

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
    worker = Worker()

    def fill(making: Making) -> LoadReport:
        if isinstance(records, RefusalFilter) and records.tables:
            from bfsql_sqlite.bulk import write_tables  # and with it DuckDB

            report = write_tables(records, making, worker.stopped, options)
            if report is not None:
                return report
        with closing(Staging(making.folder, worker, options=options)) as staging:
            _take(staging, making.target, records, options)
            staging.merge_nodes()
            staging.merge_edges()
            staging.tell("writing", 0)
            write_graph(staging, making.graph, making.folder)
            return staging.report

    path = settings.path.expanduser()
    return await worker.run(lambda: make_file(path, options, fill, worker.stopped))


def _take(
    staging: Staging, target: Target, records: Iterable[GraphRecord], options: LoadOptions
) -> None:
    """Take the records of the graph to append to, if any, then the new ones."""
    name, last = options.default_type, 0
    if options.mode is LoadMode.APPEND:
        if target.header:
            name, last = _take_old(staging, target.path)
        staging.remove()
        if staging.report.not_there and not target.header:
            raise LoadRefused(
                f"Nothing was removed: there is no graph at {target.path}. Name the graph with "
                "--path, or leave out --remove."
            )
    staging.take(records)
    if name != options.default_type:
        staging.connection.execute(_UNTYPED, {"name": name, "last": last})


def _take_old(staging: Staging, path: Path) -> tuple[str, int]:
    """The graph's name for nodes without a type, and the number of its last description."""
    connection = staging.connection
    try:
        connection.execute("ATTACH ? AS old", (str(path),))
        connection.executescript(_OLD)
        untyped = "SELECT value FROM old.meta WHERE key = 'default_type'"
        (name,) = connection.execute(untyped).fetchone() or (UNTYPED,)
        (last,) = connection.execute("SELECT coalesce(max(d), 0) FROM described").fetchone()
        connection.execute("DETACH old")
        with closing(read_only(path)) as old:
            connection.executemany(
                "INSERT INTO edge (s, p, o, items, metadata) VALUES (?, ?, ?, ?, ?)",
                _old_edges(old),
            )
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        damaged = isinstance(error, Damaged)
        if not damaged and code not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise
        raise StoreError(
            f"{path} is damaged, so nothing can be added to it: {error}. Load the graph again "
            "from its sources with --replace."
        ) from error
    staging.renumber()
    return name, last


def _old_edges(old: sqlite3.Connection) -> Iterator[tuple[int, int, int, int, str]]:
    """Subject, predicate, object, items and metadata of every edge.

    Evidence is counted anew, since one of its documents may only now become a node: as in the
    staging, items are -1 if there may be some.
    """
    edges = Adjacency.of(old)
    numbers = count()
    for begin, ranges in zip(count(0, BATCH), cut(edges.leaving(old), BATCH), strict=False):
        ring = edges.ring(old, ranges)
        within = (begin, begin + BATCH - 1)
        metadata = dict(old.execute(_OLD_METADATA, within).fetchall())
        for subject, predicate, obj in zip(*(column.tolist() for column in ring), strict=True):
            data = metadata.get(next(numbers), "{}")
            yield subject, predicate, obj, -1 if '"provenance"' in data else 0, data
