"""Cypher for the schema: labels and types with their counts, samples, and ids that are shared."""

from __future__ import annotations

from collections.abc import Sequence

from bfsql_neo4j.cypher import (
    Statement,
    element_of,
    followed_types,
    id_of,
    id_text,
    is_node,
    quoted,
)
from bfsql_neo4j.schema import Dialect, GraphSchema

KEYS = "CALL db.propertyKeys() YIELD propertyKey RETURN collect(propertyKey)"
"""The names of all properties."""

NODES = "MATCH (n) RETURN count(n)"

LABEL_SETS = "MATCH (n) WITH labels(n) AS labels, count(*) AS nodes RETURN collect([labels, nodes])"
"""`[labels, number of nodes]` for every set of labels that occurs. Reads all nodes."""


def labels(procedures: bool) -> str:  # noqa: FBT001 - its only argument
    """The names of all labels."""
    if procedures:
        return "CALL db.labels() YIELD label RETURN collect(label)"
    return "MATCH (n) UNWIND labels(n) AS label RETURN collect(DISTINCT label)"


def types(procedures: bool) -> str:  # noqa: FBT001 - its only argument
    """The names of all relationship types."""
    if procedures:
        return "CALL db.relationshipTypes() YIELD relationshipType RETURN collect(relationshipType)"
    return "MATCH ()-[r]->() RETURN collect(DISTINCT type(r))"


def nodes_of(label: str) -> str:
    """The pattern of the nodes with a label."""
    return f"(n:{quoted(label)})"


def relationships_of(name: str) -> str:
    """The pattern of the relationships of a type."""
    return f"()-[r:{quoted(name)}]->()"


def counts(dialect: Dialect, patterns: Sequence[str]) -> str:
    """The number of matches of each pattern; Neo4j keeps those of labels and types."""
    if dialect.procedures:  # planned in half the time of the other form
        return f"RETURN [{', '.join(map(dialect.count, patterns))}]"
    calls = [f"CALL {{ MATCH {one} RETURN count(*) AS c{i} }}" for i, one in enumerate(patterns)]
    return f"{' '.join(calls)} RETURN [{', '.join(f'c{i}' for i in range(len(patterns)))}]"


def edge_counts(schema: GraphSchema) -> str:
    """`[labels, type, labels, edges]` for all edges; relationships of one triple are one edge.

    Node by node: to find the equal triples of the whole graph at once takes half as long again, and
    memory for all edges.
    """
    scope, given = ("(a)", "") if schema.dialect.scoped else ("", "WITH a ")
    return (
        f"MATCH (a) WHERE {is_node(schema, 'a')} CALL {scope} {{ "
        f"{given}MATCH (a)-[r{followed_types(schema)}]->(b) WHERE {is_node(schema, 'b')} "
        "RETURN DISTINCT type(r) AS type, b } "
        "WITH labels(a) AS subjects, type, labels(b) AS objects, count(*) AS edges "
        "RETURN collect([subjects, type, objects, edges])"
    )


def some_nodes(schema: GraphSchema, most: int) -> Statement:
    """Ids of the first `most` nodes that the server has."""
    text = (
        f"MATCH (n) WHERE {is_node(schema, 'n')} WITH n LIMIT {most} "
        f"RETURN collect({id_of(schema, 'n')})"
    )
    return text, dict(schema.parameters)


def some_edges(schema: GraphSchema, shares: Sequence[tuple[str, int]]) -> Statement:
    """Position, subject and object of the first relationships of types; `shares` has their number.

    The server plans one statement in a fraction of the time of one for each type.
    """
    scope = "()" if schema.dialect.scoped else ""
    branches = [
        f"MATCH (a)-[r:{quoted(name)}]->(b) WHERE {is_node(schema, 'a')} AND "
        f"{is_node(schema, 'b')} WITH a, b LIMIT {most} RETURN {place} AS place, a, b"
        for place, (name, most) in enumerate(shares)
    ]
    text = (
        f"CALL {scope} {{ {' UNION ALL '.join(branches)} }} "
        f"RETURN collect([place, {id_of(schema, 'a')}, {id_of(schema, 'b')}])"
    )
    return text, dict(schema.parameters)


def samples(names: Sequence[str], most: int) -> str:
    """Position and the first `most` nodes of each label.

    A node is its labels and `[property, text, whether it is itself text]` of short values.
    """
    text = "toStringOrNull(n[key])"
    return " UNION ALL ".join(
        f"MATCH (n:{quoted(name)}) WITH n LIMIT {most} RETURN {place} AS place, "
        f"collect([labels(n), [key IN keys(n) WHERE size({text}) <= 200 | "
        f"[key, {text}, n[key] = {text}]]]) AS nodes"
        for place, name in enumerate(names)
    )


def equal_ids(keys: Sequence[tuple[str, str]]) -> str:
    """Position and other labels with an equal id, of labels; `$values` are `[label, id]`."""
    return " UNION ALL ".join(
        f"UNWIND $values AS pair MATCH (n:{quoted(label)} {{{quoted(name)}: pair[1]}}) "
        f"WHERE NOT pair[0] IN labels(n) RETURN {place} AS place, "
        "collect(DISTINCT pair[0]) AS others"
        for place, (label, name) in enumerate(keys)
    )


def labels_that_are_types(names: Sequence[str]) -> str:
    """For labels in the order of their rank, whether a node has that label and none before it."""
    tests = [
        f"EXISTS {{ MATCH (n:{quoted(name)}) "
        f"WHERE none(l IN labels(n) WHERE l IN $names[..{place}]) }}"
        for place, name in enumerate(names)
    ]
    return f"RETURN [{', '.join(tests)}]"


def id_counts(schema: GraphSchema) -> str:
    """The number of nodes without an id, and `[id, nodes]` of the ids that several nodes have."""
    return (
        f"MATCH (n) WHERE {is_node(schema, 'n')} WITH {id_text(schema, 'n')} AS id, "
        "count(*) AS bearers WHERE id IS NULL OR bearers > 1 RETURN collect([id, bearers])"
    )


def bearers(schema: GraphSchema) -> str:
    """`[id, element ids]` of the nodes that have one of `$ids`."""
    return (
        f"MATCH (n) WHERE {is_node(schema, 'n')} WITH n, {id_text(schema, 'n')} AS id "
        f"WHERE id IN $ids WITH id, collect({element_of(schema, 'n')}) AS elements "
        "RETURN collect([id, elements])"
    )
