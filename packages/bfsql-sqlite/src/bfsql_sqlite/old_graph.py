"""The graph in an existing file, as tables in DuckDB for an append, without what it removes."""
# ruff: noqa: S608 - what is put into these texts are names of tables

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np

from bfsql.errors import LoadRefused, StoreDamaged
from bfsql.loading.intake import EXAMPLES, accepted, name_of
from bfsql.models.load import MADE_TYPE, LoadOptions, LoadReport
from bfsql.models.merge import UNTYPED
from bfsql.models.records import EdgeRecord, GraphRecord, NodeRecord
from bfsql.models.valid_time import NO_TIME_KEYS
from bfsql_sqlite.adjacency import Adjacency
from bfsql_sqlite.bulk_graph import NodeTable
from bfsql_sqlite.connection import BROKEN, read_only, reason
from bfsql_sqlite.duckdb_tables import LongTexts, NodeRows, TextTable, insert, number
from bfsql_sqlite.graph_file import CHECK_EVERY
from bfsql_sqlite.packed_arrays import cut
from bfsql_sqlite.queries import name_keys, tables, time_keys, title_and_description
from bfsql_sqlite.target import Target

BATCH = 100_000
"""Edges that are in memory at a time."""

_NODES = """
SELECT id, type.name, coalesce(metadata, '{}')
FROM node CROSS JOIN type USING (t) LEFT JOIN detail USING (n) ORDER BY n
"""

# Evidence is merged and counted again, since one of its documents may only now become a node.
_METADATA = "SELECT cast(e AS TEXT), substr(metadata, 2, length(metadata) - 2) FROM edge ORDER BY e"

_TABLES = """
CREATE TABLE old_edge (e BIGINT, s INTEGER, p INTEGER, o INTEGER);
CREATE VIEW old_rows AS
SELECT a.c0 AS s, old_predicate.c0 AS p, b.c0 AS o, coalesce(old_metadata.c1, '') AS metadata
FROM old_edge JOIN old_id AS a ON a.rowid = s JOIN old_predicate ON old_predicate.rowid = p
JOIN old_id AS b ON b.rowid = o LEFT JOIN old_metadata ON old_metadata.c0::BIGINT = e;
CREATE VIEW old_predicate_name AS
SELECT c0 AS name FROM old_predicate WHERE rowid IN (SELECT p FROM old_edge);
"""

# An id that occurs only in edges is not a node, but its edges are removed.
_REMOVED = """
CREATE TABLE removed_edge AS
WITH n AS MATERIALIZED (SELECT rowid AS n FROM old_id WHERE c0 IN (SELECT c0 FROM named_node)),
triple AS MATERIALIZED (
    SELECT a.rowid AS s, p.rowid AS p, b.rowid AS o
    FROM named_edge AS e JOIN old_id AS a ON a.c0 = e.c0 JOIN old_predicate AS p ON p.c0 = e.c1
    JOIN old_id AS b ON b.c0 = e.c2
)
SELECT e, s, p, o FROM old_edge
WHERE s IN (SELECT n FROM n) OR o IN (SELECT n FROM n)
    OR (s, p, o) IN (SELECT (s, p, o) FROM triple);
CREATE TABLE removed_node AS SELECT c0 FROM old_node WHERE c0 IN (SELECT c0 FROM named_node);
CREATE TABLE missing AS
SELECT DISTINCT c0, NULL AS c1, NULL AS c2, 0 AS kind FROM named_node
WHERE c0 NOT IN (SELECT c0 FROM removed_node) AND c0 NOT IN (
    SELECT c0 FROM old_id
    WHERE rowid IN (SELECT s FROM removed_edge UNION ALL SELECT o FROM removed_edge)
)
UNION ALL
SELECT DISTINCT c0, c1, c2, 1 FROM named_edge WHERE (c0, c1, c2) NOT IN (
    SELECT (a.c0, p.c0, b.c0) FROM removed_edge AS e JOIN old_id AS a ON a.rowid = e.s
    JOIN old_predicate AS p ON p.rowid = e.p JOIN old_id AS b ON b.rowid = e.o
);
DELETE FROM old_node WHERE c0 IN (SELECT c0 FROM removed_node);
DELETE FROM old_edge WHERE e IN (SELECT e FROM removed_edge);
"""


class OldEdges:
    """The edges of the file, as a `bfsql_sqlite.bulk_graph.EdgeTable`."""

    rows = "old_rows"
    predicates = "old_predicate_name"

    def __init__(self) -> None:
        self.count = 0
        self.has_metadata = False


def damaged(path: Path, why: object) -> StoreDamaged:
    """The error for a file to which nothing can be added."""
    return StoreDamaged(
        f"{path} is damaged, so nothing can be added to it: {why}. Load the graph again from its "
        "sources with --replace."
    )


class OldGraph:
    """The graph in a file, or an empty one: its `nodes` and `edges`."""

    def __init__(
        self,
        target: Target,
        connection: duckdb.DuckDBPyConnection,
        long: LongTexts,
        stopped: Callable[[], bool],
    ) -> None:
        self.nodes = NodeRows("old_node", connection, long)
        self._shortened = long.shortened
        self.edges = OldEdges()
        self.name_keys: list[tuple[str, str]] = []
        self.tables: list[tuple[str, ...]] = []
        self.time_keys = NO_TIME_KEYS
        self.about = ("", "")
        self._untyped = ""
        self._target = target
        self._connection = connection
        self._stopped = stopped
        self._ids = TextTable("old_id", 1, connection)
        self._predicates = TextTable("old_predicate", 1, connection)
        self._metadata = TextTable("old_metadata", 2, connection)
        connection.execute(_TABLES)

    def read(self) -> None:
        """Read the file, if there is one.

        Raises:
            StoreError: The file is damaged.
            InterruptedError: The load was cancelled.
        """
        if not self._target.header:
            return
        try:
            with closing(read_only(self._target.path)) as old:
                old.set_progress_handler(self._stopped, CHECK_EVERY)
                untyped = "SELECT value FROM meta WHERE key = 'default_type'"
                (self._untyped,) = old.execute(untyped).fetchone() or (UNTYPED,)
                self.name_keys, self.time_keys = name_keys(old)[0], time_keys(old)
                self.tables, self.about = tables(old), title_and_description(old)
                nodes = old.execute(_NODES)
                self.nodes.fill((id_, name, self._shortened(text)) for id_, name, text in nodes)
                self._ids.fill(old.execute("SELECT id FROM node ORDER BY n"))
                self._predicates.fill(old.execute("SELECT name FROM predicate ORDER BY p"))
                metadata = old.execute(_METADATA)
                self._metadata.fill((e, self._shortened(text)) for e, text in metadata)
                self._fill_edges(old)
        except BROKEN as error:
            # Without a code: text that is not UTF-8, `Damaged`, or no error of SQLite
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in {0, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
                raise
            raise damaged(self._target.path, reason(error)) from error
        self.edges.has_metadata = self._metadata.count > 0

    def _fill_edges(self, old: sqlite3.Connection) -> None:
        edges, before = Adjacency.of(old), 0
        for ranges in cut(edges.leaving(old), BATCH):
            if self._stopped():
                raise InterruptedError
            s, p, o = edges.ring(old, ranges)
            numbers = np.arange(before, before + len(s), dtype=np.int64)
            insert(self._connection, "old_edge", {"e": numbers, "s": s, "p": p, "o": o})
            before += len(s)
        self.edges.count = before

    def remove(self, options: LoadOptions, report: LoadReport) -> None:
        """Remove the nodes and edges that the options name, nodes with all their edges.

        Raises:
            LoadRefused: There is no graph.
            Stopped: The load was cancelled.
            SourceError: A record was refused in strict mode.
        """
        nodes = TextTable("named_node", 1, self._connection)
        edges = TextTable("named_edge", 3, self._connection)

        def add(record: GraphRecord) -> None:
            match record:
                case NodeRecord(entity_id):
                    entity_id.encode()
                    nodes.add((entity_id,))
                case EdgeRecord(subject, predicate, obj):
                    f"{subject}{predicate}{obj}".encode()
                    edges.add((subject, predicate, obj))

        for _ in accepted(options.remove, add, report, self._stopped, strict=options.strict):
            pass
        nodes.flush()
        edges.flush()
        if not nodes.count + edges.count:
            return
        self._connection.execute(_REMOVED)
        report.removed_nodes = self._count("removed_node")
        report.removed_edges = self._count("removed_edge")
        report.not_there = self._count("missing")
        examples = self._connection.execute(
            "SELECT c0, c1, c2 FROM missing ORDER BY kind, c0, c1, c2 LIMIT ?", [EXAMPLES]
        )
        report.not_there_examples = [
            name_of(NodeRecord(one, "") if obj is None else EdgeRecord(one, predicate, obj))
            for one, predicate, obj in examples.fetchall()
        ]
        self.nodes.count -= report.removed_nodes
        self.edges.count -= report.removed_edges
        if report.not_there and not self._target.header:
            raise LoadRefused(
                f"Nothing was removed: there is no graph at {self._target.path}. Name the graph "
                "with --path, or leave out --remove."
            )

    def rename_untyped(self, options: LoadOptions, nodes: Sequence[NodeTable]) -> None:
        """Clear the types of nodes that had none in an earlier load, if new records describe them.

        Nothing changes if the earlier load had the same name for nodes without a type, or chose
        one that says what they are.
        """
        unchosen = {MADE_TYPE, UNTYPED} - {options.default_type}
        if self._untyped not in unchosen or not nodes:
            return
        ids = " UNION ALL ".join(f"SELECT id FROM {table.rows}" for table in nodes)
        self._connection.execute(
            f"UPDATE old_node SET c1 = '' WHERE c1 = ? AND c0 IN ({ids})", [self._untyped]
        )

    def _count(self, table: str) -> int:
        return number(self._connection, f"SELECT count(*) FROM {table}")
