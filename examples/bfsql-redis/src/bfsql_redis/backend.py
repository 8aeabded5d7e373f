"""RedisBackend: a graph in Redis, read in batches.

| key | type | contents |
|---|---|---|
| `GRAPH:nodes` | hash | id to type |
| `GRAPH:metadata` | hash | id to metadata, as JSON |
| `GRAPH:edges` | hash | edge to metadata; an edge is the JSON `["subject","predicate","object"]` |
| `GRAPH:out:ID`, `GRAPH:in:ID` | set | the edges that leave and enter a node |
| `GRAPH:names` | sorted set | the name in lower case, NUL, the id; all scores are 0 |
| `GRAPH:types`, `GRAPH:predicates` | set | those that occur |
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Self

from bfsql.abc import BatchGraphDb, chunks
from bfsql.errors import StoreError
from bfsql.models import EdgeDirection, EntityStub, Metadata, Node, Triple
from bfsql.models.json_values import decode
from bfsql_redis.connection import Connection
from bfsql_redis.settings import RedisSettings

AT_MOST = 20
"""Maximum number of candidates of a search."""

READ = 500
"""Maximum number of names that a search reads, before it compares their types."""


class RedisBackend(BatchGraphDb):
    """A graph in Redis, read only.

    `BatchGraphDb` derives the methods for one node or edge from those for many, so that each ring
    of a traversal is one round trip, whatever its size. Core caches, filters, sorts and pages.

    Args:
        connection: The server; the backend closes it.
        graph: The prefix of the graph's keys.
    """

    def __init__(self, connection: Connection, graph: str) -> None:
        self.connection = connection
        self._graph = graph

    @classmethod
    async def open(cls, settings: RedisSettings) -> Self:
        """Connect to the server.

        Raises:
            StoreUnavailable: The server does not answer.
            StoreError: It refused the login, or holds no graph of this name.
        """
        backend = cls(Connection(settings), settings.graph)
        try:
            types = await backend.entity_types()
        except BaseException:
            await backend.close()
            raise
        if types:
            return backend
        await backend.close()
        raise StoreError(
            f"Redis at {settings.host}:{settings.port} holds no graph {settings.graph!r}. Give the "
            "prefix of its keys with --graph."
        )

    async def close(self) -> None:
        """Close the connections."""
        await self.connection.close()

    async def ping(self) -> None:
        """Return once the server has answered."""
        await self.connection.send([("PING",)])

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """The entity with this id, then those whose name begins with the query."""
        start = text(query.strip().casefold())
        if not start:
            return []
        [members] = await self.connection.send(
            [
                (
                    "ZRANGE",
                    self._key("names"),
                    b"[" + start,
                    b"[" + start + b"\xff",
                    "BYLEX",
                    "LIMIT",
                    0,
                    READ,
                )
            ]
        )
        named = [m.rpartition(b"\0")[2].decode("utf-8", "surrogatepass") for m in members]
        nodes = await self.get_nodes_batch(list(dict.fromkeys([query, *named])))
        found = [node for node in nodes if not node_types or node.entity_type in node_types]
        del found[AT_MOST:]
        known = await self.metadata_for_nodes_batch([node.id for node in found])
        return [EntityStub(n.id, n.entity_type, known[n.id].get("name")) for n in found]

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist."""
        types = await self._fields("nodes", [text(i) for i in ids])
        return [Node(i, t.decode()) for i, t in zip(ids, types, strict=True) if t is not None]

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        """The edges of some nodes."""
        sides = [side for side in ("out", "in") if direction in (None, side)]
        commands = [("SMEMBERS", self._key(side, i)) for side in sides for i in ids]
        members = [m for edges in await self.connection.send(commands) for m in edges]
        edges = [tuple(json.loads(member)) for member in members]
        return [edge for edge in edges if predicates is None or edge[1] in predicates]

    async def metadata_for_nodes_batch(
        self,
        ids: Sequence[str],
        keys: Collection[str] | None = None,  # all of it is one value
    ) -> dict[str, Metadata]:
        """Metadata by id."""
        return await self._metadata("metadata", {i: text(i) for i in ids})

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata by edge."""
        return await self._metadata("edges", {edge: member(edge) for edge in edges})

    async def entity_types(self) -> list[str]:
        """The types that occur, sorted."""
        return await self._names("types")

    async def predicates(self) -> list[str]:
        """The predicates that occur, sorted."""
        return await self._names("predicates")

    async def _metadata(self, part: str, fields: dict[Any, bytes]) -> dict[Any, Metadata]:
        values = await self._fields(part, list(fields.values()))
        found = zip(fields, values, strict=True)
        return {key: decode(value.decode()) for key, value in found if value is not None}

    async def _fields(self, part: str, fields: Sequence[bytes]) -> list[bytes | None]:
        """Fields of a hash, in one round trip; None for those that it lacks."""
        commands = [("HMGET", self._key(part), *some) for some in chunks(fields)]
        return [value for reply in await self.connection.send(commands) for value in reply]

    async def _names(self, part: str) -> list[str]:
        [members] = await self.connection.send([("SMEMBERS", self._key(part))])
        return sorted(member.decode() for member in members)

    def _key(self, *parts: str) -> bytes:
        return text(":".join((self._graph, *parts)))


def text(value: str) -> bytes:
    """A text as bytes; lone surrogates, which some sources contain, stay what they are."""
    return value.encode("utf-8", "surrogatepass")


def member(edge: Triple) -> bytes:
    """An edge as a member of a set."""
    return json.dumps(list(edge), separators=(",", ":")).encode()
