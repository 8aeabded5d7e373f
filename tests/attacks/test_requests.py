"""Malformed and numerous HTTP requests: framing, depth, streams, and calls that nobody awaits."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx2
import pytest

from bfsql_test_support.clients import Raw, answers
from bfsql_test_support.servers.serve_process import Served, serving
from bfsql_test_support.servers.slow_store import Journal

SECONDS = 60
STREAMS = 100
CALLS = 300
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(films_db: Path) -> Iterator[Served]:
    with serving("--path", str(films_db), "--read-timeout", "2") as served:
        yield served


def answer_to(server: Served, sent: bytes) -> bytes:
    """What the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as connection:
        received = b""
        with suppress(ConnectionError):  # it may close before it has read everything
            connection.sendall(sent)
            while part := connection.recv(65_536):
                received += part
        return received


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   ", id="two"),
        pytest.param(HEAD + b"Content-Length: -1\r\n\r\n", id="negative"),
        pytest.param(HEAD + b"Content-Length: +2\r\n\r\n{}", id="signed"),
        pytest.param(HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{}", id="huge"),
        pytest.param(HEAD + b"Transfer-Encoding: gzip\r\n\r\n{}", id="encoding"),
        pytest.param(HEAD + b"X: a\0b\r\nContent-Length: 2\r\n\r\n{}", id="NUL"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000 + b"\r\n", id="many headers"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00", id="TLS"),
    ],
)
async def test_malformed_framing_is_one_error_and_ends_its_connection(
    server: Served, sent: bytes
) -> None:
    answer = await asyncio.to_thread(answer_to, server, sent)
    assert answer[:10] in {b"HTTP/1.1 4", b""}, answer[:100]
    assert answer.count(b"HTTP/1.1 ") <= 1
    await answers(server)


async def test_an_absolute_address_is_compared_like_a_host(server: Served) -> None:
    sent = b"GET http://evil.example/mcp HTTP/1.1\r\nHost: evil.example\r\n"
    answer = await asyncio.to_thread(answer_to, server, sent + b"Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize("opened", ["[", '{"a":'])
async def test_a_body_nested_without_end_is_refused(server: Served, opened: str) -> None:
    async with Raw(server) as client:
        answer = await client.send(None, opened.encode() * (900_000 // len(opened)))
    assert answer.status_code == 400
    await answers(server)


async def test_a_session_has_one_stream_however_many_are_requested(server: Served) -> None:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Raw(server))
        headers = {"Mcp-Session-Id": await client.open()}
        statuses = []
        for _ in range(STREAMS):
            stream = client.http.stream("GET", client.url, headers=headers)
            statuses.append((await stack.enter_async_context(stream)).status_code)
        assert (statuses.count(200), statuses.count(409)) == (1, STREAMS - 1)
        await answers(server)


@pytest.mark.slow
async def test_calls_that_are_abandoned_leave_nothing_running(tmp_path: Path) -> None:
    """Attack: clients send calls by the hundred and disconnect before the answers."""
    journal = Journal(tmp_path)
    options = ("--rest", "--deadline", "600", "--admin-port", "0", *journal.options(600))
    walk = json.dumps({"seeds": ["n1"]}).encode()
    head = b"POST /tools/bfs_query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
    sent = head + b"\r\nContent-Length: %d\r\n\r\n" % len(walk) + walk
    with serving(*options, env=journal.env) as server:
        for _ in range(CALLS):
            with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as one:
                one.sendall(sent)
        await journal.until(lambda seen: seen.count("began") == seen.count("cancelled"))
        async with httpx2.AsyncClient(base_url=server.admin, timeout=SECONDS) as admin:
            running = True
            async with asyncio.timeout(SECONDS):
                while running:
                    running = "bfsql_calls_running 0.0" not in (await admin.get("/metrics")).text
        schema = await asyncio.to_thread(httpx2.get, f"{server.url}/schema", timeout=SECONDS)
        assert schema.status_code == 200
    assert not any("Traceback" in line for line in server.log), "\n".join(server.log)
