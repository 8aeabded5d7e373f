"""The floor for the embedded store: SQL over tables of the same graph."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from by_hand import ByHand, Triple

from bfsql.abc import GraphDbInterface

SCHEMA = """
CREATE TABLE type (t INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE predicate (p INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE node (n INTEGER PRIMARY KEY, id TEXT UNIQUE, t INTEGER);
CREATE TABLE detail (n INTEGER PRIMARY KEY, metadata TEXT);
CREATE TABLE edge (s INTEGER, p INTEGER, o INTEGER, metadata TEXT);
"""
NODE = "INSERT INTO node (id, t) SELECT ?, t FROM type WHERE name = ?"
DETAIL = "INSERT INTO detail SELECT n, ? FROM node WHERE id = ?"
EDGE = """
INSERT INTO edge SELECT a.n, p, b.n, ? FROM node AS a, predicate, node AS b
WHERE a.id = ? AND predicate.name = ? AND b.id = ?
"""
INDEXES = """
CREATE INDEX leaving ON edge (s, p, o);
CREATE INDEX entering ON edge (o, s, p);
"""
AT_ONCE = 5_000
"""Nodes copied at once."""

RING = """
SELECT a.id, predicate.name, b.id
FROM json_each(?1) AS asked
JOIN node AS x ON x.id = asked.value
JOIN edge ON edge.s = x.n
JOIN node AS a ON a.n = edge.s JOIN node AS b ON b.n = edge.o JOIN predicate USING (p)
UNION ALL
SELECT a.id, predicate.name, b.id
FROM json_each(?1) AS asked
JOIN node AS x ON x.id = asked.value
JOIN edge ON edge.o = x.n
JOIN node AS a ON a.n = edge.s JOIN node AS b ON b.n = edge.o JOIN predicate USING (p)
"""
TYPES = """
SELECT node.id, type.name
FROM json_each(?1) AS asked JOIN node ON node.id = asked.value JOIN type USING (t)
"""
NODE_DETAIL = """
SELECT node.id, detail.metadata
FROM json_each(?1) AS asked JOIN node ON node.id = asked.value JOIN detail USING (n)
"""
EDGE_DETAIL = """
SELECT edge.metadata
FROM json_each(?1) AS asked
JOIN node AS a ON a.id = asked.value ->> 0 JOIN node AS b ON b.id = asked.value ->> 2
JOIN predicate ON predicate.name = asked.value ->> 1
JOIN edge ON edge.s = a.n AND edge.p = predicate.p AND edge.o = b.n
"""


async def copy_graph(graph: GraphDbInterface, ids: Sequence[str], path: Path) -> None:
    """Write the tables of a graph.

    Args:
        graph: The graph to copy.
        ids: The ids of all its nodes.
        path: A new file.
    """
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    for table, names in (
        ("type", await graph.entity_types()),
        ("predicate", await graph.predicates()),
    ):
        db.executemany(f"INSERT INTO {table} (name) VALUES (?)", [(name,) for name in names])
    parts = [ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE)]
    for part in parts:
        nodes = await graph.get_nodes_batch(part)
        db.executemany(NODE, [(node.id, node.entity_type) for node in nodes])
        details = await graph.metadata_for_nodes_batch(part)
        db.executemany(DETAIL, [(json.dumps(details[i]), i) for i in part])
    for part in parts:
        own = set(part)
        edges = {(s, p, o) for s, p, o in await graph.edges_batch(part) if s in own}
        metadata = await graph.metadata_for_edges_batch(edges)
        db.executemany(EDGE, [(json.dumps(metadata[edge]), *edge) for edge in sorted(edges)])
    db.executescript(INDEXES)
    db.commit()
    db.close()


class SqliteByHand(ByHand):
    """The traversal over a connection to SQLite.

    Args:
        path: A file that `copy_graph` has written.
    """

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def close(self) -> None:
        self._db.close()

    async def ring(self, ids: list[str]) -> list[Triple]:
        return self._rows(RING, ids)

    async def types(self, ids: list[str]) -> dict[str, str]:
        return dict(self._rows(TYPES, ids))

    async def node_details(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        return {i: json.loads(text) for i, text in self._rows(NODE_DETAIL, ids)}

    async def edge_details(self, triples: list[Triple]) -> list[dict[str, Any]]:
        return [json.loads(text) for (text,) in self._rows(EDGE_DETAIL, triples)]

    def _rows(self, statement: str, asked: Iterable[Any]) -> list[Any]:
        return self._db.execute(statement, (json.dumps(asked),)).fetchall()
