"""Postgres: entities by a property among a million, compared with statements written by hand.

A statement by hand has an index of its own on the expression that it compares, and the value as a
parameter. It finds the same entities here, but only because their texts are ASCII and their numbers
short. With indexes, lists are timed many in a row: one of them takes less than what precedes it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import asyncpg
from pydantic import SecretStr
from timing import WALL, side_by_side

from bfsql.models import NodeRecord
from bfsql.models.condition import PropertyCondition
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_postgres.connection import OWN_WAY
from bfsql_postgres.indexes import prepare
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.postgres import PostgresServer

INDEXED = {
    "equality, 200": ("surname", "=", "Sur17", "lower(properties ->> 'surname') = lower($1)"),
    "equality, 28,000": ("year", "=", "2004", "(properties ->> 'year')::float8 = $1::float8"),
    "range, 7,000": ("score", ">", "142", "(properties ->> 'score')::float8 > $1::float8"),
    "part of a name, none": ("name", "~", "abcdef", "name ILIKE '%' || $1 || '%'"),
    "part of a name, 200": ("name", "~", "abcd", "name ILIKE '%' || $1 || '%'"),
}
SCANNED = {
    "equality": INDEXED["equality, 200"],
    "range": INDEXED["range, 7,000"],
    "part of a text in JSON": (
        "text",
        "~",
        "abcdef",
        "properties ->> 'text' ILIKE '%' || $1 || '%'",
    ),
}
BY_HAND = (
    "CREATE INDEX ON entity (lower(properties ->> 'surname'))",
    "CREATE INDEX ON entity (((properties ->> 'year')::float8))",
    "CREATE INDEX ON entity (((properties ->> 'score')::float8))",
    "ANALYZE entity",
)
LISTS = 20
"""Lists of a turn with indexes, of which the time of one is printed."""


def people(number: int) -> Iterator[NodeRecord]:
    """Entities with a name, and with five properties in JSON."""
    for i in range(number):
        text = f"{i * 2_654_435_761 % 2**64:016x}"
        properties = {
            "year": 1990 + i % 36,
            "surname": f"Sur{i % 5000}",
            "score": i % 1000 / 7,
            "text": f"A longer text about {text}, and about {text[::-1]}",
            "phase": f"phase {i % 4}",
        }
        yield NodeRecord(f"n{i}", f"T{i % 5}", {"name": f"Name of {text}", **properties})


async def report(number: int, turns: int) -> None:
    """Print all ratios, on a server started for the run."""
    with folder() as place:
        server = PostgresServer.embedded(place)
        server.start()
        try:
            async with server.database() as database:
                settings = PostgresSettings(dsn=SecretStr(database.owner_url))
                await load_graph(settings, people(number))
                owner = await asyncpg.connect(database.owner_url)
                await owner.execute("ANALYZE entity")
                await _compare(database.reader_url, "without indexes", SCANNED, turns, 1)
                await prepare(settings, apply=True)
                for statement in BY_HAND:
                    await owner.execute(statement)
                await owner.close()
                await _compare(database.reader_url, "with indexes", INDEXED, turns, LISTS)
        finally:
            server.stop()


async def _compare(url: str, how: str, questions: dict[str, Any], turns: int, lists: int) -> None:
    own_way = {**OWN_WAY, "search_path": "public", "max_parallel_workers_per_gather": "0"}
    connection = await asyncpg.connect(url, server_settings=own_way)
    backend = await PostgresBackend.create(url)
    print(f"\nentities by a property, {how}   (goal: 1.3 x by hand)")
    for what, (key, operator, value, test) in questions.items():
        condition = PropertyCondition(key, operator, (value,))
        sides = _ours(backend, condition), _by_hand(connection, key, test, value)
        ours, by_hand = (partial(_last, side, lists) for side in sides)
        pair = await side_by_side(what, ours, by_hand, turns, WALL)
        print(f"{what:44}{1000 * pair.ours / lists:9.1f} ms{pair.ratio:8.2f} x")
    await backend.close()
    await connection.close()


async def _last(answer: Callable[[], Awaitable[bytes]], times: int) -> bytes:
    for _ in range(times - 1):
        await answer()
    return await answer()


def _ours(backend: PostgresBackend, condition: PropertyCondition) -> Callable[[], Awaitable[bytes]]:
    exact = backend.filters_exactly(condition)

    async def answer() -> bytes:
        pairs: list[tuple[str, str]] = []
        async for batch in backend.nodes_stream(conditions=[condition]):
            pairs += [one[:2] for one in batch if exact or condition.holds(one.metadata)]
        return json.dumps(sorted(pairs)).encode()

    return answer


def _by_hand(
    connection: asyncpg.Connection, key: str, test: str, literal: str
) -> Callable[[], Awaitable[bytes]]:
    value = "name" if key == "name" else f"properties ->> '{key}'"
    statement = f"SELECT entity_id, entity_type, {value} FROM entity WHERE {test}"
    given = literal if "float8" not in test else float(literal)

    async def answer() -> bytes:
        rows = await connection.fetch(statement, given)
        return json.dumps(sorted([(row[0], row[1]) for row in rows])).encode()

    return answer


if __name__ == "__main__":
    asyncio.run(report(1_000_000, 5))
