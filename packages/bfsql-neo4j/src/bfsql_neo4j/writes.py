"""Cypher for loads, besides `queries`: for writing, deleting and reading existing content."""

from __future__ import annotations

from bfsql_neo4j.queries import quoted

# --- what is there --------------------------------------------------------------

SIZE = "MATCH (n) WITH count(n) AS nodes OPTIONAL MATCH ()-[r]->() RETURN nodes, count(r)"
"""Number of nodes, and of relationships."""

# Node by node, since distinguishing all triples of a large graph at once would exhaust the memory.
TRIPLES = (
    "MATCH (a) CALL (a) { MATCH (a)-[r]->(b) RETURN count(DISTINCT [type(r), elementId(b)]) AS n } "
    "RETURN sum(n)"
)
EVIDENCE = (
    "MATCH (a) CALL (a) { MATCH (a)-[r]->(b) WHERE any(key IN $keys WHERE r[key] IS NOT NULL) "
    "RETURN type(r) AS kind, b, collect([key IN $keys | r[key]]) AS found } RETURN found"
)
"""The values of `$keys` on the relationships of each triple that has any of them."""

RELATIONSHIPS = (
    "UNWIND $edges AS e MATCH (a) WHERE elementId(a) = e[1] "
    "MATCH (b) WHERE elementId(b) = e[3] WITH e, a, b ORDER BY e[0] "
    "MATCH (a)-[r]->(b) WHERE type(r) = e[2] "
    "RETURN e[0], elementId(r), properties(r) ORDER BY e[0], elementId(r)"
)
"""Position, element id and properties of relationships of `$edges`: position, element, type,
element. As in `queries.edge_metadata`, sorting ensures that both ends are known first.
"""

# --- what is written ------------------------------------------------------------


def create_nodes(label: str, id_property: str) -> str:
    """Nodes of one label from `$rows` of number, id, properties; returns number and element id."""
    return (
        f"UNWIND $rows AS row CREATE (n:{quoted(label)}) "
        f"SET n = row[2], n.{quoted(id_property)} = row[1] RETURN row[0], elementId(n)"
    )


def change_nodes(old: str, new: str, held: str, id_property: str) -> str:
    """Sets new properties on nodes, and replaces a label; takes `$rows` as above.

    Args:
        old: The label to remove.
        new: The label to add; may be the same.
        held: The property that holds their ids, as values of any kind.
        id_property: The property that shall hold them; if it is another, they become text.
    """
    value = f"n.{quoted(held)}" if id_property == held else "row[1]"
    text = (
        f"UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row[0] WITH n, row, {value} AS id "
        f"SET n = row[2], n.{quoted(id_property)} = id"
    )
    return text if old == new else f"{text} REMOVE n:{quoted(old)} SET n:{quoted(new)}"


def create_relationships(predicate: str) -> str:
    """Relationships of one type from `$rows` of two element ids and properties."""
    return (
        "UNWIND $rows AS row MATCH (a) WHERE elementId(a) = row[0] "
        "MATCH (b) WHERE elementId(b) = row[1] "
        f"CREATE (a)-[r:{quoted(predicate)}]->(b) SET r = row[2]"
    )


CHANGE_RELATIONSHIPS = (
    "UNWIND $rows AS row MATCH ()-[r]->() WHERE elementId(r) = row[0] SET r = row[1]"
)

# --- what is deleted ------------------------------------------------------------

# Relationships first, since deleting a hub together with them would be one huge transaction.
DELETE_RELATIONSHIPS = "MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF $rows ROWS"
DELETE_NODES = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF $rows ROWS"
DELETE_NAMED_RELATIONSHIPS = (
    "UNWIND $elements AS e MATCH ()-[r]->() WHERE elementId(r) = e "
    "CALL (r) { DELETE r } IN TRANSACTIONS OF $rows ROWS"
)

_NAMED = "UNWIND $elements AS e MATCH (n) WHERE elementId(n) = e "

TRIPLES_OF_NODES = (
    f"{_NAMED} MATCH (n)-[r]-() RETURN count(DISTINCT [startNode(r), type(r), endNode(r)])"
)
DELETE_RELATIONSHIPS_OF_NODES = (
    f"{_NAMED} MATCH (n)-[r]-() WITH DISTINCT r "
    "CALL (r) { DELETE r } IN TRANSACTIONS OF $rows ROWS"
)
DELETE_NAMED_NODES = f"{_NAMED} CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF $rows ROWS"
