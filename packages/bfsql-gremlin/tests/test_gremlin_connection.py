"""A slow, hanging, stopping or lost server costs a call at most an error; the next call works."""

import asyncio
import json
import re
import ssl
from collections.abc import Callable

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_gremlin import GremlinBackend, GremlinSettings, connection, queries
from bfsql_gremlin.connection import Client
from bfsql_gremlin.load.loader import load_graph
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.certificates import CA, CERTIFICATE, KEY, make_certificates
from bfsql_test_support.servers.port import HOST, free_port

STRATEGIES = re.compile(rb'"source": \[\[.*?\]\], ')
SLOW = "g.V().repeat(both()).times(9).path().count()"
GRAPH = [
    NodeRecord("a", "T", {"name": "one"}),
    NodeRecord("b", "T", {"name": "two"}),
    *(EdgeRecord(s, f"p{n}", o) for n in range(5) for s, o in ("ab", "ba", "aa")),
]
RING = {(s, f"p{n}", o) for n in range(5) for s, o in ("ab", "aa", "ba")}


class Proxy:
    """A replica: passes messages to a real server, or fails in one of the ways that were seen."""

    def __init__(self, uri):
        self.mode = "open"
        self.requests = 0
        self._uri = uri
        self._open: set[web.WebSocketResponse] = set()

    async def start(self, tls=None):
        app = web.Application()
        app.router.add_get("/gremlin", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        port = free_port()
        await web.TCPSite(self._runner, HOST, port, ssl_context=tls).start()
        self.uri = f"{'wss' if tls else 'ws'}://{HOST}:{port}/gremlin"

    async def stop(self):
        await self._runner.cleanup()

    def cut(self):
        """Break the open connections."""
        for socket in self._open:
            if socket._req and socket._req.transport:
                socket._req.transport.abort()

    async def _serve(self, request):
        if self.mode == "refuse":
            return web.Response(status=503)
        near = web.WebSocketResponse(autoping=self.mode != "hang", max_msg_size=0)
        await near.prepare(request)
        self._open.add(near)
        tasks: list[asyncio.Task[None]] = []
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(self._uri, max_msg_size=0) as far,
            ):
                async for message in near:
                    if message.type is WSMsgType.BINARY:
                        passing = self._pass_on(message.data, near, far, request)
                        tasks.append(asyncio.create_task(passing))
                    if self.mode == "hang":  # otherwise, pings are answered meanwhile
                        await asyncio.sleep(60)
        finally:
            self._open.discard(near)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return near

    async def _pass_on(self, data, near, far, request):
        self.requests += 1
        if self.mode == "hang":
            return
        if self.mode == "stopping":
            await near.send_bytes(_refusal(data, 'Cannot invoke "x" because "def" is null'))
            return
        await far.send_bytes(STRATEGIES.sub(b"", data) if self.mode == "forgetful" else data)
        while True:
            answer = await far.receive()
            if self.mode == "half":
                assert request.transport
                await near.send_bytes(answer.data[: len(answer.data) // 2])
                return
            if self.mode == "cut":
                assert request.transport
                request.transport.abort()
                return
            await near.send_bytes(answer.data)
            if self.mode == "begin":
                assert request.transport
                request.transport.abort()
                return
            if json.loads(answer.data)["status"]["code"] != 206:
                return


def _refusal(data, message):
    request = json.loads(data[data.index(b"{") :])["requestId"]["@value"]
    empty = {"@type": "g:Map", "@value": []}
    return json.dumps(
        {
            "requestId": request,
            "status": {"code": 500, "message": message, "attributes": empty},
            "result": {"data": None, "meta": empty},
        }
    ).encode()


@pytest.fixture(scope="module")
def graph(tinkergraph):
    """The address of a server with `GRAPH`."""
    asyncio.run(load_graph(GremlinSettings(uri=[tinkergraph.uri]), GRAPH))
    return tinkergraph.uri


@pytest.fixture
async def two(graph):
    """Two replicas."""
    proxies = Proxy(graph), Proxy(graph)
    for proxy in proxies:
        await proxy.start()
    yield proxies
    for proxy in proxies:
        await proxy.stop()


@pytest.fixture
async def backend(two):
    """A backend on both of them."""
    settings = GremlinSettings(uri=[one.uri for one in two], serializer="graphson")
    opened = await GremlinBackend.open(settings)
    yield opened
    await opened.close()


async def ring(backend):
    return set(await backend.edges_batch(["a"]))


@pytest.fixture
def impatient(monkeypatch):
    """Servers are pinged after a short silence."""
    monkeypatch.setattr(connection, "SILENCE", 0.2)
    monkeypatch.setattr(connection, "PONG", 0.2)


@pytest.mark.parametrize("mode", ["cut", "stopping", "hang", "refuse"])
@pytest.mark.usefixtures("impatient")
async def test_the_next_replica_answers_for_one_that_fails(two, backend, mode):
    first, second = two
    first.mode = mode
    if mode == "refuse":
        first.cut()
    for _ in range(3):
        assert await ring(backend) == RING
    failed = first.requests
    await ring(backend)
    assert first.requests == failed, "the replica that failed is asked again"
    first.mode, second.mode = "open", mode
    second.cut()
    assert await ring(backend) == RING


async def test_with_no_replica_left_the_error_says_so_and_the_next_call_works(two, backend):
    for mode, said in (("refuse", "HTTP status 503. Start one of them"), ("stopping", "could not")):
        for proxy in two:
            proxy.mode = mode
            proxy.cut()
        for ask in (ring(backend), backend.ping()):
            with pytest.raises(StoreUnavailable, match=said):
                await ask
        for proxy in two:
            proxy.mode = "open"
        assert await ring(backend) == RING


async def test_half_an_answer_is_an_error_and_never_a_ring(two, backend):
    two[0].mode = "half"
    with pytest.raises(StoreError, match="an answer that cannot be read"):
        await ring(backend)
    two[0].mode = "open"
    assert await ring(backend) == RING


async def test_an_answer_that_breaks_off_is_asked_for_again_or_an_error_and_never_a_ring(
    two, backend, monkeypatch
):
    monkeypatch.setattr(connection, "ROWS", 1)
    two[0].mode = "begin"
    assert await ring(backend) == RING
    two[1].mode = "begin"
    with pytest.raises(StoreUnavailable, match="does not answer"):
        await ring(backend)
    two[0].mode = two[1].mode = "open"
    assert await ring(backend) == RING


async def test_a_server_that_ignores_strategies_answers_the_same(two, backend):
    two[0].mode = "forgetful"
    client = backend._client
    assert await ring(backend) == RING
    assert await client.rows(queries.source().V().limit(0).drop()) == []  # elsewhere refused
    assert "lets this client change the graph" in (await backend.may_write() or "")


async def test_a_connection_that_broke_while_it_was_idle_is_replaced(two, backend):
    two[0].cut()
    await asyncio.sleep(0.05)
    assert await ring(backend) == RING
    assert two[1].requests == 0


async def test_the_deadline_of_the_call_reaches_the_server(graph, monkeypatch):
    monkeypatch.setattr("bfsql_gremlin.queries.ring", _slow)
    backend, limits = await GremlinBackend.create(graph), []
    serialize = backend._client._serializer.serialize_message
    monkeypatch.setattr(
        backend._client._serializer,
        "serialize_message",
        lambda request, message: limits.append(message.args) or serialize(request, message),
    )
    with call.scope(seconds=0.5), pytest.raises(TimeoutError):
        await backend.edges_batch(["a"])
    assert 0 < limits[-1]["evaluationTimeout"] <= 500
    monkeypatch.undo()
    assert await ring(backend) == RING
    await backend.close()


async def test_the_server_stops_a_query_that_takes_too_long(graph, monkeypatch):
    """Its own limit is that of the call, which the client here outlives."""
    monkeypatch.setattr("bfsql_gremlin.queries.ring", _slow)
    backend = await GremlinBackend.create(graph)
    serialize = backend._client._serializer.serialize_message
    short: Callable[..., bytes] = lambda request, message: serialize(
        request, message._replace(args=message.args | {"evaluationTimeout": 200})
    )
    monkeypatch.setattr(backend._client._serializer, "serialize_message", short)
    with pytest.raises(TimeoutError, match="stopped a query that took too long"):
        await backend.edges_batch(["a"])
    await backend.close()


def _slow(*_):
    from gremlin_python.process.graph_traversal import __

    from bfsql_gremlin import queries

    return queries.source().V().repeat(__.both()).times(30).path().count()


async def test_a_cancelled_call_harms_no_other(graph, monkeypatch):
    backend = await GremlinBackend.create(graph, pool_size=1)
    monkeypatch.setattr("bfsql_gremlin.queries.ring", _slow)
    slow = asyncio.ensure_future(backend.edges_batch(["a"]))
    await asyncio.sleep(0.1)
    monkeypatch.undo()
    waiting = asyncio.ensure_future(ring(backend))
    await asyncio.sleep(0.05)
    slow.cancel()
    assert await waiting == RING
    await backend.close()


async def test_calls_that_find_no_free_connection_say_so(graph, monkeypatch):
    backend = await GremlinBackend.create(graph, pool_size=1, connect_timeout=0.2)
    monkeypatch.setattr("bfsql_gremlin.queries.ring", _slow)
    slow = asyncio.ensure_future(backend.edges_batch(["a"]))
    await asyncio.sleep(0.1)
    with pytest.raises(StoreUnavailable, match=r"none of 1 connections was free .* --pool-size"):
        await backend.get_nodes_batch(["a"])
    await backend.ping()  # of the server, which answers
    slow.cancel()
    await backend.close()
    with pytest.raises(StoreUnavailable, match="is closed; open it again"):
        await backend.ping()


# --- servers that cannot be used --------------------------------------------------


async def test_a_server_that_is_away_is_said_with_what_to_do():
    with pytest.raises(StoreUnavailable, match=r"does not answer: .* Start it, or correct GREMLIN"):
        await GremlinBackend.create(f"ws://{HOST}:{free_port()}/gremlin")


@pytest.mark.usefixtures("impatient")
async def test_a_server_that_stays_silent_is_given_up(silent):
    with pytest.raises(StoreUnavailable, match=r"no connection within 0\.2 s"):
        await GremlinBackend.create(f"ws://{HOST}:{silent}/gremlin", connect_timeout=0.2)


async def test_what_is_no_gremlin_server_is_said(bad_endpoint):
    with pytest.raises(StoreError, match=r"is not a Gremlin server: .* HTTP status \d+ .*/gremlin"):
        await GremlinBackend.create(bad_endpoint.url.replace("http://", "ws://"))


async def test_a_wrong_source_is_said(graph):
    with pytest.raises(StoreError, match=r"has no traversal source 'zz': .*--traversal-source"):
        await GremlinBackend.create(graph, traversal_source="zz")


async def test_a_step_that_the_server_lacks_is_said(graph):
    client = Client(GremlinSettings(uri=[graph]))
    traversal = queries.source().V()
    traversal.bytecode.add_step("newStep")
    with pytest.raises(StoreError, match=r"lacks a step .*newStep.* TinkerPop 3\.7"):
        await client.rows(traversal)
    await client.close()


async def test_a_server_without_tls_is_said(graph):
    with pytest.raises(StoreError, match=r"could not agree on TLS|does not answer"):
        await GremlinBackend.create(graph.replace("ws://", "wss://"))


async def test_a_server_with_tls_is_trusted_by_its_certificate(graph, tmp_path):
    folder = tmp_path / "certificates"
    if not make_certificates(folder):
        missing("openssl", "there is no openssl to make certificates with")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    proxy = Proxy(graph)
    await proxy.start(context)
    with pytest.raises(StoreError, match=r"could not agree on TLS: .*--ca-file"):
        await GremlinBackend.create(proxy.uri)
    settings = {"ca_file": folder / CA, "serializer": "graphson"}
    backend = await GremlinBackend.create(proxy.uri, **settings)
    assert await ring(backend) == RING
    await backend.close()
    await proxy.stop()


async def test_a_login_to_arcadedb_that_is_missing_or_wrong_is_said_and_not_shown(each, arcadedb):
    for login, said in [
        ({}, "requires a login. Set GREMLIN_USERNAME and GREMLIN_PASSWORD"),
        ({"username": "root", "password": "wrong"}, "rejected the login of 'root'"),
    ]:
        with each(login, said):
            with pytest.raises(StoreError, match=said) as refused:
                await GremlinBackend.create(arcadedb.uri, **login)
            assert "wrong'" not in str(refused.value)
