"""Connections of an enemy over HTTP: idle, slow, half sent, unread; others are served."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mcp import Client

from bfsql_servers.served import Served, serving

SILENT = b""
HALF_A_HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
HALF_A_BODY = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\nContent-Length: 900000\r\n\r\n{"
)
ERAS = ("auto", "legacy")


@contextmanager
def connected(server: Served, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have each sent the same bytes, and wait."""
    with ExitStack() as stack:
        sockets = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            sockets.append(stack.enter_context(connection))
            connection.sendall(sent)
        yield sockets


async def answers(server: Served) -> None:
    """A client of each protocol era gets its answer."""
    for era in ERAS:
        async with Client(f"{server.url}/mcp", mode=era, read_timeout_seconds=30) as client:
            answer = await client.call_tool("search_entities", {"query": "Top Gun"})
            assert not answer.is_error, answer


def processor_seconds(server: Served) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - nothing tells when the server has done it
            await asyncio.sleep(0.05)


def closed(connection: socket.socket) -> bool:
    """Whether the server has ended a connection; what it had sent is read."""
    connection.settimeout(0)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


async def test_idle_connections_do_not_end_service(films_db: Path) -> None:
    with (
        serving("--path", str(films_db), max_files=256) as server,
        connected(server, 200, SILENT),
        connected(server, 150, HALF_A_HEAD),
        connected(server, 150, HALF_A_BODY),
    ):
        await answers(server)
        before = processor_seconds(server)
        await asyncio.sleep(1)
        assert processor_seconds(server) - before < 0.5
        await answers(server)
        assert len(server.log) < 20, "\n".join(server.log[:20])
        assert any("max_connections" in line for line in server.log)


async def test_connections_that_have_a_call_under_way_are_not_cut_for_others(
    films_db: Path,
) -> None:
    with (
        serving("--path", str(films_db), "--max-connections", "3") as server,
        connected(server, 50, SILENT) as silent,
    ):
        async with Client(f"{server.url}/mcp", mode="legacy") as client:
            with connected(server, 50, HALF_A_HEAD):
                await wait_for(lambda: all(map(closed, silent)))
                answer = await client.call_tool("describe_schema", {})
                assert not answer.is_error


async def test_slow_and_silent_clients_are_cut_and_idle_sessions_are_not(films_db: Path) -> None:
    timeouts = ("--read-timeout", "1", "--idle-timeout", "2", "--write-timeout", "1")
    with (
        serving("--path", str(films_db), *timeouts) as server,
        connected(server, 1, HALF_A_HEAD) as heads,
        connected(server, 1, HALF_A_BODY) as bodies,
        connected(server, 1, SILENT) as silent,
    ):
        async with Client(f"{server.url}/mcp", mode="legacy") as client:
            for slow in (*heads, *bodies):
                assert slow.recv(1_000).startswith(b"HTTP/1.1 408 ")
                await wait_for(lambda one=slow: closed(one))
            await wait_for(lambda: closed(silent[0]))
            assert not (await client.call_tool("describe_schema", {})).is_error
