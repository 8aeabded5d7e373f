"""A real web server in a thread: the web API over any backend, or an application of the test."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

import uvicorn

from bfsql import open_graph
from bfsql.config import ServeSettings
from bfsql.rest import application
from bfsql_servers.port import HOST, free_port


class WebServer:
    """uvicorn at a port of 127.0.0.1, with an event loop of its own.

    Use it as a context manager. What it serves can be changed while it runs.

    Args:
        port: Where it listens; a free one by default.

    Attributes:
        requests: Method and raw path of all that came, in order.
    """

    def __init__(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self.requests: list[tuple[str, str]] = []
        self._app: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._server: uvicorn.Server | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        """Listen; returns when it does."""
        listener = socket.create_server((HOST, self.port))
        ready = threading.Event()
        config = uvicorn.Config(self._serve, interface="asgi3", lifespan="off", log_level="error")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(listener, ready))
        self._thread.start()
        assert ready.wait(10)

    def stop(self) -> None:
        """Break off all connections and end."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = self._server.force_exit = True
            self._thread.join(10)
            assert not self._thread.is_alive(), "the web server did not end"
        self._server = self._thread = None

    @asynccontextmanager
    async def offering(
        self, backend: Callable[[], AbstractAsyncContextManager[Any]], **settings: Any
    ) -> AsyncIterator[str]:
        """The web API over a backend that is opened in the server's loop; gives its address."""
        done, opened = asyncio.Event(), Future[None]()

        async def hold() -> None:
            try:
                async with backend() as db, open_graph(db, hooks=()) as graph:
                    self._app = application(graph, ServeSettings(**settings))
                    opened.set_result(None)
                    await done.wait()
            except BaseException as error:
                if not opened.done():
                    opened.set_exception(error)
                raise
            finally:
                self._app = None

        assert self._loop is not None
        held = asyncio.run_coroutine_threadsafe(hold(), self._loop)
        await asyncio.wrap_future(opened)
        try:
            yield self.url
        finally:
            self._loop.call_soon_threadsafe(done.set)
            await asyncio.wrap_future(held)

    def serve(self, app: Any) -> None:
        """An ASGI application of the test."""
        self._app = app

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        raw = scope.get("raw_path", b"").decode("ascii", errors="replace")
        self.requests.append((scope["method"], raw))
        assert self._app is not None, "nothing is served"
        await self._app(scope, receive, send)

    def _run(self, listener: socket.socket, ready: threading.Event) -> None:
        async def main() -> None:
            assert self._server is not None
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(ready.set)
            await self._server.serve(sockets=[listener])

        with listener:
            asyncio.run(main())
