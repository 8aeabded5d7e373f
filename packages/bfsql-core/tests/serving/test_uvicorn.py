"""What the server relies on of uvicorn beside its documentation.

If a release of uvicorn changes any of it, a test here says what has to be adapted in
`bfsql.serving.connections` or `bfsql.serving.draining`.
"""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import h11
import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from bfsql.serving.address import bind
from bfsql.serving.draining import WithoutSignals

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"


class Probe(H11Protocol):
    """Records what uvicorn calls, and in which state the connection is then."""

    made: "list[Probe]"
    before: Any = "unset"
    """The transport before the connection is made."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.before = self.transport
        self.calls: list[str] = []
        self.made.append(self)
        super().connection_made(transport)
        assert self.transport is transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append("lost")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.calls.append(f"received {self.states()}")

    def on_response_complete(self) -> None:
        self.calls.append(f"completing {self.states()}")
        super().on_response_complete()
        self.calls.append(f"complete {self.states()}")

    def states(self) -> str:
        return f"{self.conn.their_state} {self.conn.our_state}"


class Application:
    """Reads a request, and answers it when it may."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.may_start, self.may_end = asyncio.Event(), asyncio.Event()
        self.may_read = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        await self.may_read.wait()
        while (await receive()).get("more_body"):
            pass
        await self.may_start.wait()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.may_end.wait()
        await send({"type": "http.response.body", "body": b"ok"})

    def go_on(self) -> None:
        for event in (self.may_read, self.may_start, self.may_end):
            event.set()


class Running:
    """A server with one client."""

    def __init__(self, app: Application, server: uvicorn.Server, writer: Any, reader: Any) -> None:
        self.app, self.server, self.writer, self.reader = app, server, writer, reader
        [self.protocol] = Probe.made

    async def send(self, *parts: bytes) -> None:
        """Send bytes, each as its own packet."""
        for part in parts:
            before = len(self.protocol.calls)
            self.writer.write(part)
            await until(lambda before=before: len(self.protocol.calls) > before)

    async def answer(self) -> bytes:
        answer: bytes = await self.reader.readuntil(b"ok")
        return answer


async def until(condition: Any) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running() -> AsyncIterator[Running]:
    app, Probe.made = Application(), []
    with bind("127.0.0.1", 0) as listener:
        server = WithoutSignals(app, http=Probe, lifespan="off", timeout_graceful_shutdown=1)
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        try:
            await until(lambda: Probe.made)
            yield Running(app, server, writer, reader)
        finally:
            app.go_on()
            writer.close()
            server.should_exit = True
            async with asyncio.timeout(30):
                await serving


async def test_a_protocol_has_a_transport_only_after_its_connection_was_made():
    """A refused connection is one that `H11Protocol.connection_made` was not called for."""
    async with running() as one:
        assert one.protocol.before is None
        assert one.protocol.loop is asyncio.get_running_loop()


async def test_what_was_received_is_parsed_when_data_received_returns():
    """The states of `conn`, an `h11.Connection`, say what a connection waits for."""
    async with running() as one:
        assert isinstance(one.protocol.conn, h11.Connection)
        await one.send(HEAD[:10])
        assert one.protocol.conn.trailing_data[0] == HEAD[:10]
        await one.send(HEAD[10:], b"12", b"34")
        assert one.protocol.calls == [
            "received IDLE IDLE",
            "received SEND_BODY SEND_RESPONSE",
            "received SEND_BODY SEND_RESPONSE",
            "received DONE SEND_RESPONSE",
        ]


async def test_each_response_completes_once_and_the_next_request_begins_within_that_call():
    async with running() as one:
        one.app.may_read.set()
        one.app.may_start.set()
        await one.send(HEAD + b"1234" + HEAD[:5])
        await until(lambda: one.protocol.conn.our_state is h11.SEND_BODY)
        one.app.go_on()
        assert b"200 OK" in await one.answer()
        assert one.protocol.calls[1:] == ["completing DONE DONE", "complete IDLE IDLE"]
        await one.send(HEAD[5:] + b"1234")
        assert b"200 OK" in await one.answer()
        assert one.protocol.calls[-2:] == ["completing DONE DONE", "complete IDLE IDLE"]


async def test_the_scope_of_a_protocol_is_the_one_that_its_application_got():
    """`bfsql.serving.requests` adds the request to it."""
    async with running() as one:
        await one.send(HEAD)
        await until(lambda: one.app.scopes)
        assert one.app.scopes == [one.protocol.scope]
        assert one.app.scopes[0] is one.protocol.scope


async def test_reading_pauses_while_the_application_does_not_read():
    async with running() as one:
        assert not one.protocol.flow.read_paused
        await one.send(HEAD.replace(b": 4", b": 4000000"))
        one.writer.write(bytes(4_000_000))
        await until(lambda: one.protocol.flow.read_paused)
        one.app.go_on()
        await one.answer()
        assert not one.protocol.flow.read_paused


async def test_a_connection_is_lost_once():
    async with running() as one:
        one.protocol.transport.abort()
        await until(lambda: one.protocol.calls == ["lost"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_server_whose_capture_signals_does_nothing_leaves_signals_alone(number):
    before = signal.getsignal(number)
    async with running():
        assert signal.getsignal(number) is before


async def test_should_exit_ends_serve_by_way_of_shutdown_which_closes_the_sockets():
    closed: list[socket.socket] = []

    class Server(WithoutSignals):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            closed.extend(one for one in sockets or () if one.fileno() == -1)

    with bind("127.0.0.1", 0) as listener:
        server = Server(Application(), lifespan="off", timeout_graceful_shutdown=1)
        server.should_exit = False
        asyncio.get_running_loop().call_later(0.1, setattr, server, "should_exit", True)
        await asyncio.wait_for(server.serve(sockets=[listener]), 30)
        assert closed == [listener]
