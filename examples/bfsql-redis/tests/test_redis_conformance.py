"""The conformance kit over a Redis server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from bfsql_redis import RedisBackend
from bfsql_redis.backend import member, text
from bfsql_redis.connection import Connection

from bfsql.abc import GraphDbInterface
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord, NodeRecord
from bfsql.models.json_values import encode
from bfsql_testing import EVERYTHING, BackendSuite, Kind


class TestRedis(BackendSuite):
    """Values are stored as JSON, and no edges with an end that is not a node."""

    keeps = EVERYTHING - {Kind.BINARY, Kind.DANGLING_EDGES}

    @pytest.fixture(autouse=True)
    def _server(self, server: Any) -> None:
        self.server = server

    @asynccontextmanager
    async def backend_with(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        settings = self.server.settings()
        backend = RedisBackend(Connection(settings), settings.graph)
        try:
            await backend.connection.send([("FLUSHALL",), *await commands(records, settings.graph)])
            yield backend
        finally:
            await backend.close()

    def round_trips_of(self, backend: Any) -> int | None:
        requests: int = backend.connection.requests
        return requests

    @asynccontextmanager
    async def store_gone(self, backend: Any) -> AsyncIterator[None]:
        self.server.stop()
        try:
            yield
        finally:
            self.server.start()


async def commands(records: Sequence[GraphRecord], graph: str) -> list[tuple[Any, ...]]:
    """The commands that write a graph; `MemoryBackend` merges records of one node or edge."""
    merged = MemoryBackend(records)
    made: list[tuple[Any, ...]] = []
    for entity_id in dict.fromkeys(r.id for r in records if isinstance(r, NodeRecord)):
        node, known = text(entity_id), await merged.metadata_for_node(entity_id)
        entity_type = (await merged.get_node(entity_id)).entity_type
        made += [
            ("HSET", f"{graph}:nodes", node, entity_type),
            ("HSET", f"{graph}:metadata", node, encode(known)),
            ("SADD", f"{graph}:types", entity_type),
        ]
        if isinstance(name := known.get("name"), str):
            made.append(("ZADD", f"{graph}:names", 0, text(name.strip().casefold() + "\0") + node))
        for edge in await merged.edges_from(entity_id):
            made += [
                (
                    "HSET",
                    f"{graph}:edges",
                    member(edge),
                    encode(await merged.metadata_for_edge(edge)),
                ),
                ("SADD", text(f"{graph}:out:{edge.subject}"), member(edge)),
                ("SADD", text(f"{graph}:in:{edge.object}"), member(edge)),
                ("SADD", f"{graph}:predicates", edge.predicate),
            ]
    return made
