"""Removes nodes and edges from a staging area, after the old records and before the new ones.

The nodes and edges to remove are stored in the staging file, and compared there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from bfsql.loading.intake import EXAMPLES, accepted, name_of
from bfsql.loading.statements import BATCH
from bfsql.models.load import LoadReport
from bfsql.models.records import EdgeRecord, GraphRecord, NodeRecord

if TYPE_CHECKING:
    import sqlite3

_ASKED = """
CREATE TABLE asked_node (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE asked_edge (
    subject TEXT, predicate TEXT, object TEXT, PRIMARY KEY (subject, predicate, object)
) WITHOUT ROWID;
"""

# An id that occurs only in edges is not a node, but its edges are removed.
_FOUND = """
CREATE TABLE asked_n (n INTEGER PRIMARY KEY);
INSERT INTO asked_n SELECT n FROM asked_node CROSS JOIN node USING (id);
CREATE TABLE asked_triple (s, p, o, PRIMARY KEY (s, p, o)) WITHOUT ROWID;
INSERT INTO asked_triple
SELECT a.n, p, b.n FROM asked_edge CROSS JOIN node AS a ON a.id = subject
CROSS JOIN predicate ON predicate.name = asked_edge.predicate
CROSS JOIN node AS b ON b.id = object;
CREATE TABLE gone_edge (s, p, o, PRIMARY KEY (s, p, o)) WITHOUT ROWID;
INSERT OR IGNORE INTO gone_edge SELECT s, p, o FROM edge
WHERE s IN (SELECT n FROM asked_n) OR o IN (SELECT n FROM asked_n)
    OR (s, p, o) IN (SELECT s, p, o FROM asked_triple);
CREATE TABLE gone_node (n INTEGER PRIMARY KEY);
INSERT OR IGNORE INTO gone_node SELECT n FROM described WHERE n IN (SELECT n FROM asked_n);
CREATE TABLE gone_end (n INTEGER PRIMARY KEY);
INSERT OR IGNORE INTO gone_end SELECT s FROM gone_edge;
INSERT OR IGNORE INTO gone_end SELECT o FROM gone_edge;
"""

_NOT_THERE = """
SELECT id, NULL, NULL FROM asked_node LEFT JOIN node USING (id)
WHERE n IS NULL OR (
    n NOT IN (SELECT n FROM gone_node) AND n NOT IN (SELECT n FROM gone_end)
)
UNION ALL
SELECT subject, asked_edge.predicate, object FROM asked_edge
LEFT JOIN node AS a ON a.id = subject
LEFT JOIN predicate ON predicate.name = asked_edge.predicate
LEFT JOIN node AS b ON b.id = object
LEFT JOIN gone_edge ON s = a.n AND gone_edge.p = predicate.p AND o = b.n
WHERE s IS NULL
"""

# Nothing of it remains in free pages of the file.
_DELETE = """
PRAGMA secure_delete = ON;
DELETE FROM described WHERE n IN (SELECT n FROM gone_node);
DELETE FROM edge WHERE (s, p, o) IN (SELECT s, p, o FROM gone_edge);
DELETE FROM evidence WHERE subject IN (SELECT id FROM asked_node)
    OR object IN (SELECT id FROM asked_node)
    OR (subject, predicate, object) IN (SELECT subject, predicate, object FROM asked_edge);
INSERT OR IGNORE INTO gone_end SELECT n FROM gone_node;
DELETE FROM node WHERE n IN (SELECT n FROM gone_end) AND n NOT IN (SELECT n FROM described)
    AND n NOT IN (SELECT s FROM edge) AND n NOT IN (SELECT o FROM edge);
DELETE FROM predicate WHERE p IN (SELECT p FROM gone_edge) AND p NOT IN (SELECT p FROM edge);
DROP TABLE asked_node; DROP TABLE asked_edge; DROP TABLE asked_n; DROP TABLE asked_triple;
DROP TABLE gone_edge; DROP TABLE gone_node; DROP TABLE gone_end;
"""


def remove(
    connection: sqlite3.Connection,
    records: Iterable[GraphRecord],
    report: LoadReport,
    stopped: Callable[[], bool],
    *,
    strict: bool,
) -> None:
    """Delete the nodes and edges of these records from a staging area, nodes with all their edges.

    Ids and predicates that are no longer used are removed as well.

    Args:
        connection: Of the staging.
        records: Nodes by their ids, edges by their triples; evidence names nothing.
        report: Where it is counted.
        stopped: Whether the load is cancelled.
        strict: Whether a record that is refused ends the load.
    """
    nodes: list[tuple[str]] = []
    edges: list[tuple[str, str, str]] = []

    def take(record: GraphRecord) -> None:
        match record:
            case NodeRecord(entity_id):
                entity_id.encode()
                nodes.append((entity_id,))
            case EdgeRecord(subject, predicate, obj):
                f"{subject}{predicate}{obj}".encode()
                edges.append((subject, predicate, obj))

    def flush() -> None:
        connection.executemany("INSERT OR IGNORE INTO asked_node VALUES (?)", nodes)
        connection.executemany("INSERT OR IGNORE INTO asked_edge VALUES (?, ?, ?)", edges)
        nodes.clear()
        edges.clear()

    connection.executescript(_ASKED)
    for count, _ in enumerate(accepted(records, take, report, stopped, strict=strict), 1):
        if count % BATCH == 0:
            flush()
    flush()
    connection.executescript(_FOUND)
    _count(connection, report)
    connection.executescript(_DELETE)


def _count(connection: sqlite3.Connection, report: LoadReport) -> None:
    def number(table: str) -> int:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    report.removed_nodes = number("gone_node")
    report.removed_edges = number("gone_edge")
    report.not_there = number(f"({_NOT_THERE})")
    examples = connection.execute(f"{_NOT_THERE} LIMIT ?", (EXAMPLES,))
    report.not_there_examples = [
        name_of(NodeRecord(one, "") if obj is None else EdgeRecord(one, predicate, obj))
        for one, predicate, obj in examples
    ]
