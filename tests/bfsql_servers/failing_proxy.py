"""A TCP proxy in front of a store, which fails on command."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from bfsql_servers.port import HOST


class FailingProxy:
    """A TCP proxy in front of an HTTP server, which can kill, hang or limit it.

    Attributes:
        mode: `open`, `kill` (connections are reset), `hang` (nothing passes) or `limit` (requests
            are answered with 503).
    """

    def __init__(self, port: int) -> None:
        self.mode = "open"
        self._port = port
        self._passing = asyncio.Event()
        self._passing.set()
        self._open: dict[asyncio.StreamWriter, bool] = {}
        self._tasks: set[asyncio.Task[None] | None] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Its URL, while it serves."""
        server = await asyncio.start_server(self._serve, HOST, 0, backlog=200)
        try:
            yield f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            self.switch("kill")
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def switch(self, mode: str) -> None:
        """Begin or end an outage."""
        self.mode = mode
        if mode == "hang":
            self._passing.clear()
        else:
            self._passing.set()
        if mode == "kill":
            self._cut()

    @property
    def waiting(self) -> int:
        """Requests that the store has received and not answered."""
        return sum(self._open.values())

    def _cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = False
        self._tasks.add(task := asyncio.current_task())
        try:
            if self.mode == "kill":
                return
            back, there = await asyncio.open_connection(HOST, self._port)
            try:
                pumps = [
                    asyncio.ensure_future(self._requests(reader, there, writer)),
                    asyncio.ensure_future(self._answers(back, writer)),
                ]
                _, left = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                for pump in left:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
            finally:
                there.transport.abort()
        except OSError:
            pass
        finally:
            self._tasks.discard(task)
            del self._open[writer]
            writer.transport.abort()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        there: asyncio.StreamWriter,
        writer: asyncio.StreamWriter,
    ) -> None:
        while data := await reader.read(65_536):
            if self.mode == "limit":
                writer.write(
                    b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
                    b"Connection: close\r\n\r\n"
                )
                await writer.drain()
                await asyncio.sleep(0.2)  # data still in transit would reset the answer
                return
            await self._passing.wait()
            self._open[writer] = True
            there.write(data)
            await there.drain()

    async def _answers(self, back: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await back.read(65_536):
            await self._passing.wait()
            writer.write(data)
            await writer.drain()
            self._open[writer] = False
