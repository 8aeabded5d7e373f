"""An HTTP server with answers scripted by a test: the bad endpoint, and a log of requests."""

import asyncio
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

from bfsql_test_support.servers.bad_replies import Asked, Behaviour, Reply, refused, results
from bfsql_test_support.servers.certificates import CA, CERTIFICATE, KEY
from bfsql_test_support.servers.port import HOST

GLANCE = 0.02
"""Seconds between two checks of a connection that is kept waiting."""
RESET = struct.pack("ii", 1, 0)
"""The linger of a socket whose close is a reset."""


class BadEndpoint:
    """A server at a free port of 127.0.0.1 that sends the replies queued by the test.

    Use it as a context manager. All of it may be read from any thread.

    Args:
        certificates: A folder of `make_certificates`, for TLS; None for plain HTTP.

    Attributes:
        sent: Bytes of bodies passed to the operating system.
        most_at_once: The greatest number of simultaneous requests.
    """

    def __init__(self, certificates: Path | None = None) -> None:
        self.requests: list[Asked] = []
        self.sent = 0
        self.most_at_once = 0
        self.ca = certificates / CA if certificates else None
        """Certificate of the authority that vouches for it; None without TLS."""
        self._line: deque[Behaviour] = deque()
        self._otherwise: Behaviour = results()
        self._busy = 0
        self._changed = threading.Condition()
        self._server = _Server(self, certificates)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": GLANCE}
        )

    def __enter__(self) -> Self:
        """Start listening."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Reset all connections and end."""
        self._server.shutdown()
        self._thread.join()
        self._server.close_all()
        assert self.is_idle(5), "the bad endpoint did not end"

    @property
    def url(self) -> str:
        """Its address; any other path on the same host is answered in the same way."""
        return self._at(HOST)

    @property
    def elsewhere(self) -> str:
        """The same endpoint by another host name, for redirects."""
        return self._at("localhost")

    @property
    def open(self) -> int:
        """Number of connections that neither side has closed."""
        return len(self._server.connections)

    def then(self, *replies: Behaviour) -> Self:
        """Queue the next replies, each to be sent once."""
        self._line.extend(replies)
        return self

    def always(self, reply: Behaviour) -> Self:
        """Set the reply for an empty queue; initially an empty answer."""
        self._otherwise = reply
        return self

    def has_got(self, number: int, within: float = 5) -> bool:
        """Wait at most `within` seconds for a number of requests; return whether they arrived."""
        return self._wait(lambda: len(self.requests) >= number, within)

    def is_idle(self, within: float = 5) -> bool:
        """Wait at most `within` seconds for all connections to close; return whether they did."""
        return self._wait(lambda: self.open == 0, within)

    async def cancels(self, question: Coroutine[Any, Any, Any]) -> None:
        """Cancel a request once it has arrived here, and check that its connection is closed."""
        asked = asyncio.create_task(question)
        assert await asyncio.to_thread(self.has_got, 1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await asyncio.to_thread(self.is_idle)

    def _at(self, host: str) -> str:
        scheme = "https" if self.ca else "http"
        return f"{scheme}://{host}:{self._server.server_port}/sparql"

    def _wait(self, condition: Callable[[], bool], within: float) -> bool:
        with self._changed:
            return self._changed.wait_for(condition, within)

    @contextmanager
    def _working(self, asked: Asked) -> Iterator[Reply]:
        """The reply to a request, while it is sent."""
        with self._changed:
            self.requests.append(asked)
            self._busy += 1
            self.most_at_once = max(self.most_at_once, self._busy)
            reply = self._line.popleft() if self._line else self._otherwise
            self._changed.notify_all()
        try:
            yield reply if isinstance(reply, Reply) else self._made(reply, asked)
        finally:
            with self._changed:
                self._busy -= 1

    @staticmethod
    def _made(make: Callable[[Asked], Reply], asked: Asked) -> Reply:
        try:
            return make(asked)
        except Exception as wrong:  # noqa: BLE001 - the test must see any error
            return refused(500, f"the test's own reply failed: {wrong!r}")


class _Server(ThreadingHTTPServer):
    """Runs a thread for each connection, and tracks the open connections."""

    request_queue_size = 100

    def __init__(self, endpoint: BadEndpoint, certificates: Path | None) -> None:
        self.endpoint = endpoint
        self.connections: set[socket.socket] = set()
        self.closing = threading.Event()
        super().__init__((HOST, 0), _Handler)
        if certificates:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates / CERTIFICATE, certificates / KEY)
            # The handshake runs in the connection's thread: one that hangs must not block others.
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )

    def server_bind(self) -> None:
        """Bind without looking up names, which can take seconds."""
        socket.socket.bind(self.socket, self.server_address)
        self.server_port = self.socket.getsockname()[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.endpoint._changed:
            self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self.endpoint._changed:
            self.connections.discard(request)
            self.endpoint._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: clients disconnect at any time, and tests check their results."""

    def close_all(self) -> None:
        self.closing.set()
        with self.endpoint._changed:
            left = list(self.connections)
        for connection in left:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Record the request and send its reply."""
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        asked = Asked(self.command, self.path, self.headers, body, time.monotonic())
        with self.server.endpoint._working(asked) as reply:
            self._send(reply)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST  # noqa: N815 - what http.server looks for

    def log_message(self, *_: object) -> None:
        """Do nothing: the requests are recorded."""

    def _send(self, reply: Reply) -> None:
        if not self._wait(reply.silence):
            self.close_connection = True
            return
        if reply.status is not None:
            self._send_head(reply)
            self._send_body(reply)
        if reply.ending != "keep":
            self.close_connection = True
        if reply.ending == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.connection.close()

    def _send_head(self, reply: Reply) -> None:
        assert reply.status is not None
        self.send_response(reply.status)
        if reply.content_type is not None:
            self.send_header("Content-Type", reply.content_type)
        if reply.endless:
            self.send_header("Connection", "close")
        else:
            length = len(reply.body) if reply.declared is None else reply.declared
            self.send_header("Content-Length", str(length))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_body(self, reply: Reply) -> None:
        pieces = [bytes([byte]) for byte in reply.body] if reply.pause else [reply.body]
        while self.command != "HEAD":
            for piece in pieces:
                self.wfile.write(piece)
                self.server.endpoint.sent += len(piece)
                if not self._wait(reply.pause):
                    self.close_connection = True
                    return
            if not reply.endless:
                return

    def _wait(self, seconds: float) -> bool:
        """Send nothing for a number of seconds; return False as soon as the other side closes."""
        if not seconds:
            return True
        self.connection.settimeout(GLANCE)
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline:
                if self.server.closing.is_set() or self._is_gone():
                    return False
        finally:
            self.connection.settimeout(None)
        return True

    def _is_gone(self) -> bool:
        """Whether the other side closed; it has nothing to send before it has its answer."""
        try:
            return not self.connection.recv(1)
        except TimeoutError:
            return False
        except OSError:
            return True
