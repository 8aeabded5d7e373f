"""The floor: what somebody would write by hand in SQL over the same file.

One statement a ring, tuples, sets, and the project's own order and encoder, so
that what is compared is the way through engine, cache and backend.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bfsql.answers import encode
from bfsql.answers.clean import clean_metadata
from bfsql.tools.limits import STRIPPED

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

Triple = tuple[str, str, str]


class ByHand:
    """A connection, and the traversal written out.

    Args:
        path: The graph's file.
    """

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def close(self) -> None:
        self._db.close()

    async def answer(self, seed: str, hops: int, *, full: bool) -> bytes:
        """A `bfs_query` answer."""
        rings: list[list[str]] = [[seed]]
        seen, edges = {seed}, set[Triple]()
        for _ in range(hops):
            ring: list[Triple] = self._rows(RING, rings[-1])
            edges.update(ring)
            found = {s for s, _, _ in ring} | {o for _, _, o in ring}
            found -= seen
            seen |= found
            rings.append(sorted(found))
        ids = [i for ring in rings for i in ring]
        types: dict[str, str] = dict(self._rows(TYPES, ids))
        triples = sorted(edges)
        return encode(
            {
                "seeds": [seed],
                "max_hops": hops,
                "node_count": len(ids),
                "edge_count": len(triples),
                "schema_summary": {
                    "entity_types_found": sorted({types[i] for i in ids}),
                    "predicates_found": sorted({p for _, p, _ in triples}),
                },
                "nodes": self._full_nodes(ids, types) if full else _stubs(ids, types),
                "edges": self._full_edges(triples) if full else _bare(triples),
            }
        )

    def _full_nodes(self, ids: list[str], types: dict[str, str]) -> list[dict[str, Any]]:
        detail = {i: json.loads(text) for i, text in self._rows(NODE_DETAIL, ids)}
        return [
            {"id": i, "entity_type": types[i], "metadata": clean_metadata(detail[i])} for i in ids
        ]

    def _full_edges(self, triples: list[Triple]) -> list[dict[str, Any]]:
        detail = (json.loads(text) for (text,) in self._rows(EDGE_DETAIL, triples))
        return [
            {**edge, "metadata": clean_metadata(metadata, STRIPPED)}
            for edge, metadata in zip(_bare(triples), detail, strict=True)
        ]

    def _rows(self, statement: str, asked: Iterable[Any]) -> list[Any]:
        return self._db.execute(statement, (json.dumps(asked),)).fetchall()


def _stubs(ids: list[str], types: dict[str, str]) -> list[dict[str, Any]]:
    return [{"id": i, "entity_type": types[i]} for i in ids]


def _bare(triples: list[Triple]) -> list[dict[str, Any]]:
    return [{"subject": s, "predicate": p, "object": o} for s, p, o in triples]
