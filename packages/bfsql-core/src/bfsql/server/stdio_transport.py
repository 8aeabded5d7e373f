"""JSON-RPC on standard input and output, one message per line, with a limit on unanswered requests.

The SDK's own transport continues to read while its answers are not read: a client that sends a
thousand calls and reads nothing makes it hold a thousand answers in memory. Here input is not read
while many requests are unanswered.
"""

from __future__ import annotations

from types import TracebackType
from typing import BinaryIO, TypeAlias

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from bfsql.server.messages import BadMessage, id_in_use, message
from bfsql.server.passage import Passage

MAX_UNANSWERED = 32
"""Most unanswered requests of a client; beyond this, no further line is read."""

MAX_LINE_BYTES = 10_000_000

_CANCELLED = "notifications/cancelled"

_Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
_Answers: TypeAlias = MemoryObjectSendStream[SessionMessage]


class _Refusal(SessionMessage):
    """The answer to a line that is not passed on; a request of the same id stays unanswered."""


class Lines:
    """A client's messages and the answers to them, as streams for the SDK's servers.

        async with Lines(stdin, stdout) as (read_stream, write_stream):
            await server.run(read_stream, write_stream)

    Args:
        stdin: The stream that the client writes to, UTF-8.
        stdout: The stream that it reads from, UTF-8.
    """

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._tasks = anyio.create_task_group()
        self._reading = anyio.CancelScope()
        self._to_server, self._incoming = anyio.create_memory_object_stream[
            SessionMessage | Exception
        ](0)
        self._answers, self._from_server = anyio.create_memory_object_stream[SessionMessage](0)
        self._unanswered: dict[str, Passage] = {}
        self._writing = False
        self._answered = anyio.Event()

    @property
    def unanswered(self) -> int:
        """The number of requests whose answers have not been written yet."""
        return len(self._unanswered) + self._writing

    async def __aenter__(self) -> tuple[_Incoming, _Answers]:
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._read)
        self._tasks.start_soon(self._write)
        return self._incoming, self._answers

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        self._reading.cancel()
        self._incoming.close()
        self._answers.close()
        return await self._tasks.__aexit__(kind, error, traceback)

    async def _read(self) -> None:
        """Pass on the client's messages until it closes its end."""
        errors = self._answers.clone()
        async with self._to_server, errors:
            with self._reading:
                while line := await anyio.to_thread.run_sync(self._line, abandon_on_cancel=True):
                    if line.isspace():
                        continue
                    try:
                        received = self._received(line)
                    except BadMessage as bad:
                        await errors.send(_Refusal(bad.answer))
                        continue
                    passage = self._unanswered.get(str(getattr(received, "id", None)))
                    metadata = ServerMessageMetadata(request_context=passage)
                    await self._to_server.send(SessionMessage(received, metadata))
                    while self.unanswered >= MAX_UNANSWERED:
                        self._answered = anyio.Event()
                        await self._answered.wait()

    async def _write(self) -> None:
        """Write the answers."""
        async with self._from_server:
            async for item in self._from_server:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                settled = None if isinstance(item, _Refusal) else _answered_id(item.message)
                passage = self._unanswered.pop(str(settled), None)  # its client may use the id now
                if passage is None and isinstance(item.message, JSONRPCResponse):
                    continue  # its request was cancelled
                self._writing = passage is not None
                await anyio.to_thread.run_sync(self._print, text, passage)
                self._writing = False
                self._answered.set()

    def _received(self, line: bytes) -> JSONRPCMessage:
        if len(line) > MAX_LINE_BYTES:
            raise BadMessage(
                INVALID_REQUEST,
                f"The limit of a message is {MAX_LINE_BYTES:,} bytes; this one is longer.",
            )
        received = message(line.decode("utf-8", "replace").encode())
        if isinstance(received, JSONRPCRequest):
            if str(received.id) in self._unanswered:
                raise id_in_use(received.id)
            self._unanswered[str(received.id)] = Passage()
        elif isinstance(received, JSONRPCNotification) and received.method == _CANCELLED:
            self._settle((received.params or {}).get("requestId"))  # it is not answered
        return received

    def _settle(self, request_id: object) -> None:
        self._unanswered.pop(str(request_id), None)
        self._answered.set()

    def _line(self) -> bytes:
        """The next line; one that is too long is cut off one byte after the limit."""
        line = self._stdin.readline(MAX_LINE_BYTES + 1)
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = self._stdin.readline(MAX_LINE_BYTES)
        return line

    def _print(self, text: bytes, passage: Passage | None) -> None:
        self._stdout.write((passage.whole(text) if passage else text) + b"\n")
        self._stdout.flush()


def _answered_id(message: JSONRPCMessage) -> object:
    return message.id if isinstance(message, JSONRPCResponse | JSONRPCError) else None
