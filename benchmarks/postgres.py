"""Postgres: loading by COPY, then cold answers compared with statements written by hand."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import asyncpg
from by_hand import ByHand, Triple
from graphs import HUB, heavy_tailed
from large import Question, asked
from postgres_hub import RING, SIDES, TYPES
from pydantic import SecretStr
from pydantic_core import from_json
from remote import questions, report_answers

from bfsql.models.merge import merge_edges
from bfsql_postgres import PostgresBackend, PostgresSettings
from bfsql_postgres.connection import OWN_WAY
from bfsql_postgres.load.loader import load_graph
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.postgres import PostgresServer

CHUNK = 20_000
"""Edges per statement: with more, the server sorts all edges of the graph."""

NODE_DETAIL = """
SELECT entity_id, name, source, synonyms, properties
FROM unnest($1::text[]) AS asked (id) JOIN entity ON entity_id = asked.id
WHERE status IS DISTINCT FROM 'merged'
"""
EDGE_DETAIL = """
SELECT subject_id, predicate, object_id, confidence, source_documents
FROM unnest($1::text[], $2::text[], $3::text[]) AS asked (s, p, o)
JOIN relationship ON (subject_id, predicate, object_id) = (s, p, o)
"""


class PostgresByHand(ByHand):
    """One connection, one statement per ring, and no evidence, which traversals do not show.

    Args:
        connection: A connection with the same settings as ours; the caller closes it.
    """

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._db = connection

    async def ring(self, ids: list[str]) -> list[Triple]:
        rows: list[Triple] = await self._db.fetch(RING, ids)
        return rows

    async def types(self, ids: list[str]) -> dict[str, str]:
        return dict(await self._db.fetch(TYPES, ids))

    async def node_details(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        rows = await self._db.fetch(NODE_DETAIL, ids)
        return {
            i: {
                "name": name,
                "source": source,
                "synonyms": from_json(synonyms) if synonyms else None,
                **(from_json(properties) if properties else {}),
            }
            for i, name, source, synonyms, properties in rows
        }

    async def edge_details(self, triples: list[Triple]) -> list[dict[str, Any]]:
        found: dict[Triple, list[dict[str, Any]]] = {}
        rows = []
        for start in range(0, len(triples), CHUNK):
            asked = [list(part) for part in zip(*triples[start : start + CHUNK], strict=True)]
            rows += await self._db.fetch(EDGE_DETAIL, *asked)
        for s, p, o, confidence, documents in rows:
            row = {
                "confidence": confidence,
                "source_documents": from_json(documents) if documents else None,
            }
            found.setdefault((s, p, o), []).append(row)
        return [merge_edges(found[triple]) for triple in triples]


async def report(nodes: int, edges: int, hub: int, turns: int) -> None:
    """Print all figures of the Postgres backend, on a server started for the run."""
    with folder() as place:
        server = PostgresServer.embedded(place)
        server.start()
        try:
            async with server.database() as database:
                await _load(database.owner_url, nodes, edges, hub)
                await _compare(database.reader_url, nodes, turns)
                await asyncio.to_thread(_report_hub, database.reader_url, turns)
        finally:
            server.stop()


async def _load(url: str, nodes: int, edges: int, hub: int) -> None:
    settings = PostgresSettings(dsn=SecretStr(url))
    start = time.perf_counter()
    report = await load_graph(settings, heavy_tailed(nodes, edges, hub))
    seconds = time.perf_counter() - start
    print(
        f"\npostgres      {report.nodes:,} nodes and {report.edges:,} triples in {seconds:.1f} s, "
        f"{report.edges / seconds:,.0f} edges a second"
    )


async def _compare(url: str, nodes: int, turns: int) -> None:
    connection = await asyncpg.connect(url, server_settings=OWN_WAY | {"search_path": "public"})
    backend = await PostgresBackend.create(url)
    try:
        goal = "goals: 1.3 x by hand; per node 50 x"
        await report_answers(backend, PostgresByHand(connection), questions(nodes), turns, goal)
    finally:
        await backend.close()
        await connection.close()


def _report_hub(url: str, turns: int) -> None:
    """Compare ways to read the ring of the hub, each in its own process."""
    script = str(Path(__file__).with_name("postgres_hub.py"))
    commands = [[sys.executable, script, side, url] for side in SIDES]
    took = dict(zip(SIDES, asked(Question("the hub's ring", HUB, 1), commands, turns), strict=True))
    print(
        f"\nring of the hub, {took['ours'].edges:,} edges"
        "   (goals: 1.3 x the time of the driver's rows, 2 x their memory)"
    )
    for side, reply in took.items():
        floor = took["types" if side == "ours" else "rows"]  # an answer needs the types, too
        ratios = f"{reply.wall / floor.wall:8.2f} x{reply.memory / floor.memory:8.2f} x"
        print(f"{SIDES[side]:44}{reply.wall:8.3f} s{reply.memory:8,.0f} MB{ratios}")
