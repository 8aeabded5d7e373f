"""A store that answers on command, and `bfsql serve` on it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from bfsql_test_support.clients import until
from bfsql_test_support.servers.embedding_service import json_body
from bfsql_test_support.servers.serve_process import Served, serving
from bfsql_test_support.servers.stub import Asked, Said, answering

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
        await until(lambda: len(self.asked) >= count, SECONDS)


@contextmanager
def gated() -> Iterator[Gate]:
    """Run the store."""
    gate = Gate()

    def respond(asked: Asked) -> Said:
        path = asked.path.partition("?")[0]
        if not path.startswith("/entities/"):
            return json_body(200, SCHEMA)
        entity = path.split("/")[2]
        gate.asked.append(entity)
        document = {"id": entity, "@type": "Thing", "relations": [], "items": []}
        return replace(json_body(200, document), after=gate.opened)

    with answering(respond) as gate.url:
        try:
            yield gate
        finally:
            gate.opened.set()


@contextmanager
def served_gate(*options: str) -> Iterator[tuple[Served, Gate]]:
    """Run `bfsql serve` on the store, with the options."""
    with (
        gated() as gate,
        serving("--backend", "jsonld", "--base-url", gate.url, *options) as served,
    ):
        yield served, gate
