"""A message of 400 MB costs a server no memory beyond its bounds, and other clients no time."""

import asyncio
import re
import struct
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest
from aiohttp import WSMsgType, web
from mcp import Client

from bfsql.models import NodeRecord
from bfsql_gremlin import GremlinSettings
from bfsql_gremlin.load.loader import load_graph
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.port import HOST
from bfsql_test_support.servers.serve_process import serving

MB = 1_000_000 if THOROUGH else 100_000
"""Everyday, sizes and limits are a tenth."""
MEMORY = 200 * MB
BEYOND = 300_000_000
CHUNK = b" " * 500_000


class Proxy:
    """Passes on what a Gremlin Server says, but answers requests for the node `large` itself."""

    def __init__(self, uri, size, fragments):
        self.target = uri
        self.size, self.fragments = size, fragments

    async def serve(self, request):
        """Connect a client with the server."""
        here = web.WebSocketResponse()
        await here.prepare(request)
        async with aiohttp.ClientSession() as session, session.ws_connect(self.target) as there:
            answers = asyncio.create_task(self._pass_on(there, here))
            async for message in here:
                if message.type is WSMsgType.BINARY and b"large" in message.data:
                    await self._send_large(request)
                    break
                await there.send_bytes(message.data)
            answers.cancel()
        return here

    async def _pass_on(self, there, here):
        async for message in there:
            await here.send_bytes(message.data)

    async def _send_large(self, request):
        """A text in fragments (RFC 6455, 5.2), until the client hangs up."""
        transport = request.transport
        length = self.size // self.fragments
        for number in range(self.fragments):
            final = 0x80 * (number == self.fragments - 1)
            head = struct.pack(">BBQ", final | (number == 0), 127, length)
            for start in range(0, length, len(CHUNK)):
                if transport is None or transport.is_closing():
                    return
                transport.write(head + CHUNK[: length - start])
                head = b""
                while transport.get_write_buffer_size() and not transport.is_closing():  # noqa: ASYNC110 - no event tells it
                    await asyncio.sleep(0.001)


@pytest.fixture
async def uri(request, tinkergraph):
    """The address of a proxy with one message for the node `large`."""
    names = {"large": "Large", "small": "Small"}
    records = [NodeRecord(node, "T", {"name": name}) for node, name in names.items()]
    await load_graph(GremlinSettings(uri=[tinkergraph.uri], **tinkergraph.login), records)
    app = web.Application()
    app.router.add_get("/gremlin", Proxy(tinkergraph.uri, *request.param).serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    yield f"ws://{HOST}:{runner.addresses[0][1]}/gremlin"
    await runner.cleanup()


async def slowest_search(url, done):
    """The most seconds that a search of another client takes until the event."""
    slowest = 0.0
    async with Client(url) as client:
        while not done.is_set():
            began = time.monotonic()
            answer = await client.call_tool("search_entities", {"query": "Small"})
            slowest = max(slowest, time.monotonic() - began)
            assert "small" in str(answer.content)
    return slowest


def peak_of(pid):
    """The most bytes of memory that a process has had."""
    [kilobytes] = re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text("ascii"))
    return int(kilobytes) * 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a process")
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ((400 * MB, 1), "a message that is too large"),
        ((400 * MB, 50), "a message that is too large"),
        ((90 * MB, 1), "memory"),
    ],
    ids=["one frame", "fragments", "below the limit"],
    indirect=["uri"],
)
async def test_a_large_message_stays_within_the_memory_of_a_call(uri, said):
    limits = ("--max-message-bytes", str(100 * MB), "--max-call-memory", str(MEMORY))
    with ExitStack() as stack:
        server = serving("--backend", "gremlin", "--uri", uri, *limits)
        served = await asyncio.to_thread(stack.enter_context, server)  # the proxy is in this loop
        done = asyncio.Event()
        async with asyncio.TaskGroup() as tasks, Client(f"{served.url}/mcp") as client:
            await client.call_tool("search_entities", {"query": "Small"})
            searches = tasks.create_task(slowest_search(f"{served.url}/mcp", done))
            answer = await client.call_tool("describe_entity", {"id": "large"})
            done.set()
        peak = peak_of(served.pid)
        assert await asyncio.to_thread(served.stop) == 0
    assert peak < MEMORY + BEYOND
    assert searches.result() < 1
    assert answer.is_error
    assert said in "\n".join([str(answer.content), *served.log]), (answer.content, served.log)
