"""A real web server in a thread: the web API over any backend, or an application of the test."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import chain
from typing import Any, Self

import uvicorn

from bfsql import open_graph
from bfsql.rest import application
from bfsql.settings import ServeSettings
from bfsql_test_support.servers.port import HOST, free_port


class WebServer:
    """uvicorn at a port of 127.0.0.1, with its own event loop.

    Use it as a context manager. What it serves can be changed while it runs.

    Attributes:
        requests: Method and raw path of all requests, in order.
    """

    def __init__(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self.requests: list[tuple[str, str]] = []
        self._app: Any = None
        self._server: uvicorn.Server | None = None

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,))
        self._thread.start()
        assert ready.wait(10)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the web server did not end"

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        """Start listening, and return when ready. An earlier application is served again."""
        # asyncio sets TCP_NODELAY only on sockets whose protocol is IPPROTO_TCP.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, self.port))
        listener.listen(100)
        config = uvicorn.Config(
            self._serve, interface="asgi3", lifespan="off", log_level="error", ws="none"
        )
        self._server = uvicorn.Server(config)
        self._serving = asyncio.run_coroutine_threadsafe(
            self._server._serve([listener]), self._loop
        )
        self._listener = listener

    def kill(self) -> None:
        """Reset all connections, even busy ones; call it in the event loop."""
        if self._server is not None:
            self._server.should_exit = self._server.force_exit = True
            for connection in list(self._server.server_state.connections):
                connection.transport.abort()

    def stop(self) -> None:
        """Reset all connections, and stop listening."""
        if self._server is None:
            return
        ending = end_at_once(self._server, self._serving)
        asyncio.run_coroutine_threadsafe(ending, self._loop).result(10)
        self._listener.close()
        self._server = None

    @asynccontextmanager
    async def offering(
        self,
        backend: Callable[[], AbstractAsyncContextManager[Any]],
        hooks: Sequence[Any] = (),
        **settings: Any,
    ) -> AsyncIterator[str]:
        """Serve the web API over a backend opened in the server's loop; yields its address."""
        done, opened = asyncio.Event(), Future[None]()

        async def hold() -> None:
            try:
                async with backend() as db, open_graph(db, hooks=hooks) as graph:
                    self._app = application(graph, ServeSettings(**settings))
                    opened.set_result(None)
                    await done.wait()
            except BaseException as error:
                if not opened.done():
                    opened.set_exception(error)
                raise
            finally:
                self._app = None

        held = asyncio.run_coroutine_threadsafe(hold(), self._loop)
        await asyncio.wrap_future(opened)
        try:
            yield self.url
        finally:
            self._loop.call_soon_threadsafe(done.set)
            await asyncio.wrap_future(held)

    def serve(self, app: Any) -> None:
        """Serve an ASGI application of the test."""
        self._app = app

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        raw = scope.get("raw_path", b"").decode("ascii", errors="replace")
        self.requests.append((scope["method"], raw))
        assert self._app is not None, "nothing is served"
        await self._app(scope, receive, send)

    def _run(self, ready: threading.Event) -> None:
        async def main() -> None:
            self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
            ready.set()
            await self._end.wait()

        asyncio.run(main())


async def end_at_once(server: uvicorn.Server, serving: asyncio.Future[None] | Future[None]) -> None:
    """End a server in its own event loop: reset its connections, cancel its tasks.

    Uvicorn checks every 0.1 s whether to end, and then waits another 0.1 s for its connections.

    Args:
        server: It may still be starting.
        serving: The call of uvicorn that runs it.
    """
    while not server.started:
        assert not serving.done(), "the web server did not start"
        await asyncio.sleep(0)
    serving.cancel()
    # Python 3.11 leaves a connection open that it has accepted, but not yet handed to uvicorn,
    # when it stops listening: accept no more, and wait three rounds for the last.
    for listener in chain.from_iterable(listening.sockets for listening in server.servers):
        asyncio.get_running_loop().remove_reader(listener)
    for _ in range(3):
        await asyncio.sleep(0)
    for listening in server.servers:
        listening.close()
    state = server.server_state
    while state.connections or state.tasks:
        for connection in tuple(state.connections):
            connection.transport.abort()
        for task in tuple(state.tasks):
            task.cancel()
        await asyncio.sleep(0)
    for listening in server.servers:
        await listening.wait_closed()
    await asyncio.wait([asyncio.wrap_future(serving)])
