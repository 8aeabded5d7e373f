"""Cypher for indexes: listing, creating and removing them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bfsql_neo4j.cypher import any_of, quoted
from bfsql_neo4j.values import DOCUMENTS

EVIDENCE_INDEX = "entity_evidence"
"""Name of the full-text index that finds the relationships whose evidence is from a document."""

INDEXES = (
    "SHOW INDEXES YIELD name, type, state, entityType, labelsOrTypes, properties, "
    "owningConstraint, populationPercent, options "
    f"WHERE entityType = 'NODE' OR name = '{EVIDENCE_INDEX}' "
    "RETURN collect([name, type, state, labelsOrTypes, properties, owningConstraint IS NOT NULL, "
    "populationPercent, options])"
)
"""Indexes over nodes, and the index over evidence."""

_ANALYZER = re.compile(r"[\w-]+")


def has_property(label: str, name: str) -> str:
    """One row if a node of the label has the property, none otherwise."""
    return f"MATCH (n:{quoted(label)}) WHERE n.{quoted(name)} IS NOT NULL RETURN 1 LIMIT 1"


def vectors_of(label: str, name: str) -> str:
    """The number of nodes of the label with the property, and the length of the shortest vector."""
    vector = f"n.{quoted(name)}"
    return (
        f"MATCH (n:{quoted(label)}) WHERE {vector} IS NOT NULL RETURN count(n), min(size({vector}))"
    )


def create_range_index(label: str, *names: str) -> str:
    """An index that finds the nodes of a label by a property, or several; Neo4j names it."""
    properties = ", ".join(f"n.{quoted(name)}" for name in names)
    return f"CREATE INDEX IF NOT EXISTS FOR (n:{quoted(label)}) ON ({properties})"


def create_fulltext_index(
    index: str, labels: Iterable[str], properties: Iterable[str], analyzer: str | None = None
) -> str:
    """An index that finds nodes of some labels by words in properties."""
    each = ", ".join(f"n.{quoted(name)}" for name in properties)
    text = f"CREATE FULLTEXT INDEX {quoted(index)} FOR (n:{any_of(labels)}) ON EACH [{each}]"
    if analyzer is None or not _ANALYZER.fullmatch(analyzer):
        return text
    return f"{text} OPTIONS {{indexConfig: {{`fulltext.analyzer`: '{analyzer}'}}}}"


def create_evidence_index(types: Iterable[str]) -> str:
    """The index `EVIDENCE_INDEX` over relationships of these types, by whole ids of documents."""
    return (
        f"CREATE FULLTEXT INDEX {quoted(EVIDENCE_INDEX)} FOR ()-[r:{any_of(types)}]-() ON EACH "
        f"[r.{quoted(DOCUMENTS)}] OPTIONS {{indexConfig: {{`fulltext.analyzer`: 'keyword'}}}}"
    )


def create_vector_index(index: str, label: str, name: str, dimensions: int | None) -> str:
    """An index that finds the nodes of a label by vector similarity.

    Without `dimensions` the text has a placeholder, for a person to fill in.
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
