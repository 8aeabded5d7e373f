"""What a hostile server sends costs a call an error: no memory, no time, and no password."""

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import web

from bfsql import call
from bfsql.errors import CallMemoryMet, StoreError, StoreUnavailable
from bfsql.memory_account import MemoryAccount
from bfsql_gremlin import GremlinSettings, queries
from bfsql_gremlin.connection import Client
from bfsql_test_support.servers.port import HOST, free_port

Reply = Callable[[web.WebSocketResponse, Any], Awaitable[None]]
SIZE = 4_000_000
"""Bytes of a call's memory, and ten times the largest message."""


def traverser(value, bulk=1):
    bulks = {"@type": "g:Int64", "@value": bulk}
    return {"@type": "g:Traverser", "@value": {"bulk": bulks, "value": value}}


def answer(request_id, *results, code=200, message=""):
    data = {"@type": "g:List", "@value": list(results)}
    empty: dict[str, Any] = {"@type": "g:Map", "@value": []}
    status = {"code": code, "message": message, "attributes": empty}
    result = {"data": data, "meta": empty}
    return json.dumps({"requestId": request_id, "status": status, "result": result})


class HostileServer:
    """Sends what a test wants, and records the requests."""

    def __init__(self):
        self.reply: Reply
        self.requests: list[dict[str, Any]] = []
        self.port = free_port()
        self.uri = f"ws://{HOST}:{self.port}/gremlin"

    async def start(self):
        app = web.Application()
        app.router.add_get("/gremlin", self._serve)
        app.router.add_get("/moved", self._move)
        self.runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self.runner.setup()
        await web.TCPSite(self.runner, HOST, self.port).start()

    async def _serve(self, request):
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            self.requests.append(json.loads(message.data[message.data.index(b"{") :]))
            try:
                await self.reply(socket, self.requests[-1]["requestId"]["@value"])
            except ConnectionError:
                break
        return socket

    async def _move(self, _request):
        return web.Response(status=307, headers={"Location": f"http://{HOST}:{self.port}/gremlin"})


@pytest.fixture
async def server():
    one = HostileServer()
    await one.start()
    yield one
    await one.runner.cleanup()


async def ask(uri, *, seconds=20, collected=True, **settings):
    """The results of a traversal in a call of `SIZE` bytes of memory."""
    given = {"username": "user", "password": "secret", "serializer": "graphson"} | settings
    client = Client(GremlinSettings(uri=[uri], max_message_bytes=SIZE // 10, **given))
    account = MemoryAccount(None)
    try:
        with call.scope(seconds=seconds, memory=account.of_call(SIZE)):
            if collected:
                return await client.rows(queries.source().inject(0))
            return sum([len(p) async for p in client.stream(queries.source().inject(0))])
    finally:
        assert account.held == 0
        await client.close()


async def bulky(socket, request_id):
    await socket.send_str(answer(request_id, traverser("a", 10**9)))


async def bulky_within_the_bound(socket, request_id):
    await socket.send_str(answer(request_id, traverser("a", 10**6)))


async def negative(socket, request_id):
    await socket.send_str(answer(request_id, traverser("a", -1)))


async def bulk_set(socket, request_id):
    value = ["a", {"@type": "g:Int64", "@value": 10**9}]
    await socket.send_str(answer(request_id, traverser({"@type": "g:BulkSet", "@value": value})))


async def large(socket, request_id):
    await socket.send_str(answer(request_id, traverser("a" * SIZE)))


async def foreign(socket, _request_id):
    await socket.send_str(answer(str(uuid4()), traverser("of another call")))


async def without_id(socket, _request_id):
    await socket.send_str(answer(None, code=499, message="no such request"))


async def no_results(socket, request_id):
    await socket.send_str(answer(request_id, {"a": 1}))


async def endless_answer(socket, request_id):
    part = answer(request_id, *[traverser("a" * 1_000)] * 50, code=206)
    while not socket.closed:
        await socket.send_str(part)
        await asyncio.sleep(0)  # the client is in the same loop


async def endless_logins(socket, request_id):
    await socket.send_str(answer(request_id, code=407))


async def endless_message(socket, _request_id):
    """Fragments of a message that has no last one (RFC 6455, 5.4)."""
    transport = socket._req.transport
    opcode = 1
    while transport and not transport.is_closing():
        transport.write(struct.pack(">BBH", opcode, 126, 50_000) + b" " * 50_000)
        opcode = 0
        await asyncio.sleep(0)
    raise ConnectionError


async def endless_frame(socket, _request_id):
    """A frame that declares 2**40 bytes, of which the first arrive."""
    transport = socket._req.transport
    assert transport
    transport.write(struct.pack(">BBQ", 0x81, 127, 1 << 40) + b" " * 50_000)


async def test_an_answer_is_bounded(each, server):
    for reply, error, said in [
        (bulky, StoreError, "a message with 1,000,000,000 results, more than the 50,000,000"),
        (bulky_within_the_bound, CallMemoryMet, "limit of 4 MB of memory"),
        (negative, StoreError, "not a list of results"),
        (no_results, StoreError, "not a list of results"),
        (bulk_set, StoreError, "it contains a BulkSet"),
        (large, StoreError, "a message that is too large: .* Raise --max-message-bytes"),
        (endless_message, StoreError, "a message that is too large"),
        (endless_frame, StoreError, "a message that is too large"),
        (endless_answer, CallMemoryMet, "limit of 4 MB of memory"),
        (foreign, StoreUnavailable, "it sent an answer to another request"),
        (without_id, StoreError, "refused: no such request"),
    ]:
        server.reply = reply
        with each(reply.__name__), pytest.raises(error, match=said):
            await ask(server.uri)


@pytest.mark.parametrize("reply", [endless_answer, endless_logins])
async def test_an_answer_without_an_end_ends_with_its_call(server, reply):
    server.reply = reply
    with pytest.raises(TimeoutError):
        await ask(server.uri, seconds=0.5, collected=False)


async def test_a_redirect_is_not_followed_and_no_password_is_sent(server):
    server.reply = endless_logins
    with pytest.raises(StoreError, match=rf"redirects to http://{HOST}:{server.port}, to which"):
        await ask(server.uri.replace("/gremlin", "/moved"))
    assert server.requests == []
