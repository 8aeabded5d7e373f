"""The HTTP requests that a server is answering when it is stopped."""

import asyncio
from typing import Any

import pytest

from bfsql.errors import ToolError
from bfsql.serving.calls import Calls
from bfsql.serving.requests import Requests

START = {"type": "http.response.start", "status": 200, "headers": []}


class Exchange:
    """A request to the server, and the messages sent in answer."""

    def __init__(self, body: bytes, *, whole: bool) -> None:
        self.scope = {"type": "http", "method": "POST", "headers": []}
        self.sent: list[Any] = []
        self._parts = [{"type": "http.request", "body": body, "more_body": not whole}]

    async def receive(self) -> Any:
        if self._parts:
            return self._parts.pop()
        return await asyncio.Event().wait()

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status


@pytest.mark.parametrize(("waiting", "status"), [(False, 200), (True, 503)])
async def test_a_request_that_arrives_at_the_end_of_a_drain_is_answered(waiting, status):
    """The application answers in the protocol's own terms, unless the server's time is over."""
    read, go_on = asyncio.Event(), asyncio.Event()

    async def application(_: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        read.set()
        await go_on.wait()
        await send(START)
        await send({"type": "http.response.body", "body": b"{}"})

    requests = Requests(application)
    whole, half = Exchange(b"{}", whole=True), Exchange(b"{", whole=False)
    answering = [
        asyncio.ensure_future(requests(one.scope, one.receive, one.send)) for one in (whole, half)
    ]
    await read.wait()
    requests.end(waiting=waiting)
    go_on.set()
    await asyncio.gather(*answering)
    assert (whole.status, half.status) == (status, 503)


async def test_a_request_that_was_not_read_yet_is_answered_by_the_application():
    """It may have arrived in full: on a busy machine, reading it may take a while."""
    began, go_on = asyncio.Event(), asyncio.Event()

    async def application(_: Any, receive: Any, send: Any) -> None:
        began.set()
        await go_on.wait()
        await receive()
        await send(START)
        await send({"type": "http.response.body", "body": b"{}"})

    requests, exchange = Requests(application), Exchange(b"{}", whole=True)
    answering = asyncio.ensure_future(requests(exchange.scope, exchange.receive, exchange.send))
    await began.wait()
    requests.end(waiting=False)
    go_on.set()
    await answering
    assert exchange.status == 200


async def test_a_request_leaves_no_reference_cycle():
    """The request holds uvicorn's request, which holds the scope; so the scope must not hold it."""

    async def application(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(START)
        await send({"type": "http.response.body", "body": b"{}"})

    exchange = Exchange(b"{}", whole=True)
    await Requests(application)(exchange.scope, exchange.receive, exchange.send)
    assert exchange.status == 200
    assert set(exchange.scope) == {"type", "method", "headers"}


async def test_a_call_that_is_being_ended_is_ended_once():
    calls, ending, unwound = Calls(), asyncio.Event(), asyncio.Event()

    async def slow_to_end() -> None:
        async with calls.call():
            try:
                await asyncio.Event().wait()
            finally:
                ending.set()
                await unwound.wait()

    call = asyncio.ensure_future(slow_to_end())
    await asyncio.sleep(0)
    calls.end()
    await ending.wait()
    calls.end()
    unwound.set()
    with pytest.raises(ToolError):
        await call
