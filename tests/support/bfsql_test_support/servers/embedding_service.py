"""A small HTTP server that imitates an OpenAI-compatible embedding service."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Said:
    """One response."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    after: threading.Event | None = None
    """The response is sent only once this event is set."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    connection: tuple[str, int]


class PlayedService:
    """Sends the given responses in turn, and then repeats the last one."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.was_asked = threading.Event()
        self.answers = [vector(0.6, 0.8)]
        self.url = ""

    def says(self, *answers: Said) -> None:
        self.answers = list(answers)

    def next(self) -> Said:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def vector(*numbers: float) -> Said:
    """A response with a vector."""
    return json_body(200, {"object": "list", "data": [{"index": 0, "embedding": numbers}]})


def json_body(status: int, value: Any, **headers: str) -> Said:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Said(status, json.dumps(value).encode(), {"Content-Type": "application/json", **named})


@contextmanager
def playing() -> Iterator[PlayedService]:
    """Run the service on a free loopback port."""
    played = PlayedService()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet; otherwise the body waits for the head

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            played.asked.append(Asked(self.path, headers, body, self.client_address))
            played.was_asked.set()
            said = played.next()
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

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        played.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield played
        server.shutdown()
        thread.join()
