"""Reads the properties of given vertices and edges, also where a value cannot be sent.

Servers compare the far end of an edge with one wanted end after the other, and read the edges of a
hub again for each request. So of the vertices that wanted edges share, all edges are read without a
comparison, unless they are many more than the wanted ones (decision 0030).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from bfsql.abc import chunks
from bfsql.models.records import EdgeDirection
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client, Unread
from bfsql_gremlin.queries import GraphSchema, Step, as_is, as_text, unfolded

OwnEdge = tuple[Any, str, Any]
"""Own id of the subject, label, own id of the object."""
Rows = list[list[Any]]
Item = TypeVar("Item")
Ask = Callable[[Sequence[Item], Step], Awaitable[Rows]]
"""Requests the rows of some items, with the values of their properties in some form."""

STARTS = 500
"""Most vertices whose edges are read by one request."""
COMPARE_LIMIT = 500
"""Most edges that one request finds by comparing far ends."""
SURPLUS = 50
"""Edges of a vertex that are read in addition to twice the wanted ones."""


async def vertex_rows(
    client: Client, schema: GraphSchema, ids: Sequence[str], keys: Sequence[str] | None
) -> Rows:
    """Rows of own id, type, properties and, perhaps, the value of the id property.

    Args:
        client: The servers.
        schema: Their graph.
        ids: Ids of nodes; vertices with other ids may be among the rows.
        keys: The properties to read; None for all.
    """

    async def ask(some: Sequence[str], form: Step) -> Rows:
        found = queries.vertices(schema, some)
        shown = queries.properties(keys, form, nested=schema.nested)
        return (
            [] if found is None else await client.rows(queries.identified(schema, found, p=shown))
        )

    return await _readable(ids, ask)


async def edge_rows(
    client: Client, schema: GraphSchema, edges: Collection[OwnEdge], keys: Sequence[str] | None
) -> Rows:
    """Rows of own id, label, own id and properties; parallel edges have a row each.

    Args:
        client: The servers.
        schema: Their graph.
        edges: The edges to read.
        keys: The properties to read; None for all.
    """

    async def compared(some: Sequence[OwnEdge], form: Step) -> Rows:
        subjects, labels, objects = (set(ends) for ends in zip(*some, strict=True))
        found = queries.edges_between(schema, subjects, labels, objects)
        rows = await client.rows(queries.edge_rows(found, m=queries.edge_properties(keys, form)))
        wanted = set(some)
        return [row for row in rows if tuple(row[:3]) in wanted]

    rows: Rows = []
    rest: list[OwnEdge] = []
    for direction, by_start in _by_start(set(edges)).items():
        for starts in chunks(sorted(by_start, key=lambda one: len(by_start[one])), STARTS):
            groups = {one: by_start[one] for one in starts}
            read, hubs = await _whole(client, schema, groups, direction, keys)
            rows += read
            rest += [edge for one in hubs for edge in groups[one]]
    for part in chunks(rest, COMPARE_LIMIT):
        rows += await _readable(part, compared)
    return rows


async def _whole(
    client: Client,
    schema: GraphSchema,
    groups: Mapping[Any, Sequence[OwnEdge]],
    direction: EdgeDirection,
    keys: Sequence[str] | None,
) -> tuple[Rows, Collection[Any]]:
    """Read all edges of some vertices.

    Returns:
        The rows of wanted edges, and the vertices whose edges were not read.
    """
    limits = {own: 2 * _power_of_4(len(edges)) + SURPLUS for own, edges in groups.items()}
    labels = {label for edges in groups.values() for _, label, _ in edges}
    found = queries.edges_of(schema, limits, labels, direction)
    try:
        read = await client.rows(queries.edge_rows(found, m=queries.edge_properties(keys, as_is)))
    except Unread:
        return [], groups.keys()
    start = 0 if direction == "out" else 2
    numbers = Counter(row[start] for row in read)
    hubs = {own for own, limit in limits.items() if numbers[own] >= limit}
    wanted = {edge for own, edges in groups.items() if own not in hubs for edge in edges}
    return [row for row in read if tuple(row[:3]) in wanted], hubs


def _power_of_4(number: int) -> int:
    """The next one, so that vertices with similar numbers of edges have the same limit."""
    return 1 << (number.bit_length() + 1) // 2 * 2


def _by_start(edges: Collection[OwnEdge]) -> dict[EdgeDirection, dict[Any, list[OwnEdge]]]:
    """Edges by the subject, or by the object if they share only that; whether they leave or enter.

    Where all edges of many nodes are wanted, each is read once in this way.
    """
    numbers = Counter(end for subject, _, obj in edges for end in {subject, obj})
    found: dict[EdgeDirection, dict[Any, list[OwnEdge]]] = {}
    for edge in edges:
        subject, _, obj = edge
        leaves = numbers[subject] > 1 or numbers[obj] == 1
        starts = found.setdefault("out" if leaves else "in", {})
        starts.setdefault(subject if leaves else obj, []).append(edge)
    return found


async def _readable(items: Sequence[Item], ask: Ask[Item]) -> Rows:
    """The rows of all items.

    The server cannot send values of some types, such as the byte arrays of JanusGraph: items with
    such values are found by halving, and their values are sent unfolded or as text.
    """
    if not items:
        return []
    try:
        return await ask(items, as_is)
    except Unread:
        if len(items) == 1:
            return await _unfolded(partial(ask, items))
    half = len(items) // 2
    return [row for part in (items[:half], items[half:]) for row in await _readable(part, ask)]


async def _unfolded(ask: Callable[[Step], Awaitable[Rows]]) -> Rows:
    """The answer with items in place of values, or with text if these cannot be read either."""
    try:
        rows = await ask(unfolded)
    except Unread:
        return await ask(as_text)
    for row in rows:
        for column in row:
            if isinstance(column, list) and all(isinstance(one, list) for one in column):
                column[:] = map(single, column)
    return rows


def single(row: Sequence[Any]) -> list[Any]:
    """A row of key and items as a row of key and value, which is a list if there are several."""
    key, items, *rest = row
    return [key, items[0] if len(items) == 1 else items, *rest]
