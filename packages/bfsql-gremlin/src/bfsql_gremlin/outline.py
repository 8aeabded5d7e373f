"""The composition of the graph: counted by the server, with properties from a sample.

The server counts vertices by type and edges by relation in one traversal each, which reads all of
them. If that takes longer than `schema_timeout`, names and relations are those of a sample.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from bfsql.abc import GraphDbInterface, chunks
from bfsql.models import Outline, Triple
from bfsql.schema_statistics import MOST_EDGES, MOST_NODES, counted_in_time, outline_by_batches
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client
from bfsql_gremlin.queries import GraphSchema


async def outlined(db: GraphDbInterface, client: Client, schema: GraphSchema) -> Outline:
    """The outline of a graph.

    Args:
        db: The backend, for types and metadata.
        client: Its servers.
        schema: Its schema.
    """
    seconds = client.settings.schema_timeout
    some = queries.source().V().limit(MOST_NODES + 1)
    rows = await client.rows(queries.identified(schema, some))
    entities = {row[0]: schema.entity_id(row[0], row[2:]) for row in rows}
    sample = list(entities.values())
    some = queries.edge_rows(queries.source().E().limit(MOST_EDGES + 1))
    ends = [tuple(row) for row in await client.rows(some)]
    lacking = {end for s, _, o in ends for end in (s, o)} - entities.keys()
    entities |= await entities_of(client, schema, lacking)
    edges: list[Triple] = [
        (entities[s], p, entities[o]) for s, p, o in ends if s in entities and o in entities
    ]
    sampled = len(sample) > MOST_NODES or len(ends) > MOST_EDGES
    counts = relations = None
    if sampled:
        counts = await counted_in_time(node_counts(client, schema), seconds)
        relations = await counted_in_time(_edge_counts(client, schema), seconds)
    return await outline_by_batches(
        db, sample, edges, sampled=sampled, node_counts=counts, edge_counts=relations
    )


async def entities_of(client: Client, schema: GraphSchema, own: Collection[Any]) -> dict[Any, str]:
    """Ids of entities by own ids of their vertices."""
    found: dict[Any, str] = {}
    for some in chunks(sorted(own, key=str)):
        rows = await client.rows(queries.identified(schema, queries.with_own_ids(schema, some)))
        found |= {row[0]: schema.entity_id(row[0], row[2:]) for row in rows}
    return found


async def node_counts(client: Client, schema: GraphSchema) -> dict[str, int]:
    """The number of vertices by type."""
    [counts] = await client.rows(queries.node_counts(schema))
    return {str(name): number for name, number in counts.items()}


async def _edge_counts(
    client: Client, schema: GraphSchema
) -> dict[tuple[str, str, str], int] | None:
    rows = await client.rows_unless_refused(queries.edge_counts(schema))
    if rows is None:
        return None
    return {(str(s), str(p), str(o)): number for (s, p, o), number in rows}


async def names_in_time(
    client: Client, schema: GraphSchema, what: Literal["types", "labels"]
) -> tuple[list[str], bool]:
    """Types or labels of edges, and whether these are all: counted in time, or from a sample."""
    known: tuple[str, ...] = ()
    if what == "types":
        counting = queries.node_counts(schema)
        sample = queries.type_names(schema, queries.source().V().limit(MOST_NODES))
    else:
        counting, known = queries.edge_labels(), schema.labels
        sample = queries.label_names(queries.source().E().limit(MOST_EDGES))
    counts = await counted_in_time(client.rows(counting), client.settings.schema_timeout)
    if counts is not None:
        return sorted(map(str, counts[0])), True
    return sorted({*known, *map(str, await client.rows(sample))}), False
