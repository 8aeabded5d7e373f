"""Clients of a server of the test: one that sends any request unchecked, and waiting."""

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Self

import httpx2
from mcp import Client

from bfsql_test_support.raw_mcp import HELLO, message
from bfsql_test_support.servers.serve_process import Served

JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PATIENCE = 60
"""Seconds until a server counts as hung; a busy machine takes ten to start one."""


async def until(holds: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Wait until a condition, plain or asynchronous, holds."""
    async with asyncio.timeout(seconds):
        while True:
            found = holds()
            if await found if inspect.isawaitable(found) else found:
                return
            await asyncio.sleep(0.02)


async def answers(server: Served) -> None:
    """Check that a client of each protocol era gets an answer about the films."""
    for era in ("auto", "legacy"):
        async with Client(f"{server.url}/mcp", mode=era, read_timeout_seconds=PATIENCE) as client:
            answer = await client.call_tool("search_entities", {"query": "Top Gun"})
            assert not answer.is_error, answer


class Raw:
    """A client of the 2025 protocol that sends any request unchecked."""

    def __init__(self, server: Served, address: str = "127.0.0.1") -> None:
        transport = httpx2.AsyncHTTPTransport(local_address=address)
        self.http = httpx2.AsyncClient(transport=transport, headers=JSON, timeout=PATIENCE)
        self.url = f"{server.url}/mcp"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.http.aclose()

    async def open(self) -> str:
        """Open a session; return its id."""
        answer = await self.post(None, 0, "initialize", HELLO)
        assert answer.status_code == 200, answer.text
        session: str = answer.headers["mcp-session-id"]
        return session

    async def post(
        self, session: str | None, number: Any, method: str, params: Mapping[str, Any] | None = None
    ) -> httpx2.Response:
        """Send a request in a session, or outside if it is None."""
        return await self.send(session, encoded(number, method, params))

    async def send(self, session: str | None, request: bytes) -> httpx2.Response:
        headers = {} if session is None else {"Mcp-Session-Id": session}
        return await self.http.post(self.url, content=request, headers=headers)


def encoded(number: Any, method: str, params: Mapping[str, Any] | None) -> bytes:
    return json.dumps(message(number, method, params)).encode()


def result(answer: httpx2.Response) -> dict[str, Any]:
    """The last message of the stream of events that answers a call."""
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    document: dict[str, Any] = json.loads(lines[-1].removeprefix("data: "))
    return document
