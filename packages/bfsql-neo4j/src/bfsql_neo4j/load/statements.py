"""Cypher for loads, besides `queries`: for writing, deleting and reading existing content."""

from __future__ import annotations

from bfsql_neo4j.queries import quoted

# --- what is there --------------------------------------------------------------

# Node by node, since distinguishing all triples of a large graph at once would exhaust the memory.
TRIPLES = (
    "MATCH (a) CALL (a) { MATCH (a)-[r]->(b) RETURN count(DISTINCT [type(r), elementId(b)]) AS n } "
    "RETURN sum(n)"
)
# --- what is written ------------------------------------------------------------


def create_nodes(label: str, id_property: str) -> str:
    """Nodes of one label from `$rows` of number, id, properties; returns number and element id."""
    return (
        f"UNWIND $rows AS row CREATE (n:{quoted(label)}) "
        f"SET n = row[2], n.{quoted(id_property)} = row[1] RETURN row[0], elementId(n)"
    )


def create_relationships(predicate: str) -> str:
    """Relationships of one type from `$rows` of two element ids and properties."""
    return (
        "UNWIND $rows AS row MATCH (a) WHERE elementId(a) = row[0] "
        "MATCH (b) WHERE elementId(b) = row[1] "
        f"CREATE (a)-[r:{quoted(predicate)}]->(b) SET r = row[2]"
    )


# --- what is deleted ------------------------------------------------------------

# Relationships first, since deleting a hub together with them would be one huge transaction.
DELETE_RELATIONSHIPS = "MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF $rows ROWS"
DELETE_NODES = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF $rows ROWS"
