"""A store that refuses requests for a while, and a server that is killed during a statement."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from mcp import Client

from bfsql.models import EdgeRecord, NodeRecord
from bfsql_postgres import PostgresSettings, load_graph
from bfsql_test_support.clients import until
from bfsql_test_support.servers.bad_endpoint import BadEndpoint
from bfsql_test_support.servers.bad_replies import refused, through
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.postgres import PostgresServer
from bfsql_test_support.servers.serve_process import serving

PEOPLE = """
INSERT DATA {
    <http://x.test/a> a <http://x.test/Person> ; <http://x.test/knows> <http://x.test/b> .
    <http://x.test/b> a <http://x.test/Person> .
}
"""
A, B = "http://x.test/a", "http://x.test/b"


async def asked(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Call a tool; return whether it succeeded, and the text of the answer or error."""
    answer = await client.call_tool(tool, arguments)
    return not answer.is_error, str(answer.content[0].text)


async def test_a_pause_of_an_hour_that_an_endpoint_asks_for_stops_no_call_for_an_hour(
    oxigraph: OxigraphServer, bad_endpoint: BadEndpoint
) -> None:
    oxigraph.clear()
    oxigraph.update(PEOPLE)
    bad_endpoint.always(through(oxigraph))
    options = ("--backend", "sparql", "--endpoint", bad_endpoint.url)
    with serving(*options, env={**os.environ, "BFSQL_MAX_PAUSE": "1"}) as server:
        async with Client(f"{server.url}/mcp", read_timeout_seconds=60) as client:
            before = await asked(client, "bfs_query", seeds=[A], max_hops=1)
            assert before[0]
            bad_endpoint.always(refused(429, "Slow down.", retry_after="3600"))
            assert not (await asked(client, "describe_entity", id=B))[0]
            down, why = await asked(client, "describe_entity", id=B)
            assert not down
            assert "is tried again in" in why
            # Cached records are served throughout.
            assert await asked(client, "bfs_query", seeds=[A], max_hops=1) == before
            bad_endpoint.always(through(oxigraph))

            async def answers() -> bool:
                return (await asked(client, "describe_entity", id=B))[0]

            await until(answers)
        log = "\n".join(server.log)
        assert log.count("The store does not answer. Calls") == 1
        assert log.count("The store answers again") == 1
        assert "Traceback" not in log


@asynccontextmanager
async def slow(url: str, table: str) -> AsyncIterator[None]:
    """Block statements that read the table until the context ends."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await connection.close()


async def test_a_server_that_is_killed_leaves_no_statement_on_postgres(
    postgres: PostgresServer,
) -> None:
    async with postgres.database() as database:
        records = [NodeRecord("a", "T"), NodeRecord("b", "T"), EdgeRecord("a", "p", "b")]
        await load_graph(PostgresSettings(dsn=database.owner_url), records)
        watcher = await asyncpg.connect(database.superuser_url)

        async def statements(*, blocked: bool = False) -> list[str]:
            found = await watcher.fetch(
                "SELECT application_name FROM pg_stat_activity WHERE usename = $1 "
                "AND state = 'active' AND (NOT $2 OR wait_event_type = 'Lock')",
                database.reader,
                blocked,
            )
            return [name for (name,) in found]

        environment = {**os.environ, "DATABASE_URL": database.reader_url}
        options = ("--backend", "postgres", "--statement-timeout", "600", "--log-level", "info")
        with serving(*options, env=environment) as server:
            async with slow(database.superuser_url, "relationship"):

                async def ask() -> None:
                    async with Client(f"{server.url}/mcp", read_timeout_seconds=60) as client:
                        await client.call_tool("bfs_query", {"seeds": ["a"], "max_hops": 1})

                asking = asyncio.create_task(ask())

                names: list[str] = []  # of one moment: a call may send several at once

                async def is_busy() -> bool:
                    names[:] = await statements(blocked=True)
                    return bool(names)

                await until(is_busy)
                server.process.kill()

                async def is_idle() -> bool:
                    return not await statements()

                await until(is_idle)
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
        for name in names:
            assert name.startswith("bfsql "), "the id of the call stands behind it"
        await watcher.close()
