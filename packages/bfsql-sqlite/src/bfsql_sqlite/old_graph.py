"""The graph in an existing file, as tables in DuckDB for an append."""
# ruff: noqa: S608 - what is put into these texts are names of tables

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np

from bfsql.models.load import LoadOptions
from bfsql.models.merge import UNTYPED
from bfsql_sqlite.adjacency import Adjacency
from bfsql_sqlite.bulk_table import read_csv
from bfsql_sqlite.connection import read_only
from bfsql_sqlite.csv_normalise import NeedsRecordReader
from bfsql_sqlite.packed_arrays import cut
from bfsql_sqlite.record_table import NodeRows, write_rows

BATCH = 100_000
"""Edges that are in memory at a time."""

_NODES = """
SELECT id, type.name, coalesce(metadata, '{}')
FROM node CROSS JOIN type USING (t) LEFT JOIN detail USING (n) ORDER BY n
"""

_EDGES = """
CREATE VIEW old_rows AS
SELECT a.c0 AS s, old_predicate.c0 AS p, b.c0 AS o, coalesce(old_metadata.c1, '') AS metadata
FROM old_edge JOIN old_id AS a ON a.rowid = s JOIN old_predicate ON old_predicate.rowid = p
JOIN old_id AS b ON b.rowid = o LEFT JOIN old_metadata ON old_metadata.c0::BIGINT = e
"""


class OldEdges:
    """The edges of the file, as a `bfsql_sqlite.bulk_graph.EdgeTable`."""

    rows = "old_rows"
    predicates = "old_predicate_name"

    def __init__(self, count: int, *, has_metadata: bool) -> None:
        self.count = count
        self.has_metadata = has_metadata


EVIDENCE = "the graph that it is added to has evidence"


class OldGraph:
    """The graph in a file.

    Args:
        path: The file.
        folder: The folder for temporary files.
        connection: To DuckDB.
        stopped: Whether the load is cancelled.
    """

    def __init__(
        self,
        path: Path,
        folder: Path,
        connection: duckdb.DuckDBPyConnection,
        stopped: Callable[[], bool],
    ) -> None:
        self.nodes = NodeRows("old_node", folder / "old_node.csv", connection)
        self.edges = OldEdges(0, has_metadata=False)
        self._path = path
        self._folder = folder
        self._connection = connection
        self._stopped = stopped

    def read(self, options: LoadOptions) -> None:
        """Read the file.

        Args:
            options: Options of the load.

        Raises:
            NotPlain: The graph can only be appended to record by record: it has evidence, uses
                another name for nodes without a type, or is damaged.
            InterruptedError: The load was cancelled.
            OSError: The disk is full.
        """
        try:
            with closing(read_only(self._path)) as old:
                _check(old, options)
                self.nodes.fill(old.execute(_NODES))
                self._fill("old_id", 1, old.execute("SELECT id FROM node ORDER BY n"))
                self._fill("old_predicate", 1, old.execute("SELECT name FROM predicate ORDER BY p"))
                details = self._fill("old_metadata", 2, _metadata(old))
                count = self._fill_edges(old)
        except (sqlite3.Error, UnicodeError) as error:
            raise NeedsRecordReader("the graph that it is added to cannot be read") from error
        self._connection.execute(_EDGES)
        self._connection.execute(
            "CREATE VIEW old_predicate_name AS SELECT c0 AS name FROM old_predicate"
        )
        self.edges = OldEdges(count, has_metadata=details > 0)

    def _fill(self, name: str, width: int, rows: Iterator[tuple[str, ...]]) -> int:
        path = self._folder / f"{name}.csv"
        count = write_rows(path, rows)
        self._connection.execute(
            f"CREATE TABLE {name} AS SELECT * FROM {read_csv(path, width, ',')}"
        )
        path.unlink()
        return count

    def _fill_edges(self, old: sqlite3.Connection) -> int:
        run = self._connection.execute
        run("CREATE TABLE old_edge (e BIGINT, s INTEGER, p INTEGER, o INTEGER)")
        edges, before = Adjacency.of(old), 0
        for ranges in cut(edges.leaving(old), BATCH):
            if self._stopped():
                raise InterruptedError
            s, p, o = edges.ring(old, ranges)
            numbers = np.arange(before, before + len(s), dtype=np.int64)
            self._connection.register("chunk", {"e": numbers, "s": s, "p": p, "o": o})
            run("INSERT INTO old_edge SELECT e, s, p, o FROM chunk")
            self._connection.unregister("chunk")
            before += len(s)
        return before


def _check(old: sqlite3.Connection, options: LoadOptions) -> None:
    """Check that DuckDB can merge new records with the existing ones correctly."""
    (evidence,) = old.execute("SELECT EXISTS (SELECT 1 FROM evidence)").fetchone()
    untyped = "SELECT value FROM meta WHERE key = 'default_type'"
    (name,) = old.execute(untyped).fetchone() or (UNTYPED,)
    if evidence:
        raise NeedsRecordReader(EVIDENCE)
    if name != options.default_type:
        raise NeedsRecordReader(
            "the graph that it is added to calls nodes without a type otherwise"
        )


def _metadata(old: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """The number of each edge that has metadata, and the fields of its JSON object."""
    for number, text in old.execute("SELECT e, metadata FROM edge ORDER BY e"):
        if '"provenance"' in text:
            raise NeedsRecordReader(EVIDENCE)
        yield str(number), text[1:-1]
