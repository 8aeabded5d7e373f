"""Clients that send calls and do not read the answers, on stdio and over HTTP."""

import asyncio
import json
import select
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx2

from bfsql_test_support.raw_mcp import HELLO, message
from bfsql_test_support.servers.serve_process import Served, serving

CALLS = 1_000
SECONDS = 60
HUB = {"name": "bfs_query", "arguments": {"seeds": ["Person:TomHanks"], "max_hops": 3}}


def request(*about: Any) -> bytes:
    return json.dumps(message(*about)).encode()


def test_on_stdio_a_client_that_reads_nothing_is_not_read_either(films_on_stdio: list[str]) -> None:
    schema = request(0, "tools/call", {"name": "describe_schema"})
    with subprocess.Popen(films_on_stdio, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(request(0, "initialize", HELLO) + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 0
        written = 0

        def write() -> None:
            nonlocal written
            assert server.stdin
            for number in range(1, CALLS + 1):
                line = schema.replace(b'"id": 0', b'"id": %d' % number)
                server.stdin.write(line.ljust(1_000) + b"\n")
                server.stdin.flush()
                written = number

        writing = threading.Thread(target=write, daemon=True)
        writing.start()
        before = -1
        while written > before:  # until writing blocks
            before = written
            writing.join(3)
        assert written < CALLS
        answered = {json.loads(server.stdout.readline())["id"] for _ in range(CALLS)}
        assert answered == set(range(1, CALLS + 1))
        server.stdin.close()
        assert server.wait(SECONDS) == 0


async def test_over_http_a_client_that_reads_nothing_is_cut(films_db: Path) -> None:
    options = ("--path", str(films_db), "--write-timeout", "1", "--max-tokens", "0")
    with serving(*options) as server, unread(server, 60) as connection:
        waiting = select.poll()
        waiting.register(connection, select.POLLHUP | select.POLLERR)
        assert await asyncio.to_thread(waiting.poll, SECONDS * 1_000)


def unread(server: Served, calls: int) -> socket.socket:
    """A connection that has sent calls in a session and has read nothing."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Host": "127.0.0.1",
    }
    hello = request(0, "initialize", HELLO)
    answer = httpx2.post(f"{server.url}/mcp", headers=headers, content=hello, timeout=SECONDS)
    headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect(("127.0.0.1", server.port))
    for number in range(1, calls + 1):
        body = request(number, "tools/call", HUB)
        lines = [*(f"{name}: {value}" for name, value in headers.items())]
        lines = ["POST /mcp HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", ""]
        connection.sendall("\r\n".join(lines).encode() + body)
    return connection
