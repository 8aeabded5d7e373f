"""Statements about indexes: what there is, what is missing, and how it is made."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bfsql_neo4j.quoting import quoted

INDEXES = (
    "SHOW INDEXES YIELD name, type, state, entityType, labelsOrTypes, properties, "
    "owningConstraint, populationPercent, options WHERE entityType = 'NODE' RETURN name, type, "
    "state, labelsOrTypes AS labels, properties, owningConstraint IS NOT NULL AS owned, "
    "populationPercent AS percent, options.indexConfig['fulltext.analyzer'] AS analyzer "
    "ORDER BY name"
)
LABELS = "CALL db.labels() YIELD label RETURN label ORDER BY label"
AWAIT_INDEX = "CALL db.awaitIndex($index, $seconds)"
PROPERTY_KEYS = "CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey"

_ANALYZER = re.compile(r"[\w-]+")


def has_property(label: str, name: str) -> str:
    """One row where a node of the label has the property, none otherwise."""
    return f"MATCH (n:{quoted(label)}) WHERE n.{quoted(name)} IS NOT NULL RETURN 1 LIMIT 1"


def vectors_of(label: str, name: str) -> str:
    """How many nodes of the label have the property, and how long the shortest vector is."""
    vector = f"n.{quoted(name)}"
    return (
        f"MATCH (n:{quoted(label)}) WHERE {vector} IS NOT NULL RETURN count(n), min(size({vector}))"
    )


def create_range_index(label: str, name: str) -> str:
    """An index that finds the nodes of a label by a property; Neo4j names it."""
    return f"CREATE INDEX IF NOT EXISTS FOR (n:{quoted(label)}) ON (n.{quoted(name)})"


def create_fulltext_index(
    index: str, labels: Iterable[str], properties: Iterable[str], analyzer: str | None = None
) -> str:
    """An index that finds the nodes of labels by words in properties."""
    alternatives = "|".join(map(quoted, labels))
    each = ", ".join(f"n.{quoted(name)}" for name in properties)
    text = f"CREATE FULLTEXT INDEX {quoted(index)} FOR (n:{alternatives}) ON EACH [{each}]"
    if analyzer is None or not _ANALYZER.fullmatch(analyzer):
        return text
    return f"{text} OPTIONS {{indexConfig: {{`fulltext.analyzer`: '{analyzer}'}}}}"


def create_evidence_index(index: str, types: Iterable[str], name: str) -> str:
    """An index that finds relationships by a text that is, as a whole, in a property's list."""
    alternatives = "|".join(map(quoted, types))
    return (
        f"CREATE FULLTEXT INDEX {quoted(index)} FOR ()-[r:{alternatives}]-() "
        f"ON EACH [r.{quoted(name)}] OPTIONS {{indexConfig: {{`fulltext.analyzer`: 'keyword'}}}}"
    )


def create_vector_index(index: str, label: str, name: str, dimensions: int | None) -> str:
    """An index that finds the nodes of a label by the nearness of their vectors.

    Args:
        index: Its name.
        label: Whose nodes.
        name: The property with the vectors.
        dimensions: Their length; None leaves a word for it, for somebody who reads.
    """
    length = "LENGTH" if dimensions is None else int(dimensions)
    return (
        f"CREATE VECTOR INDEX {quoted(index)} FOR (n:{quoted(label)}) ON (n.{quoted(name)}) "
        f"OPTIONS {{indexConfig: {{`vector.dimensions`: {length}, "
        "`vector.similarity_function`: 'cosine'}}"
    )


def drop_index(index: str) -> str:
    """Removes an index by its name."""
    return f"DROP INDEX {quoted(index)} IF EXISTS"
