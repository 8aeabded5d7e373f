"""A TCP proxy in front of a store, which fails on command, in its own process.

    python -m bfsql_test_support.servers.failing_proxy PORT

It prints its port. Then each line of standard input is a mode to switch to, or empty, and is
answered with the number of requests that the store has received and not answered. The clients of a
soak cannot delay what passes through a process of its own.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen

from bfsql_test_support.servers.module_process import piped
from bfsql_test_support.servers.port import HOST


class FailingProxy:
    """A running proxy."""

    def __init__(self, process: Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self.pid = process.pid
        self._commands, self._replies = process.stdin, process.stdout
        self.url = f"http://{HOST}:{int(self._replies.readline())}"

    def switch(self, mode: str) -> None:
        """Begin or end an outage.

        Args:
            mode: `open`, `kill` (connections are reset), `hang` (nothing passes) or `limit`
                (requests are answered with 503).
        """
        self._ask(mode)

    @property
    def waiting(self) -> int:
        """Requests that the store has received and not answered."""
        return self._ask("")

    def _ask(self, line: str) -> int:
        self._commands.write(f"{line}\n")
        self._commands.flush()
        return int(self._replies.readline())


@contextmanager
def failing_proxy(port: int) -> Iterator[FailingProxy]:
    """Run a proxy in front of the HTTP server on this port while the block runs."""
    with piped(__name__, str(port)) as process:
        try:
            yield FailingProxy(process)
        finally:
            process.kill()


class _Proxy:
    """The proxy itself, which runs until the process is killed or standard input ends."""

    def __init__(self, port: int) -> None:
        self._mode = "open"
        self._port = port
        self._passing = asyncio.Event()
        self._passing.set()
        self._open: dict[asyncio.StreamWriter, bool] = {}

    async def run(self) -> None:
        commands = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(commands), sys.stdin
        )
        server = await asyncio.start_server(self._serve, HOST, 0, backlog=200)
        _say(server.sockets[0].getsockname()[1])
        async for line in commands:
            if mode := line.decode().strip():
                self._switch(mode)
            _say(sum(self._open.values()))

    def _switch(self, mode: str) -> None:
        self._mode = mode
        if mode == "hang":
            self._passing.clear()
        else:
            self._passing.set()
        if mode == "kill":
            for writer in list(self._open):
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = False
        try:
            if self._mode == "kill":
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
            del self._open[writer]
            writer.transport.abort()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        there: asyncio.StreamWriter,
        writer: asyncio.StreamWriter,
    ) -> None:
        while data := await reader.read(65_536):
            if self._mode == "limit":
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


def _say(number: int) -> None:
    print(number, flush=True)  # noqa: T201 - its output


if __name__ == "__main__":
    asyncio.run(_Proxy(int(sys.argv[1])).run())
