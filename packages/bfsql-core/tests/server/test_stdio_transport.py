"""JSON-RPC by lines: invalid messages, ids, and the bound on unanswered requests."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from bfsql.answers import list_answer
from bfsql.server.stdio_transport import MAX_LINE_BYTES, MAX_UNANSWERED, Lines

SECONDS = 30


class Talk:
    """Both ends of a server's lines: the client's and the SDK's."""

    def __init__(self) -> None:
        given, write = os.pipe()
        read, taken = os.pipe()
        self._in, self._out = os.fdopen(read, "rb"), os.fdopen(write, "wb")
        self._server_in, self._server_out = os.fdopen(given, "rb"), os.fdopen(taken, "wb")
        self.lines = Lines(self._server_in, self._server_out)
        self.requests: MemoryObjectReceiveStream[SessionMessage | Exception]
        self.answers: MemoryObjectSendStream[SessionMessage]

    async def send(self, *lines: bytes) -> None:
        """Send lines as the client."""

        def write() -> None:
            self._out.write(b"".join(line + b"\n" for line in lines))
            self._out.flush()

        await anyio.to_thread.run_sync(write)

    async def read(self) -> dict[str, Any]:
        """Read an answer as the client."""
        with anyio.fail_after(SECONDS):
            answer: dict[str, Any] = json.loads(await anyio.to_thread.run_sync(self._in.readline))
        return answer

    async def take(self) -> JSONRPCRequest:
        """Take a request as the SDK."""
        with anyio.fail_after(SECONDS):
            item = await self.requests.receive()
        assert isinstance(item, SessionMessage)
        assert isinstance(item.message, JSONRPCRequest)
        return item.message

    async def answer(self, number: int) -> None:
        """Answer a request as the SDK."""
        message = JSONRPCResponse(jsonrpc="2.0", id=number, result={})
        await self.answers.send(SessionMessage(message))

    def leave(self) -> None:
        """Disconnect as the client."""
        self._out.close()

    def close(self) -> None:
        """Close the remaining files of both ends."""
        for file in (self._in, self._server_in, self._server_out):
            file.close()


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    """A client that is connected, and disconnects at the end."""
    talk = Talk()
    async with talk.lines as (talk.requests, talk.answers):
        yield talk
        talk.leave()
    talk.close()


def ping(number: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"no JSON", -32700),
        (b'{"jsonrpc": "2.0", "id": 1,', -32700),
        (b'"\\ud800"', -32700),
        (b"[" * 3_000, -32700),
        (b"[]", -32600),
        (b"{}", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (ping("1" * MAX_LINE_BYTES), -32600),
        *((ping(odd), -32600) for odd in (None, 1.5, {"a": 1}, [1], True)),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_what_is_no_message_is_answered_and_the_next_is_served(line, code):
    async with talking() as talk:
        await talk.send(line, b"", ping("next"))
        answer = await talk.read()
        assert (answer["id"], answer["error"]["code"]) == (None, code)
        assert (await talk.take()).id == "next"


async def test_an_id_in_use_is_refused_and_nothing_is_lost():
    async with talking() as talk:
        await talk.send(ping(1), ping(1), ping(2))
        assert (await talk.take()).id == 1
        refused = await talk.read()
        assert (refused["id"], refused["error"]["code"]) == (1, -32600)
        assert "its own id" in refused["error"]["message"]
        assert (await talk.take()).id == 2
        assert talk.lines.unanswered == 2
        await talk.answer(1)
        assert await talk.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        await talk.send(ping(1))
        assert (await talk.take()).id == 1


async def test_many_unanswered_requests_keep_further_ones_waiting():
    async with talking() as talk:
        await talk.send(*map(ping, range(MAX_UNANSWERED + 2)))
        for number in range(MAX_UNANSWERED):
            assert (await talk.take()).id == number
        assert talk.lines.unanswered == MAX_UNANSWERED
        with pytest.raises(anyio.WouldBlock):
            talk.requests.receive_nowait()
        await talk.answer(5)
        assert (await talk.read())["id"] == 5
        assert (await talk.take()).id == MAX_UNANSWERED
        await talk.answer(6)
        assert (await talk.take()).id == MAX_UNANSWERED + 1


async def test_a_request_that_is_cancelled_is_waited_for_no_more():
    async with talking() as talk:
        await talk.send(ping(1))
        await talk.take()
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        await talk.send(json.dumps({"jsonrpc": "2.0", **cancelled}).encode())
        with anyio.fail_after(SECONDS):
            await talk.requests.receive()
        assert not talk.lines.unanswered


ANSWER = list_answer([{"id": "\u00e9", "note": 'a "quote"'}], ["Cut."])


async def answered(talk: Talk, item: Any) -> None:
    """Answer a request as the server does: with a result that passes the SDK."""
    passage = item.metadata.request_context
    result = passage.result(ANSWER, structured=True).model_dump(mode="json", by_alias=True)
    assert ANSWER.text not in str(result)
    message = JSONRPCResponse(jsonrpc="2.0", id=item.message.id, result=result)
    await talk.answers.send(SessionMessage(message))


async def test_an_answer_is_written_in_place_of_its_marks():
    async with talking() as talk:
        await talk.send(ping(1), ping(1))
        item = await talk.requests.receive()
        assert (await talk.read())["error"]  # the id is in use, and the first stays whole
        await answered(talk, item)
        said = (await talk.read())["result"]
    assert [block["text"] for block in said["content"]] == [ANSWER.text, "Cut."]
    assert said["structuredContent"] == ANSWER.content


async def test_a_cancelled_request_is_not_answered():
    async with talking() as talk:
        await talk.send(ping(1))
        await talk.take()
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        await talk.send(json.dumps({"jsonrpc": "2.0", **cancelled}).encode(), ping(2))
        await talk.requests.receive()  # the notification
        await talk.answer(1)
        await answered(talk, await talk.requests.receive())
        assert (await talk.read())["id"] == 2
