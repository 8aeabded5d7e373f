"""The composition of the graph: counted in the database, properties sampled.

In tables of more than `COUNTED` rows only a share of the edges is counted, in blocks drawn by
the server, and the outline is called a sample.
"""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from typing import NamedTuple

from bfsql.models.merge import UNTYPED
from bfsql_postgres.schema import Column, Edges, Layout, Nodes, Relation
from bfsql_postgres.sql import (
    comparable,
    literal,
    live,
    named,
    relation_name,
    text,
    union,
)

COUNTED = 1_000_000
"""Number of rows of a table up to which all are read."""
DRAWN = 200_000
"""Rows drawn from a larger table."""
NODES_OF_A_TYPE = 500
"""Nodes of each type whose metadata is read."""
EDGES_OF_A_PREDICATE = 200
"""Edges of each predicate whose metadata is read."""
SEED = 1
"""Seed of the server's draw, so that the same blocks are drawn each time."""

_SAMPLED_KINDS = frozenset({"r", "p", "m"})
"""Tables, partitioned ones and materialized views: a view has no blocks to draw."""


class Statements(NamedTuple):
    """The statements of an outline; none of them takes a value."""

    nodes: str
    """Rows of a type and its number of nodes."""
    relations: str
    """Rows of type, predicate, type and the number of edges."""
    some_nodes: str
    """Rows of an id and its type."""
    some_edges: str
    """Triples."""
    sampled: bool
    """Whether the numbers describe only a part of the graph."""


def statements(layout: Layout) -> Statements:
    """The statements that outline a graph."""
    tables = [*(one.relation for one in layout.nodes), *(one.relation for one in layout.edges)]
    sampled = any(_share(relation) for relation in tables)
    edges = "\nUNION\n".join(_edges(one, layout) for one in layout.edges)
    ends = "FROM edge AS e JOIN typed AS s ON s.id = e.s JOIN typed AS o ON o.id = e.o"
    of_edges = (
        f"WITH edge (s, p, o) AS MATERIALIZED (\n{edges}\n), "
        f"typed (id, type) AS MATERIALIZED (\n{_typed(layout, of_edges=sampled)}\n)"
    )
    of_nodes = f"WITH typed (id, type) AS MATERIALIZED (\n{_typed(layout)}\n)"
    return Statements(
        f"{of_nodes}\nSELECT type, count(*) FROM typed GROUP BY 1",
        f"{of_edges}\nSELECT s.type, e.p, o.type, count(*)\n{ends}\nGROUP BY 1, 2, 3",
        f"{of_nodes}\nSELECT id::text, type FROM (SELECT id, type, "
        "row_number() OVER (PARTITION BY type ORDER BY id) AS number FROM typed) AS x "
        f"WHERE number <= {NODES_OF_A_TYPE}",
        f"{of_edges}\nSELECT s::text, p, o::text FROM (SELECT e.s, e.p, e.o, row_number() OVER "
        f"(PARTITION BY e.p ORDER BY e.s, e.o) AS number\n{ends}) AS x "
        f"WHERE number <= {EDGES_OF_A_PREDICATE}",
        sampled,
    )


def _typed(layout: Layout, *, of_edges: bool = False) -> str:
    """Each node once with its type: of several rows, the first table's first type applies.

    With `of_edges`, only the ends of `edge`; otherwise all nodes, or the drawn ones.
    """
    arms = []
    for number, nodes in enumerate(layout.nodes):
        kind = f"coalesce(nullif({text('n', nodes.type)}, ''), {literal(UNTYPED)})"
        value, condition = _id("n", nodes.id, layout), live("n", nodes)
        source = f"{relation_name(nodes.relation)} AS n" if of_edges else _drawn(nodes, "n")
        if of_edges:
            condition += f" AND {value} IN (SELECT s FROM edge UNION SELECT o FROM edge)"
        arms.append(
            f'SELECT {value} AS id, {kind} COLLATE pg_catalog."C" AS type, '
            f"{number} AS place\nFROM {source} WHERE {condition}"
        )
    return (
        f"SELECT DISTINCT ON (id) id, type FROM (\n{union(arms)}\n) AS n ORDER BY id, place, type"
    )


def _edges(edges: Edges, layout: Layout) -> str:
    terms = (edges.subject, edges.predicate, edges.object)
    gaps = [term for term in terms if isinstance(term, Column) and not term.required]
    condition = " AND ".join(f"{named('e', term)} IS NOT NULL" for term in gaps) or "TRUE"
    subject, obj = (_id("e", end, layout) for end in (edges.subject, edges.object))
    predicate = f'{text("e", edges.predicate)} COLLATE pg_catalog."C"'
    return (
        f"SELECT DISTINCT {subject}, {predicate}, {obj}\n"
        f"FROM {_drawn(edges, 'e')} WHERE {condition}"
    )


def _id(alias: str, column: Column, layout: Layout) -> str:
    """A column of ids in the form that is comparable across all tables."""
    value = comparable(alias, column, layout.key)
    return value if layout.key in {"whole", "uuid"} else f'({value} COLLATE pg_catalog."C")'


def _drawn(table: Nodes | Edges, alias: str) -> str:
    """A table, or its drawn blocks."""
    share = _share(table.relation)
    draw = f" TABLESAMPLE SYSTEM ({share:.4f}) REPEATABLE ({SEED})" if share else ""
    return f"{relation_name(table.relation)} AS {alias}{draw}"


def _share(relation: Relation) -> float:
    """Percentage of a table that is read; 0 for all of it."""
    if relation.rows <= COUNTED or relation.kind not in _SAMPLED_KINDS:
        return 0
    return min(100.0, max(0.0001, 100 * DRAWN / relation.rows))
