"""A store that answers on command, and `bfsql serve` on it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bfsql_test_support.servers.serve_process import Served, serving

SECONDS = 30
SCHEMA = {"entity_types": ["Thing"], "predicates": ["p"], "comprehensive": True}


@dataclass
class Gate:
    """A store behind a web API that answers only once it is opened."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    """The ids in the order in which they were requested from the store."""
    opened: threading.Event = field(default_factory=threading.Event)

    async def until_asked(self, count: int) -> None:
        """Wait until a number of entities was requested from the store."""
        async with asyncio.timeout(SECONDS):
            while len(self.asked) < count:  # noqa: ASYNC110 - a thread appends to it
                await asyncio.sleep(0.01)


@contextmanager
def gated() -> Iterator[Gate]:
    """Run the store."""
    gate = Gate()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            document: dict[str, Any] = SCHEMA
            if path.startswith("/entities/"):
                entity = path.split("/")[2]
                gate.asked.append(entity)
                gate.opened.wait(SECONDS)
                document = {"id": entity, "@type": "Thing", "relations": [], "items": []}
            content = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    gate.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield gate
    finally:
        gate.opened.set()
        server.shutdown()
        server.server_close()


@contextmanager
def served_gate(*options: str) -> Iterator[tuple[Served, Gate]]:
    """Run `bfsql serve` on the store, with the options."""
    with (
        gated() as gate,
        serving("--backend", "jsonld", "--base-url", gate.url, *options) as served,
    ):
        yield served, gate
