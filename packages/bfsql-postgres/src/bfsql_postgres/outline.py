"""The composition of the graph: counted in the database, properties sampled.

Tables of more than `COUNT_LIMIT` rows are counted if that takes no more than `schema_timeout`.
Otherwise the relations are those of a share of the edges, in blocks drawn by the server.
"""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from typing import Any

from bfsql.models.merge import UNTYPED
from bfsql.schema_statistics import counted_in_time
from bfsql_postgres.connection import Pool
from bfsql_postgres.ids import joined
from bfsql_postgres.schema import Edges, Id, Layout, Nodes, Relation
from bfsql_postgres.sql import comparable, literal, live, named, present, relation_name, text, union

COUNT_LIMIT = 1_000_000
"""Number of rows of a table up to which all are read, whatever the time."""
SAMPLE_ROWS = 200_000
"""Rows drawn from a larger table."""

_SAMPLED_KINDS = frozenset({"r", "p", "m"})
"""Tables, partitioned ones and materialized views: a view has no blocks to draw."""


async def counts(
    pool: Pool, layout: Layout, seconds: float
) -> tuple[dict[str, int], dict[tuple[str, str, str], int], bool]:
    """Count the nodes and the relations of a graph, each within a time if a table is large.

    Returns:
        Nodes by type, empty if counting them took too long; edges by type, predicate and type;
        and whether these are the edges of a sample.
    """
    if _is_large(layout):
        nodes = await counted_in_time(pool.fetch(_types(layout)), seconds)
        whole = await counted_in_time(pool.fetch(_relations(layout)), seconds)
    else:
        nodes, whole = await pool.fetch(_types(layout)), await pool.fetch(_relations(layout))
    rows = await pool.fetch(_relations(layout, drawn=True)) if whole is None else whole
    of_relation = {(subject, predicate, obj): edges for subject, predicate, obj, edges in rows}
    return dict(nodes or ()), of_relation, whole is None


# --- statements, none of which takes a value ------------------------------------

_ENDS = "FROM edge AS e JOIN typed AS s ON s.id = e.s JOIN typed AS o ON o.id = e.o"


def _types(layout: Layout) -> str:
    """Rows of type and the number of nodes."""
    if not _is_by_table(layout):
        return f"{_with_nodes(layout)}\nSELECT type, count(*) FROM typed GROUP BY 1"
    arms = union(
        f"SELECT {_kind(nodes)}, count(*) FROM {_source(nodes, 'n')} WHERE {live('n', nodes)}"
        for nodes in layout.nodes
    )
    counted = f"SELECT type, sum(number)::bigint FROM (\n{arms}\n) AS n (type, number)"
    return f"{counted} GROUP BY 1 HAVING sum(number) > 0"


def _relations(layout: Layout, *, drawn: bool = False) -> str:
    """Rows of type, predicate, type and the number of edges, of all edges or of a share."""
    if _is_by_table(layout):
        return _relations_by_table(layout, drawn=drawn)
    edges = _with_edges(layout, drawn=drawn)
    return f"{edges}\nSELECT s.type, e.p, o.type, count(*)\n{_ENDS}\nGROUP BY 1, 2, 3"


def some_nodes(layout: Layout) -> str:
    """Ids of some nodes of each type, with the type."""
    if _is_by_table(layout):
        return union(
            f"(SELECT {text('n', one.id)}, {_kind(one)} FROM {_source(one, 'n')} "
            f"WHERE {live('n', one)} ORDER BY {_order('n', one.id)} LIMIT 500)"
            for one in layout.nodes
        )
    return (
        f"{_with_nodes(layout, drawn=_is_large(layout))}\nSELECT id::text, type FROM (SELECT id, "
        "type, row_number() OVER (PARTITION BY type ORDER BY id) AS number FROM typed) AS x "
        "WHERE number <= 500"
    )


def some_edges(layout: Layout) -> str:
    """Triples of some edges of each predicate."""
    if _is_by_table(layout):
        return union(
            f"(SELECT {text('e', one.subject)}, {text('e', one.predicate)}, "
            f"{text('e', one.object)} FROM {_source(one, 'e')} WHERE {_present(one)} "
            f"{_order_by(one)}LIMIT 200)"
            for one in layout.edges
        )
    return (
        f"{_with_edges(layout, drawn=_is_large(layout))}\nSELECT s::text, p, o::text FROM (SELECT "
        "e.s, e.p, e.o, row_number() OVER (PARTITION BY e.p ORDER BY e.s, e.o) AS number\n"
        f"{_ENDS}) AS x WHERE number <= 200"
    )


def _is_by_table(layout: Layout) -> bool:
    """Whether each table has one type or one predicate, so that counts are those of tables."""
    return layout.is_disjoint and all(isinstance(one.predicate, str) for one in layout.edges)


def _relations_by_table(layout: Layout, *, drawn: bool) -> str:
    """As `_relations`, by joins of keys instead of ids; edges of several rows count once."""
    of_prefix = {one.id.prefix: one for one in layout.nodes}
    groups: dict[tuple[Any, ...], list[Edges]] = {}
    for one in layout.edges:
        key = (one.subject.prefix, one.predicate, one.object.prefix)
        groups.setdefault(key, []).append(one)
    arms = []
    for (subject, predicate, obj), tables in groups.items():
        ends = of_prefix[subject], of_prefix[obj]
        rows = f"FROM {_joined(tables[0], *ends, drawn=drawn)}"
        if len(tables) > 1 or not _are_edges(tables[0]):
            distinct = (
                f"SELECT DISTINCT {text('e', one.subject)}, {text('e', one.object)} "
                f"FROM {_joined(one, *ends, drawn=drawn)}"
                for one in tables
            )
            rows = "FROM (\n" + "\nUNION\n".join(distinct) + "\n) AS x"
        shown = f"{_kind(ends[0])}, {literal(predicate)}::text, {_kind(ends[1])}"
        arms.append(f"SELECT {shown}, count(*) {rows} HAVING count(*) > 0")
    return union(arms)


def _joined(edges: Edges, subject: Nodes, obj: Nodes, *, drawn: bool) -> str:
    """The rows of edges whose ends are nodes."""
    source = _source(edges, "e", drawn=drawn)
    for alias, end, nodes in (("s", edges.subject, subject), ("o", edges.object, obj)):
        if nodes.relation != edges.relation or nodes.id != end:  # otherwise it is the same row
            at = f"{joined(alias, nodes.id, 'e', end)} AND {live(alias, nodes)}"
            source += f"\nJOIN {relation_name(nodes.relation)} AS {alias} ON {at}"
    return f"{source}\nWHERE {_present(edges)}"


def _are_edges(edges: Edges) -> bool:
    """Whether no two rows are the same edge."""
    here, ends = edges.relation, {*edges.subject.names, *edges.object.names}
    return here.is_unique(*ends) or here.is_unique(*edges.subject.names)


def _kind(nodes: Nodes) -> str:
    return f"coalesce(nullif({text('n', nodes.type)}, ''), {literal(UNTYPED)})"


def _present(edges: Edges) -> str:
    terms = (edges.subject, edges.predicate, edges.object)
    return " AND ".join(present("e", terms)) or "TRUE"


def _order(alias: str, own: Id) -> str:
    return ", ".join(named(alias, column) for column in own.columns)


def _order_by(edges: Edges) -> str:
    """The order of an index, so that the same rows are read each time."""
    ends = [own for own in (edges.subject, edges.object) if edges.relation.leads(*own.names)]
    return f"ORDER BY {_order('e', ends[0])} " if ends else ""


def _with_nodes(layout: Layout, *, drawn: bool = False) -> str:
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
        value, condition = _id("n", nodes.id, layout), live("n", nodes)
        source = _source(nodes, "n", drawn=drawn)
        if of_edges:
            condition += f" AND {value} IN (SELECT s FROM edge UNION SELECT o FROM edge)"
        arms.append(
            f'SELECT {value} AS id, {_kind(nodes)} COLLATE pg_catalog."C" AS type, '
            f"{number} AS place\nFROM {source} WHERE {condition}"
        )
    return (
        f"SELECT DISTINCT ON (id) id, type FROM (\n{union(arms)}\n) AS n ORDER BY id, place, type"
    )


def _edges(edges: Edges, layout: Layout, *, drawn: bool) -> str:
    subject, obj = (_id("e", end, layout) for end in (edges.subject, edges.object))
    predicate = f'{text("e", edges.predicate)} COLLATE pg_catalog."C"'
    return (
        f"SELECT DISTINCT {subject}, {predicate}, {obj}\n"
        f"FROM {_source(edges, 'e', drawn=drawn)} WHERE {_present(edges)}"
    )


def _id(alias: str, own: Id, layout: Layout) -> str:
    """The id of a row in the form that is comparable across all tables."""
    value = comparable(alias, own, layout.key)
    return value if layout.key in {"whole", "uuid"} else f'({value} COLLATE pg_catalog."C")'


def _source(table: Nodes | Edges, alias: str, *, drawn: bool = False) -> str:
    """A table, or its drawn blocks if it is large."""
    share = _share(table.relation) if drawn else 0
    # The same blocks are drawn each time.
    draw = f" TABLESAMPLE SYSTEM ({share:.4f}) REPEATABLE (1)" if share else ""
    return f"{relation_name(table.relation)} AS {alias}{draw}"


def _is_large(layout: Layout) -> bool:
    """Whether only a part of some table is drawn for a sample."""
    tables = [*(one.relation for one in layout.nodes), *(one.relation for one in layout.edges)]
    return any(map(_share, tables))


def _share(relation: Relation) -> float:
    """Percentage of a large table that is drawn; 0 for a table that is always read as a whole."""
    if relation.rows <= COUNT_LIMIT or relation.kind not in _SAMPLED_KINDS:
        return 0
    return min(100.0, max(0.0001, 100 * SAMPLE_ROWS / relation.rows))
