"""An HTTP server on a free loopback port that answers with a function of the test."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bfsql_test_support.servers.port import HOST


@dataclass(frozen=True)
class Said:
    """One response."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    after: threading.Event | None = None
    """The response is sent only once this event is set, or after half a minute."""


@dataclass(frozen=True)
class Asked:
    """One request; the names of its headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: tuple[str, int]


@contextmanager
def answering(respond: Callable[[Asked], Said]) -> Iterator[str]:
    """Run the server, and give its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet; otherwise the body waits for the head

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = respond(Asked(self.command, self.path, headers, body, self.client_address))
            if said.after is not None:
                said.after.wait(30)
            try:
                self.send_response(said.status)
                for name, value in {"Content-Length": str(len(said.body)), **said.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said.body)
            except OSError:  # the client has disconnected
                self.close_connection = True

        do_GET = do_POST  # noqa: N815 - what http.server looks for

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
