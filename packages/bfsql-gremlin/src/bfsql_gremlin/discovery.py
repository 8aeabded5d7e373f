"""Finds out what reading needs to know of a graph when it is opened, and whether it may write."""

from __future__ import annotations

import logging
from typing import Any

from bfsql.errors import StoreError, StoreUnavailable
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client, place
from bfsql_gremlin.queries import GraphSchema
from bfsql_gremlin.settings import LABEL, OWN_ID
from bfsql_gremlin.values import kind_of

log = logging.getLogger("bfsql")

SAMPLE = 500
"""Vertices whose ids are examined."""


async def discover(client: Client) -> GraphSchema:
    """The schema of a graph, from a sample of its vertices and, in JanusGraph, its indexes.

    Raises:
        StoreError: The server refuses, or has no such traversal source.
        StoreUnavailable: No server answers.
    """
    settings = client.settings
    id_property = None if settings.id_property == OWN_ID else settings.id_property
    type_property = None if settings.type_property == LABEL else settings.type_property
    bare = GraphSchema(id_property, type_property)
    rows = await client.rows(queries.identified(bare, queries.source().V().limit(SAMPLE)))
    values = [row[2] for row in rows if len(row) > 2]  # own id and type
    numbers = [row[0] for row in rows[:1] if kind_of(row[0]) == "number"]
    as_long = queries.with_own_ids(bare, numbers).count()
    some_nested = queries.source().V().limit(1).properties().limit(1).value_map()
    index = await janusgraph(client)
    schema = GraphSchema(
        id_property,
        type_property,
        id_kinds=frozenset(map(kind_of, values)) or frozenset({"text"}),
        own_kinds=frozenset(kind_of(row[0]) for row in rows),
        text_keys=frozenset(index.text_keys()) if index else frozenset(),
        whole_keys=frozenset(index.text_keys("mapping->TEXTSTRING")) if index else frozenset(),
        indexed=index.finds(id_property) if index and id_property else None,
        own_long=not numbers or await client.rows(as_long) != [0],
        nested=await client.rows_unless_refused(some_nested) is not None,
        is_empty=not rows,
        label_steps=index is not None,
        labels=tuple(index.labels) if index else (),
    )
    _log_warnings(client, schema, len(rows), len(values))
    return schema


def _log_warnings(client: Client, schema: GraphSchema, vertices: int, with_id: int) -> None:
    where, name = place(client.settings), schema.id_property
    if schema.indexed is False:
        log.warning(
            "%s has no index on the property %r, so every lookup of an id reads all vertices. "
            "Create it with bfsql index --backend gremlin --apply.",
            where,
            name,
        )
    if name is not None and vertices and with_id < vertices:
        log.warning(
            "%s: %s of the %d vertices examined have no property %r; their ids begin with "
            "gremlin:. Name the property that identifies vertices with --id-property; ~id is the "
            "engine's own id.",
            where,
            "none" if not with_id else vertices - with_id,
            vertices,
            name,
        )


class JanusGraphSchema:
    """The schema of a JanusGraph, from the rows of `queries.JANUSGRAPH`."""

    def __init__(self, rows: list[Any]) -> None:
        self.labels, self._fields, self.keys, backends = rows
        self.backend = next(iter(backends), None)

    def finds(self, key: str) -> bool:
        """Whether an index that is enabled finds values of a property."""
        return any(
            name == key and number == 1 and not mixed and status == "ENABLED"
            for _, name, mixed, number, status, _ in self._fields
        )

    def text_keys(self, mapping: str = "") -> list[str]:
        """Properties whose words a mixed index finds, with a text in its parameters."""
        return [
            name
            for _, name, mixed, _, status, parameters in self._fields
            if mixed
            and status == "ENABLED"
            and mapping in parameters
            and "mapping->STRING" not in parameters
            and self.keys.get(name) == "String"
        ]


async def janusgraph(client: Client) -> JanusGraphSchema | None:
    """The schema, if the server is JanusGraph and takes scripts."""
    try:
        return JanusGraphSchema(await client.script(queries.JANUSGRAPH))
    except StoreUnavailable:
        raise
    except (StoreError, ValueError):
        return None


async def reason_it_may_write(client: Client) -> str | None:
    """A sentence if the server would let this client write; nothing is written to find out.

    A traversal that removes none of the vertices is refused where writing is.
    """
    removal = queries.source(read_only=False).V().limit(0).drop()
    if await client.rows_unless_refused(removal) is None:
        return None
    return (
        f"{place(client.settings)} lets this client change the graph. BFS-QL marks every traversal "
        "as read-only, but nothing keeps others with this login from writing. Serve a traversal "
        "source with withStrategies(ReadOnlyStrategy.instance()) and name it with "
        "--traversal-source, or use a login that may only read."
    )
