"""A web API over a small graph, on a real server that listens on a free port."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import httpx2
import pytest
import uvicorn

from bfsql.graph import open_graph
from bfsql.http import tls_context
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql.rest import application
from bfsql.serving.address import bind, url
from bfsql.settings import ServeSettings
from bfsql_test_support.servers.web import end_at_once

QUOTE = [{"document_id": "doc:1", "section": "abstract", "text_span": "They met.", "confidence": 1}]


@pytest.fixture
def records() -> list[GraphRecord]:
    """Two films, three people, and who did what in them."""
    return [
        NodeRecord("film:1", "Film", {"name": "Sleepless in Seattle", "year": 1993}),
        NodeRecord("film:2", "Film", {"name": "You've Got Mail"}),
        NodeRecord("person:1", "Person", {"name": "Tom Hanks", "total_mentions": 5}),
        NodeRecord("person:2", "Person", {"name": "Meg Ryan"}),
        NodeRecord("person:3", "Person", {"name": "Nora Ephron"}),
        EdgeRecord("person:1", "ACTED_IN", "film:1", {"confidence": 0.9, "provenance": QUOTE}),
        EdgeRecord("person:1", "ACTED_IN", "film:2"),
        EdgeRecord("person:2", "ACTED_IN", "film:1"),
        EdgeRecord("person:2", "ACTED_IN", "film:2"),
        EdgeRecord("person:3", "DIRECTED", "film:1"),
    ]


@pytest.fixture
async def served(records):
    """Serves a backend, or the records, with settings by keyword; makes clients."""
    async with AsyncExitStack() as stack:

        async def start(backend=None, *, hooks=(), observers=(), headers=None, **settings):
            told = ServeSettings(rest=True, **settings)
            graph = await stack.enter_async_context(
                open_graph(
                    backend or MemoryBackend(records),
                    graph_description="Films",
                    limits=told.limits,
                    hooks=hooks,
                    observers=observers,
                )
            )
            listening = bind("127.0.0.1", 0)
            config = uvicorn.Config(
                application(graph, told), log_config=None, lifespan="off", ws="none"
            )
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server._serve(sockets=[listening]))
            stack.push_async_callback(end_at_once, server, serving)
            return await stack.enter_async_context(
                httpx2.AsyncClient(
                    base_url=url(listening, ""), headers=headers, timeout=30, verify=tls_context()
                )
            )

        yield start


@pytest.fixture
async def web(served: Callable[..., Awaitable[httpx2.AsyncClient]]) -> httpx2.AsyncClient:
    """A client of the web API over the records."""
    return await served()
