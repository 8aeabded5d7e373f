"""Which types and predicates there are, and how many nodes of each type."""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from bfsql_postgres.catalogue import Column, Relation
from bfsql_postgres.layout import Layout, Nodes, Term
from bfsql_postgres.queries.columns import live, named, text
from bfsql_postgres.quoting import literal, relation_name

COUNTED = 300_000
"""Rows up to which nodes are counted; of more, the planner's figures are told."""


class Schema:
    """Statements without values.

    Args:
        layout: Where the graph is.
    """

    def __init__(self, layout: Layout) -> None:
        self.types = "\nUNION\n".join(
            _distinct(nodes.relation, nodes.type, live("x", nodes)) for nodes in layout.nodes
        )
        """The types of the nodes that are there; null for one that has none."""
        self.predicates = "\nUNION\n".join(
            _distinct(edges.relation, edges.predicate, "TRUE") for edges in layout.edges
        )
        """The predicates."""
        self.counts = "\nUNION ALL\n".join(_counts(nodes) for nodes in layout.nodes)
        """Types with numbers of nodes; a type can come from several tables."""
        self.estimated = any(nodes.relation.rows > COUNTED for nodes in layout.nodes)
        """Whether some of these numbers are estimates."""


def _distinct(relation: Relation, term: Term, condition: str) -> str:
    table = relation_name(relation)
    if not isinstance(term, Column):
        return (
            f"SELECT {literal(term.text)}::text WHERE EXISTS "
            f"(SELECT FROM {table} AS x WHERE {condition})"
        )
    value, shown = named("x", term), text("x", term)
    if not (term.is_ordered and relation.leads(term.name)):
        return f"SELECT DISTINCT {shown} FROM {table} AS x WHERE {condition}"
    # From one value to the next along the index, which skips all rows between.
    return f"""(
    WITH RECURSIVE walk (value) AS (
        (SELECT {value} FROM {table} AS x WHERE {value} IS NOT NULL ORDER BY 1 LIMIT 1)
        UNION ALL
        SELECT (SELECT {value} FROM {table} AS x WHERE {value} > walk.value ORDER BY 1 LIMIT 1)
        FROM walk WHERE walk.value IS NOT NULL
    )
    SELECT walk.value::text FROM walk WHERE walk.value IS NOT NULL
        AND EXISTS (SELECT FROM {table} AS x WHERE {value} = walk.value AND {condition})
    UNION ALL
    SELECT NULL::text WHERE EXISTS (SELECT FROM {table} AS x WHERE {value} IS NULL AND {condition})
)"""


def _counts(nodes: Nodes) -> str:
    table, kind = relation_name(nodes.relation), text("x", nodes.type)
    if nodes.relation.rows <= COUNTED:
        return f"SELECT {kind}, count(*) FROM {table} AS x WHERE {live('x', nodes)} GROUP BY 1"
    rows = f"{nodes.relation.rows:.0f}::bigint"
    if not isinstance(nodes.type, Column):
        return f"SELECT {kind}, {rows}"
    return (
        f"SELECT common.value, (common.share * {rows})::bigint FROM pg_catalog.pg_stats AS s, "
        "unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS common (value, share) "
        f"WHERE s.schemaname = {literal(nodes.relation.schema)} "
        f"AND s.tablename = {literal(nodes.relation.name)} "
        f"AND s.attname = {literal(nodes.type.name)} "
        f"AND s.inherited = {nodes.relation.kind == 'p'}"
    )
