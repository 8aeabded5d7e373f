"""Large values in a store: a server's memory stays near its bound, and others are not disturbed."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bfsql.models import EdgeRecord, NodeRecord
from bfsql_test_support.clients import Raw, result
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.serve_process import Served, serving

SCALE = 1 if THOROUGH else 10
MB = 1_000_000
SLACK = 300 * MB
LARGE = "lorem ipsum dolor " * 1_000
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("describe_entity", {"id": "n1"}),
    ("describe_entities", {"ids": [f"n{i}" for i in range(8)]}),
    ("bfs_query", {"seeds": ["n0"], "limit": 50}),
    ("bfs_query", {"seeds": ["n0"], "sort_by": "note", "where": ["note ~ absent"]}),
]


def records(count: int, size: int) -> list[NodeRecord | EdgeRecord]:
    """A star whose nodes have texts of a size, which compress well, and short names."""
    note = (LARGE * (size // len(LARGE) + 1))[:size]
    nodes = [NodeRecord(f"n{i}", "T", {"name": f"Name {i}", "note": note}) for i in range(count)]
    return [*nodes, *(EdgeRecord("n0", "p", f"n{i}") for i in range(1, count))]


async def embedded(_: pytest.FixtureRequest, folder: Path, count: int, size: int) -> list[str]:
    from bfsql_sqlite import SqliteSettings, load_graph

    await load_graph(SqliteSettings(path=folder / "large.db"), iter(records(count, size)))
    return ["--backend", "sqlite", "--path", str(folder / "large.db")]


async def postgres(
    request: pytest.FixtureRequest, folder: Path, count: int, size: int
) -> list[str]:
    import asyncpg

    from bfsql_postgres import PostgresSettings
    from bfsql_postgres.load.loader import load_graph
    from bfsql_test_support.servers.database import lasting

    database = lasting(request.getfixturevalue("postgres").database())
    await load_graph(PostgresSettings(dsn=SecretStr(database.owner_url)), records(count, 10))
    connection = await asyncpg.connect(database.owner_url)
    table = await connection.fetchval(
        "SELECT format('%I.%I', table_schema, table_name) FROM information_schema.columns "
        "WHERE column_name = 'entity_type'"
    )
    await connection.execute(
        f"ALTER TABLE {table} ADD note text; "
        f"UPDATE {table} SET note = left(repeat('{LARGE}', {size // len(LARGE) + 1}), {size})"
    )
    await connection.close()
    (folder / "dsn").write_text(database.reader_url, "utf-8")
    return ["--backend", "postgres", "--dsn-file", str(folder / "dsn")]


async def neo4j(request: pytest.FixtureRequest, _: Path, count: int, size: int) -> list[str]:
    from neo4j import AsyncGraphDatabase

    from bfsql_neo4j import Neo4jSettings
    from bfsql_neo4j.load.loader import load_graph

    server = request.getfixturevalue("neo4j_server")
    await load_graph(Neo4jSettings(uri=server.uri), records(count, 10))
    note = (LARGE * (size // len(LARGE) + 1))[:size]
    async with AsyncGraphDatabase.driver(server.uri, auth=server.auth) as driver:
        for i in range(count):
            set_note = "MATCH (n {name: $name}) SET n.note = $note"
            await driver.execute_query(set_note, name=f"Name {i}", note=note)
    return ["--backend", "neo4j", "--uri", server.uri]


@asynccontextmanager
async def client(served: Served) -> AsyncIterator[Callable[[str, dict[str, Any]], Any]]:
    """A session of MCP; calls a tool, and returns the text of its answer."""
    async with Raw(served) as raw:
        session = await raw.open()

        async def call(tool: str, arguments: dict[str, Any]) -> str:
            about = {"name": tool, "arguments": arguments}
            said = result(await raw.post(session, 1, "tools/call", about))
            return "\n".join(block["text"] for block in said["result"]["content"])

        yield call


async def slowest_search(served: Served, until: asyncio.Event) -> float:
    """The most seconds that a search of another client takes meanwhile."""
    slowest = 0.0
    async with client(served) as call:
        while not until.is_set():
            began = time.monotonic()
            assert "Name 7" in await call("search_entities", {"query": "Name 7"})
            slowest = max(slowest, time.monotonic() - began)
    return slowest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fill", "sizes"),
    [
        (embedded, (200 if THOROUGH else 20, 15 * MB, 50 * MB)),
        (postgres, (30 if THOROUGH else 12, 40 * MB, 200 * MB)),
        (neo4j, (30 if THOROUGH else 8, 40 * MB, 200 * MB)),
    ],
    ids=["embedded", "postgres", "neo4j"],
)
async def test_large_values_stay_within_the_memory_of_a_call_and_are_named(
    request: pytest.FixtureRequest, tmp_path: Path, fill: Any, sizes: tuple[int, int, int]
) -> None:
    count, size, limit = sizes
    options = await fill(request, tmp_path, count, size // SCALE)
    limit = max(16 * MB, limit // SCALE)  # the least that the setting takes
    with serving(*options, "--max-call-memory", str(limit)) as served:
        done = asyncio.Event()
        async with client(served) as call:
            await call("search_entities", {"query": "Name 7"})  # the first makes the server's plans
            beside = asyncio.create_task(slowest_search(served, done))
            answers = [await call(tool, arguments) for tool, arguments in CALLS]
            done.set()
            slowest = await beside
        peak = peak_of(served.pid)
    assert peak < limit + SLACK, f"{peak:,}"
    assert slowest < 1
    for answer in answers:
        assert "(max_call_memory)" in answer, answer[-300:]


def peak_of(pid: int) -> int:
    """The most bytes of memory that a process had."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    [line] = [one for one in status.splitlines() if one.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
