"""Sessions of the 2025 protocol: a client that opens many, and requests that break its rules."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from mcp import Client

from bfsql_test_support.clients import PATIENCE, Raw, encoded, result
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.raw_mcp import HELLO
from bfsql_test_support.servers.serve_process import Served, serving
from bfsql_test_support.servers.slow_store import Journal

ENEMY = "127.0.0.2"


def error_of(answer: httpx2.Response) -> tuple[int, Any, int]:
    document = answer.json()
    return answer.status_code, document["id"], document["error"]["code"]


async def test_many_sessions_shut_nobody_out(films_db: Path) -> None:
    """Attack: ten thousand `initialize` requests shut out all clients of the 2025 protocol."""
    with serving("--path", str(films_db), "--max-sessions", "20") as server:
        async with Client(f"{server.url}/mcp", mode="legacy") as early, Raw(server, ENEMY) as enemy:
            await early.call_tool("describe_schema", {})
            opened = [session for _ in range(20) for session in await many(enemy, 10)]
            assert len(set(opened)) == 200
            assert not (await early.call_tool("describe_schema", {})).is_error
            for era in ("auto", "legacy"):
                async with Client(f"{server.url}/mcp", mode=era) as late:
                    assert not (await late.call_tool("describe_schema", {})).is_error
            assert (await enemy.post(opened[0], 1, "ping")).status_code == 404
            assert (await enemy.post(opened[-1], 1, "ping")).status_code == 200
        assert await asyncio.to_thread(server.stop, PATIENCE) == 0
    assert not any("Traceback" in line for line in server.log), "\n".join(server.log)


async def many(client: Raw, count: int) -> list[str]:
    return await asyncio.gather(*(client.open() for _ in range(count)))


MANY: dict[str, Any] = {f"k{number:05}": {} for number in range(65_000)}
"""As a JSON text less than `max_request_bytes`; ten times that as objects."""

ME = HELLO["clientInfo"]


MB = 1_000_000
MANY_SESSIONS = 40 if THOROUGH else 9
"""Sessions that would keep ten megabytes of objects each: 90, where 60 are allowed."""


@pytest.mark.parametrize(
    ("method", "params", "sessions", "most"),
    [
        (
            "initialize",
            {**HELLO, "clientInfo": {"name": "x" * 950_000, "version": "1"}},
            40,
            20 * MB,
        ),
        ("initialize", {**HELLO, "capabilities": {"experimental": MANY}}, MANY_SESSIONS, 60 * MB),
        (
            "initialize",
            {**HELLO, "clientInfo": {**ME, "icons": [{"src": "x"}] * 65_000}},
            MANY_SESSIONS,
            60 * MB,
        ),
        ("ping", {"_meta": MANY}, MANY_SESSIONS, 60 * MB),
    ],
    ids=["name", "capabilities", "icons", "a later message"],
)
async def test_a_session_does_not_keep_what_its_client_sent(
    films_db: Path, method: str, params: Mapping[str, Any], sessions: int, most: int
) -> None:
    """Attack: a thousand sessions that keep a megabyte each, or what that becomes as objects."""
    request = encoded(1, method, params)
    with serving("--path", str(films_db)) as server:
        async with Raw(server) as client:
            await client.open()
            before = memory(server)
            for _ in range(sessions):
                session = None if method == "initialize" else await client.open()
                assert (await client.send(session, request)).status_code == 200
            assert memory(server) - before < most


async def test_a_session_does_not_keep_its_last_answer(films_db: Path) -> None:
    walk = {"name": "bfs_query", "arguments": {"seeds": ["Tom Hanks"], "max_hops": 3}}
    with serving("--path", str(films_db)) as server:
        async with Raw(server) as client:
            for number in range(85):
                if number == 10:  # the caches are filled
                    before = memory(server)
                answer = await client.post(await client.open(), 1, "tools/call", walk)
                assert len(answer.content) > 100_000
            assert memory(server) - before < 15_000_000


async def test_a_stream_does_not_keep_what_its_client_sent(films_db: Path) -> None:
    """Attack: the same with the streams of the later protocol, as many as there are connections."""
    with serving("--path", str(films_db)) as server:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx2.AsyncClient(timeout=PATIENCE))
            before = memory(server)
            for _ in range(12):
                stream = listening(http, server, capabilities={"experimental": MANY})
                assert (await stack.enter_async_context(stream)).status_code == 200
            assert memory(server) - before < 60_000_000
            async with listening(http, server, notifications={"more": MANY}) as answer:
                await answer.aread()
                assert error_of(answer) == (400, 1, -32600)
                assert "at most 2,000 bytes" in answer.text


def listening(
    http: httpx2.AsyncClient,
    server: Served,
    capabilities: Mapping[str, Any] | None = None,
    notifications: Mapping[str, Any] | None = None,
) -> AbstractAsyncContextManager[httpx2.Response]:
    """A request of the later protocol that opens a stream."""
    version, method = "2026-07-28", "subscriptions/listen"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
        "io.modelcontextprotocol/clientInfo": ME,
    }
    params = {"_meta": meta, "notifications": notifications or {"toolsListChanged": True}}
    return http.stream(
        "POST",
        f"{server.url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
            "Mcp-Method": method,
        },
    )


def memory(server: Served) -> int:
    """Bytes of memory that the server's process occupies."""
    return int(psutil.Process(server.pid).memory_info().rss)


async def test_a_session_ends_when_it_is_idle_and_not_while_it_listens(films_db: Path) -> None:
    options = ("--session-timeout", "1", "--idle-timeout", "2")
    with serving("--path", str(films_db), *options) as server:
        async with Client(f"{server.url}/mcp", mode="legacy") as listening:
            async with Raw(server) as client:
                session = await client.open()
            async with asyncio.timeout(PATIENCE):
                while await status(server, session) == 200:  # noqa: ASYNC110 - a request keeps it alive
                    await asyncio.sleep(2)  # longer than an idle session is kept
            assert not (await listening.call_tool("describe_schema", {})).is_error


async def status(server: Served, session: str) -> int:
    """Status of a request in a session, on a connection that the server cannot end as idle."""
    async with Raw(server) as client:
        return (await client.post(session, 1, "ping")).status_code


@pytest.mark.parametrize("odd", [None, 1.5, {"a": 1}, [1], True], ids=str)
async def test_an_id_that_is_none_is_refused(films_server: Served, odd: Any) -> None:
    async with Raw(films_server) as client:
        session = await client.open()
        for name in (session, None):
            assert error_of(await client.post(name, odd, "ping")) == (400, None, -32600)
        assert (await client.post(session, 1, "ping")).status_code == 200


@pytest.fixture(scope="module")
def films_server(films_db: Path) -> Iterator[Served]:
    with serving("--path", str(films_db)) as server:
        yield server


async def test_an_id_in_use_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    walk = {"name": "bfs_query", "arguments": {"seeds": ["n1"], "max_hops": 1}}
    with serving(*journal.options(2), env=journal.env) as server:
        async with Raw(server) as client:
            session = await client.open()
            calling = asyncio.create_task(client.post(session, 7, "tools/call", walk))
            await journal.until(lambda seen: seen.count("began") == 1)
            for number in (7, "7"):
                refused = await client.post(session, number, "ping")
                assert error_of(refused) == (400, number, -32600)
                assert "its own id" in refused.text
            assert (await client.post(session, 8, "ping")).status_code == 200
            answer = await calling
            said = result(answer)
            assert (said["id"], said["result"]["isError"]) == (7, False)
            assert (await client.post(session, 7, "ping")).status_code == 200
