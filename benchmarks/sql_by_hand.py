"""The floor for the embedded store: SQL over the same file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from by_hand import ByHand, Triple

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


class SqliteByHand(ByHand):
    """A connection of its own.

    Args:
        path: The graph's file.
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
