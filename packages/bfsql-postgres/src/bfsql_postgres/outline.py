"""The composition of the graph: counted in the database, properties sampled.

Tables of more than `COUNTED` rows are counted as long as that takes no more than `schema_timeout`.
Otherwise the relations are those of a share of the edges, in blocks drawn by the server.
"""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bfsql.models.merge import UNTYPED
from bfsql.schema_statistics import counted_in_time
from bfsql_postgres.connection import Pool
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
"""Number of rows of a table up to which all are read, whatever the time."""
DRAWN = 200_000
"""Rows drawn from a larger table."""

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
    some_relations: str | None
    """Relations of a share of the edges, as in `relations`; None if no table is large."""


def statements(layout: Layout) -> Statements:
    """The statements that outline a graph."""
    tables = [*(one.relation for one in layout.nodes), *(one.relation for one in layout.edges)]
    large = any(_share(relation) for relation in tables)
    ends = "FROM edge AS e JOIN typed AS s ON s.id = e.s JOIN typed AS o ON o.id = e.o"
    relations = f"SELECT s.type, e.p, o.type, count(*)\n{ends}\nGROUP BY 1, 2, 3"
    of_nodes, some_nodes = (_with_nodes(layout, drawn=drawn) for drawn in (False, large))
    of_edges, some_edges = (_with_edges(layout, drawn=drawn) for drawn in (False, large))
    return Statements(
        f"{of_nodes}\nSELECT type, count(*) FROM typed GROUP BY 1",
        f"{of_edges}\n{relations}",
        f"{some_nodes}\nSELECT id::text, type FROM (SELECT id, type, "
        "row_number() OVER (PARTITION BY type ORDER BY id) AS number FROM typed) AS x "
        "WHERE number <= 500",
        f"{some_edges}\nSELECT s::text, p, o::text FROM (SELECT e.s, e.p, e.o, row_number() OVER "
        f"(PARTITION BY e.p ORDER BY e.s, e.o) AS number\n{ends}) AS x "
        "WHERE number <= 200",
        f"{some_edges}\n{relations}" if large else None,
    )


class Counts(NamedTuple):
    """The counts of an outline."""

    nodes: Mapping[str, int]
    """Number of nodes by type; empty if counting them took too long."""
    relations: Mapping[tuple[str, str, str], int]
    """Number of edges by type, predicate and type."""
    sampled: bool
    """Whether these are the relations of a sample."""


async def counts(pool: Pool, ask: Statements, seconds: float) -> Counts:
    """Count the nodes and the relations of a graph.

    Args:
        pool: Connections to its database.
        ask: Its statements.
        seconds: How long each of the two may take if a table is large.
    """
    if ask.some_relations is None:
        nodes, relations = await pool.fetch(ask.nodes), await pool.fetch(ask.relations)
        return Counts(dict(nodes), _relations(relations), sampled=False)
    of_nodes = await counted_in_time(pool.fetch(ask.nodes), seconds)
    whole = await counted_in_time(pool.fetch(ask.relations), seconds)
    found = await pool.fetch(ask.some_relations) if whole is None else whole
    return Counts(dict(of_nodes or ()), _relations(found), sampled=whole is None)


def _relations(rows: Iterable[Any]) -> dict[tuple[str, str, str], int]:
    return {(subject, predicate, obj): edges for subject, predicate, obj, edges in rows}


def _with_nodes(layout: Layout, *, drawn: bool) -> str:
    typed = _typed(layout, drawn=drawn, of_edges=False)
    return f"WITH typed (id, type) AS MATERIALIZED (\n{typed}\n)"


def _with_edges(layout: Layout, *, drawn: bool) -> str:
    edges = "\nUNION\n".join(_edges(one, layout, drawn=drawn) for one in layout.edges)
    typed = _typed(layout, drawn=False, of_edges=drawn)
    return (
        f"WITH edge (s, p, o) AS MATERIALIZED (\n{edges}\n), "
        f"typed (id, type) AS MATERIALIZED (\n{typed}\n)"
    )


def _typed(layout: Layout, *, drawn: bool, of_edges: bool) -> str:
    """Each node once with its type: of several rows, the first table's first type applies.

    With `of_edges`, only the ends of `edge`; otherwise all nodes, or the drawn ones.
    """
    arms = []
    for number, nodes in enumerate(layout.nodes):
        kind = f"coalesce(nullif({text('n', nodes.type)}, ''), {literal(UNTYPED)})"
        value, condition = _id("n", nodes.id, layout), live("n", nodes)
        source = _source(nodes, "n", drawn=drawn)
        if of_edges:
            condition += f" AND {value} IN (SELECT s FROM edge UNION SELECT o FROM edge)"
        arms.append(
            f'SELECT {value} AS id, {kind} COLLATE pg_catalog."C" AS type, '
            f"{number} AS place\nFROM {source} WHERE {condition}"
        )
    return (
        f"SELECT DISTINCT ON (id) id, type FROM (\n{union(arms)}\n) AS n ORDER BY id, place, type"
    )


def _edges(edges: Edges, layout: Layout, *, drawn: bool) -> str:
    terms = (edges.subject, edges.predicate, edges.object)
    gaps = [term for term in terms if isinstance(term, Column) and not term.required]
    condition = " AND ".join(f"{named('e', term)} IS NOT NULL" for term in gaps) or "TRUE"
    subject, obj = (_id("e", end, layout) for end in (edges.subject, edges.object))
    predicate = f'{text("e", edges.predicate)} COLLATE pg_catalog."C"'
    return (
        f"SELECT DISTINCT {subject}, {predicate}, {obj}\n"
        f"FROM {_source(edges, 'e', drawn=drawn)} WHERE {condition}"
    )


def _id(alias: str, column: Column, layout: Layout) -> str:
    """A column of ids in the form that is comparable across all tables."""
    value = comparable(alias, column, layout.key)
    return value if layout.key in {"whole", "uuid"} else f'({value} COLLATE pg_catalog."C")'


def _source(table: Nodes | Edges, alias: str, *, drawn: bool) -> str:
    """A table, or its drawn blocks if it is large."""
    share = _share(table.relation) if drawn else 0
    # The same blocks are drawn each time.
    draw = f" TABLESAMPLE SYSTEM ({share:.4f}) REPEATABLE (1)" if share else ""
    return f"{relation_name(table.relation)} AS {alias}{draw}"


def _share(relation: Relation) -> float:
    """Percentage of a large table that is drawn; 0 for a table that is always read as a whole."""
    if relation.rows <= COUNTED or relation.kind not in _SAMPLED_KINDS:
        return 0
    return min(100.0, max(0.0001, 100 * DRAWN / relation.rows))
