"""Whether one id is in several tables of nodes."""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from bfsql_postgres.layout import Layout, Nodes
from bfsql_postgres.queries.columns import comparable, live
from bfsql_postgres.quoting import relation_name

LOOKED_AT = 1_000
"""Ids of each table that are looked for in the others: where two tables count, each in its own way,
the smallest numbers of one of them are in the other."""


def shared(layout: Layout) -> str:
    """The statement that finds, for each table of nodes, one id that another one has.

    A row: number of one table, number of the other, the id.
    """
    samples = [_sample(layout, number, nodes) for number, nodes in enumerate(layout.nodes)]
    found = [_also_in(layout, number, nodes) for number, nodes in enumerate(layout.nodes)]
    return f"WITH sample (number, id) AS MATERIALIZED (\n{_union(samples)}\n)\n{_union(found)}"


def _sample(layout: Layout, number: int, nodes: Nodes) -> str:
    value = comparable("n", nodes.id, layout.key)
    walked = nodes.relation.leads(nodes.id.name) and layout.key != "mixed"
    return (
        f"(SELECT {number}, {value} FROM {relation_name(nodes.relation)} AS n "
        f"WHERE {live('n', nodes)}{' ORDER BY 2' if walked else ''} LIMIT {LOOKED_AT})"
    )


def _also_in(layout: Layout, number: int, nodes: Nodes) -> str:
    return (
        f"(SELECT s.number, {number}, s.id::text FROM sample AS s "
        f"JOIN {relation_name(nodes.relation)} AS n "
        f"ON {comparable('n', nodes.id, layout.key)} = s.id "
        f"WHERE s.number <> {number} AND {live('n', nodes)} ORDER BY s.number, s.id LIMIT 1)"
    )


def _union(arms: list[str]) -> str:
    return "\nUNION ALL\n".join(arms)
