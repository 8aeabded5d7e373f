"""Metadata of nodes and of edges, and the passages behind edges.

Rows carry the position of what they belong to among what was asked for, which
is shorter than an id and needs no comparison. Where a graph is in several
tables, one union fetches all of them: each row fills the columns of its table.
"""

from __future__ import annotations

from bfsql_postgres.catalogue import Column
from bfsql_postgres.layout import Edges, Evidence, Layout, Mentions, Nodes
from bfsql_postgres.queries.columns import (
    ID_TYPES,
    Fetched,
    comparable,
    fetched,
    fetched_vector,
    live,
    named,
    nulls,
    text,
)
from bfsql_postgres.quoting import relation_name, type_name

KEY = "(a.s::text || ':' || a.p || ':' || a.o::text)"
"""What kgraph's evidence calls the triple asked for."""

Columns = tuple[tuple[Fetched, ...], ...]
"""What is fetched from each table of a union."""


class NodeRows:
    """Metadata of nodes, from one array of ids.

    A row: position from 1 on, number of its table, type, then the fields of all tables.
    """

    def __init__(self, layout: Layout) -> None:
        self.fields: Columns = tuple(_node_fields(nodes, layout.mentions) for nodes in layout.nodes)
        """What is fetched from each table; the properties come last."""
        asked = f"unnest($1::{ID_TYPES[layout.key]}[]) WITH ORDINALITY AS a (id, position)"
        arms = []
        for number, nodes in enumerate(layout.nodes):
            shown = ["a.position", str(number), text("n", nodes.type)]
            shown += padded(self.fields, number)
            arms.append(
                f"SELECT {', '.join(shown)}\nFROM {asked} "
                f"JOIN {relation_name(nodes.relation)} AS n "
                f"ON {comparable('n', nodes.id, layout.key)} = a.id WHERE {live('n', nodes)}"
            )
        self.statement = "\nUNION ALL\n".join(arms)


class EdgeRows:
    """Metadata of edges and the passages behind them, from subjects, predicates and objects.

    One statement for both, since to send three arrays twice takes longer than the rows' nulls.
    A row: position from 1 on, number of its table, the tables of evidence after those of edges,
    then the fields of all tables.
    """

    def __init__(self, layout: Layout) -> None:
        told: Columns = tuple(_edge_fields(edges) for edges in layout.edges)
        self.fields: Columns = told + item_columns(layout)
        sources = [
            f"a JOIN {relation_name(edges.relation)} AS e ON {same_triple(edges, layout)}"
            for edges in layout.edges
        ]
        sources += [passages(evidence, layout) for evidence in layout.evidence]
        arms = []
        for number, source in enumerate(sources):
            shown = ["a.position", str(number), *padded(self.fields, number)]
            arms.append(f"SELECT {', '.join(shown)}\nFROM {source}")
        together = "\nUNION ALL\n".join(arms)
        self.statement = f"WITH {triples(layout)}\n{together}"


# --- shared by the statements -----------------------------------------------


def triples(layout: Layout) -> str:
    """The triples asked for with their positions, as `a`."""
    kind = ID_TYPES[layout.key]
    given = f"unnest($1::{kind}[], $2::text[], $3::{kind}[])"
    return f"a (s, p, o, position) AS (SELECT * FROM {given} WITH ORDINALITY)"  # noqa: S608 - types


def same_triple(edges: Edges, layout: Layout) -> str:
    """The condition that a row of edges is the triple asked for."""
    return (
        f"{comparable('e', edges.subject, layout.key)} = a.s "
        f"AND {text('e', edges.predicate)} = a.p "
        f"AND {comparable('e', edges.object, layout.key)} = a.o"
    )


def same_row(evidence: Evidence, edges: Edges) -> str:
    """The condition that a passage refers to a row of edges."""
    assert edges.row is not None
    own, row = evidence.reference, edges.row
    if type_name(own) == type_name(row) or (own.is_whole and row.is_whole):
        return f"{named('x', own)} = {named('e', row)}"
    return f"{text('x', own)} = {text('e', row)}"


def passages(evidence: Evidence, layout: Layout) -> str:
    """The passages of the triples asked for."""
    table = relation_name(evidence.relation)
    if not evidence.by_row:
        return f"a JOIN {table} AS x ON {text('x', evidence.reference)} = {KEY}"
    edges = layout.edges[0]
    return (
        f"a JOIN {relation_name(edges.relation)} AS e ON {same_triple(edges, layout)} "
        f"JOIN {table} AS x ON {same_row(evidence, edges)}"
    )


def item_columns(layout: Layout) -> Columns:
    """What is fetched of passages, from each table; lifted columns come last."""
    return tuple(
        (
            *(fetched("x", key, column) for key, column in evidence.fields),
            *(_lifted("x", column.name, column) for column in evidence.lifted),
        )
        for evidence in layout.evidence
    )


def padded(fields: Columns, number: int) -> list[str]:
    """The columns of a union: those of one table, nulls for those of the others."""
    return [
        column
        for place, own in enumerate(fields)
        for column in ([one.expression for one in own] if place == number else nulls(own))
    ]


def _lifted(alias: str, key: str, column: Column) -> Fetched:
    return Fetched(key, f"{named(alias, column)}::text", "text", role="lifted")


def _node_fields(nodes: Nodes, mentions: Mentions | None) -> tuple[Fetched, ...]:
    found = [
        fetched_vector("n", key, column) if column == nodes.embedding else fetched("n", key, column)
        for key, column in nodes.metadata
    ]
    have = {one.key for one in found}
    if mentions is not None and not {"total_mentions", "supporting_documents"} <= have:
        found += _counted(nodes, mentions, have)
    if nodes.properties is not None:
        found.append(_lifted("n", "properties", nodes.properties))
    return tuple(found)


def _counted(nodes: Nodes, mentions: Mentions, have: set[str]) -> list[Fetched]:
    """Counts of the mentions, for entities that bring none."""
    place = (
        f"FROM {relation_name(mentions.relation)} AS m "
        f"WHERE {text('m', mentions.entity)} = {text('n', nodes.id)}"
    )
    found = []
    if "total_mentions" not in have:
        found.append(
            Fetched(
                "total_mentions", f"(SELECT nullif(count(*), 0) {place})", "bigint", role="weak"
            )
        )
    if "supporting_documents" not in have and mentions.document is not None:
        document = text("m", mentions.document)
        listed = f'(SELECT array_agg(DISTINCT {document} COLLATE "C") {place})'
        found.append(Fetched("supporting_documents", listed, "text[]", role="weak"))
    return found


def _edge_fields(edges: Edges) -> tuple[Fetched, ...]:
    found = [fetched("e", key, column) for key, column in edges.metadata]
    if edges.properties is not None:
        found.append(_lifted("e", "properties", edges.properties))
    return tuple(found)
