"""A process that reads the ring of a node from Postgres, and reports what that took.

    python postgres_hub.py rows|types|ring|ours URL

`rows` is one `fetch` of the driver, and `types` also reads the types of both ends. `ring` is the
backend's stream of the same edges, and `ours` the whole answer. Like `asking.py`, it reads lines of
`[seed, 1]` and prints a `Reply` for each.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

import asyncpg
from asking import MANY, Reply, Taken, questions

SIDES = {
    "rows": "by hand: rows of the edges",
    "types": "by hand: the same, then types of the ends",
    "ring": "ours: the ring, in batches",
    "ours": "ours: the answer",
}
"""The ways to read it, with the names to print."""

RING = """
WITH live (id) AS MATERIALIZED (
    SELECT entity_id FROM unnest($1::text[]) AS asked (id) JOIN entity ON entity_id = asked.id
    WHERE status IS DISTINCT FROM 'merged'
)
SELECT subject_id, predicate, object_id FROM live JOIN relationship ON subject_id = live.id
UNION ALL
SELECT subject_id, predicate, object_id FROM live JOIN relationship ON object_id = live.id
"""
TYPES = """
SELECT entity_id, entity_type
FROM unnest($1::text[]) AS asked (id) JOIN entity ON entity_id = asked.id
WHERE status IS DISTINCT FROM 'merged'
"""


async def _ours(url: str) -> None:
    from bfsql import Limits
    from bfsql.graph import open_graph

    limits = Limits(deadline=None, max_nodes=MANY, max_edges=MANY)
    for seed, hops in questions():
        async with open_graph("postgres", dsn=url, limits=limits) as graph:
            with Taken() as taken:
                answer = await graph.bfs_query([seed], hops, topology_only=True)
                text = answer.text.encode()
        Reply.of(taken, json.loads(text)).send()


async def _ring(url: str) -> None:
    from bfsql_postgres import PostgresBackend

    for seed, _ in questions():
        backend = await PostgresBackend.create(url)
        with Taken() as taken:
            rows = [row async for batch in backend.edges_stream([seed]) for row in batch]
        await backend.close()
        _reply(taken, rows)


async def _by_hand(url: str, *, typed: bool) -> None:
    for seed, _ in questions():
        connection = await asyncpg.connect(url, server_settings={"jit": "off"})
        with Taken() as taken:
            rows = await connection.fetch(RING, [seed])
            if typed:
                ends = {end for s, _, o in rows for end in (s, o)}
                await connection.fetch(TYPES, list(ends))
        await connection.close()
        _reply(taken, rows)


def _reply(taken: Taken, rows: Sequence[Sequence[Any]]) -> None:
    """Send the reply for the rows of a ring; counting them is not part of its time or memory."""
    reply = Reply.of(taken, {"node_count": 0, "edge_count": 0})
    edges = {tuple(row) for row in rows}
    nodes = {end for s, _, o in edges for end in (s, o)}
    reply._replace(nodes=len(nodes), edges=len(edges)).send()


def main(which: str, url: str) -> Any:
    """Answer the questions on standard input."""
    if which in ("rows", "types"):
        return _by_hand(url, typed=which == "types")
    return _ring(url) if which == "ring" else _ours(url)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
