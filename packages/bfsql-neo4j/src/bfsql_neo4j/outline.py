"""The composition of the graph: counted by the server, with properties from a sample.

The server counts nodes and relations in one statement each, which takes about a second for 100,000
relationships and ten for a million. If that takes longer than `schema_timeout`, the relations are
those of the sample, which is the whole graph if it is small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bfsql.abc import GraphDbInterface, chunks
from bfsql.models import Outline, Triple
from bfsql.schema_statistics import MOST_EDGES, MOST_NODES, counted_in_time, outline_by_batches
from bfsql_neo4j import schema_queries
from bfsql_neo4j.connection import Reader
from bfsql_neo4j.discovery import existing_counts
from bfsql_neo4j.schema import GraphSchema

_FEW_OF_A_TYPE = 50  # most relationships of a type in a sample


async def outlined(
    db: GraphDbInterface, reader: Reader, schema: GraphSchema, seconds: float
) -> Outline:
    """The outline of a graph.

    Args:
        db: The backend, for types and metadata.
        reader: Its server.
        schema: Its schema.
        seconds: How long the server may count the nodes of the graph, and its relations.
    """
    numbers = await existing_counts(
        reader, schema.dialect, list(schema.predicates), schema_queries.relationships_of
    )
    total = sum(numbers.values())
    text, parameters = schema_queries.some_nodes(schema, MOST_NODES + 1)
    ids = await reader.one(text, **parameters)
    nodes = await counted_in_time(_node_counts(reader, schema), seconds)
    relations = await counted_in_time(_edge_counts(reader, schema), seconds)
    # All relationships, unless there are too many.
    shares = [
        (name, max(_FEW_OF_A_TYPE, MOST_EDGES * n // max(total, MOST_EDGES)))
        for name, n in numbers.items()
    ]
    edges = await _edges(reader, schema, shares)
    sampled = len(ids) > MOST_NODES or total > MOST_EDGES
    return await outline_by_batches(
        db, ids, edges, sampled=sampled, node_counts=nodes, edge_counts=relations
    )


async def _edges(
    reader: Reader, schema: GraphSchema, shares: Sequence[tuple[str, int]]
) -> list[Triple]:
    """Edges of each relationship type, up to a number."""
    edges: list[Triple] = []
    for some in chunks(shares, 100):
        text, parameters = schema_queries.some_edges(schema, some)
        predicates = [schema.predicates[name] for name, _ in some]
        edges += [(s, predicates[at], o) for at, s, o in await reader.one(text, **parameters)]
    return edges


async def _node_counts(reader: Reader, schema: GraphSchema) -> Counter[str]:
    """The number of nodes by type."""
    return schema.count_types(await reader.one(schema_queries.LABEL_SETS))


async def _edge_counts(reader: Reader, schema: GraphSchema) -> Counter[tuple[str, str, str]]:
    """The number of edges by type of the subject, predicate and type of the object."""
    counts: Counter[tuple[str, str, str]] = Counter()
    if not schema.predicates:
        return counts
    for subject, name, obj, number in await reader.one(schema_queries.edge_counts(schema)):
        if predicate := schema.predicates.get(name):  # otherwise it is newer than the schema
            counts[schema.type_of(subject), predicate, schema.type_of(obj)] += number
    return counts
