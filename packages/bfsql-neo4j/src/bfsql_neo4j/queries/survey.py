"""Statements about the graph as a whole: what occurs, how often, and what is indexed."""

from __future__ import annotations

from collections.abc import Sequence

from bfsql_neo4j.quoting import quoted

INDEXES = (
    "SHOW INDEXES YIELD name, type, state, entityType, labelsOrTypes, properties, "
    "owningConstraint, populationPercent, options WHERE entityType = 'NODE' OR name = $evidence "
    "RETURN collect([name, type, state, labelsOrTypes, properties, owningConstraint IS NOT NULL, "
    "populationPercent, options])"
)
"""Indexes over nodes, and the one over evidence."""

KEYS = "CALL db.propertyKeys() YIELD propertyKey RETURN collect(propertyKey)"
"""The names of all properties."""

NODES = "MATCH (n) RETURN count(n)"

LABEL_SETS = "MATCH (n) WITH labels(n) AS labels, count(*) AS nodes RETURN collect([labels, nodes])"
"""`[labels, number of nodes]` for every set of labels that occurs. Reads all nodes."""


def labels(procedures: bool) -> str:  # noqa: FBT001 - its only argument
    """The names of all labels that nodes bear."""
    if procedures:
        return "CALL db.labels() YIELD label RETURN collect(label)"
    return "MATCH (n) UNWIND labels(n) AS label RETURN collect(DISTINCT label)"


def types(procedures: bool) -> str:  # noqa: FBT001 - its only argument
    """The names of all relationship types."""
    if procedures:
        return "CALL db.relationshipTypes() YIELD relationshipType RETURN collect(relationshipType)"
    return "MATCH ()-[r]->() RETURN collect(DISTINCT type(r))"


def nodes_of(names: Sequence[str]) -> str:
    """Place and number of bearers for each label; the server keeps these numbers."""
    return " UNION ALL ".join(
        f"MATCH (n:{quoted(name)}) WITH count(n) AS bearers RETURN {place} AS place, bearers"
        for place, name in enumerate(names)
    )


def relationships_of(names: Sequence[str]) -> str:
    """Place and number of relationships for each type; the server keeps these numbers."""
    return " UNION ALL ".join(
        f"MATCH ()-[r:{quoted(name)}]->() WITH count(r) AS bearers RETURN {place} AS place, bearers"
        for place, name in enumerate(names)
    )


def winners(names: Sequence[str]) -> str:
    """For labels in the order of their rank, whether a node bears each and none before it."""
    looks = [
        f"EXISTS {{ MATCH (n:{quoted(name)}) "
        f"WHERE none(l IN labels(n) WHERE l IN $names[..{place}]) }}"
        for place, name in enumerate(names)
    ]
    return f"RETURN [{', '.join(looks)}]"


def id_counts(is_node: str, value: str, text: str) -> str:
    """How many nodes have no id, and `[id, bearers]` of the ids that several nodes bear.

    Args:
        is_node: Condition on `n`.
        value: Expression of the id of `n`.
        text: The function that makes text of it.
    """
    return (
        f"MATCH (n) WHERE {is_node} WITH {text}({value}) AS id, count(*) AS bearers "
        "WHERE id IS NULL OR bearers > 1 RETURN collect([id, bearers])"
    )


def bearers(is_node: str, value: str, text: str, element: str) -> str:
    """`[id, element ids]` of the nodes that bear one of `$ids`."""
    return (
        f"MATCH (n) WHERE {is_node} WITH n, {text}({value}) AS id WHERE id IN $ids "
        f"WITH id, collect(toString({element}(n))) AS elements RETURN collect([id, elements])"
    )


def keys_of(names: Sequence[str], sample: int) -> str:
    """`[place, property names]` of some nodes of each label."""
    return " UNION ALL ".join(
        f"MATCH (n:{quoted(name)}) WITH n LIMIT {sample} UNWIND keys(n) AS key "
        f"WITH DISTINCT key ORDER BY key WITH collect(key) AS keys RETURN {place} AS place, keys"
        for place, name in enumerate(names)
    )
