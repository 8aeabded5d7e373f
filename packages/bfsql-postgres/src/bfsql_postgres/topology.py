"""Query text for topology: rings and types, each from one array of ids.

Values travel as parameters, many ids in one array; with `unnest` and a join the server uses its
indexes, whereas `= ANY` scans the table (a ring of 1,000 ids among 200,000 rows: 90 ms against
10).
"""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bfsql.models.merge import UNTYPED
from bfsql.models.records import EdgeDirection
from bfsql_postgres.ids import equals, has_cast
from bfsql_postgres.queries import edge_values, padded
from bfsql_postgres.schema import Edges, Id, Layout, Nodes, Relation
from bfsql_postgres.sql import (
    ID_TYPES,
    comparable,
    literal,
    live,
    present,
    relation_name,
    text,
    union,
)

MOST = 1_000
"""Most bytes of a value that comes with a row."""


class RingDirection(NamedTuple):
    """Which part of a ring a statement reads."""

    direction: EdgeDirection | None = None
    """Direction of the edges, as seen from the ids; None for both."""
    filtered: bool = False
    """Whether it takes an array of predicates, as its last value."""
    prefixes: frozenset[str] | None = None
    """The prefixes of the ids, which tell their tables; None if ids have none."""
    keys: tuple[str, ...] = ()
    """Keys of metadata whose values follow, as in `queries.Rows`."""

    def nodes(self, layout: Layout) -> Sequence[Nodes]:
        """The tables that may have the ids."""
        return [one for one in layout.nodes if self._has(one.id)]

    def ends(self, layout: Layout) -> list[tuple[Edges, EdgeDirection]]:
        """The tables of edges that may have the ids at an end, with the side of that end."""
        sides: tuple[EdgeDirection, ...] = ("out", "in")
        return [
            (edges, side)
            for edges in layout.edges
            for side in sides
            if self.direction in (None, side) and self._has(_at(edges, side)[0])
        ]

    def _has(self, own: Id) -> bool:
        return self.prefixes is None or own.prefix in self.prefixes


WHOLE = RingDirection()


def ring(layout: Layout, part: RingDirection = WHOLE) -> str:
    """Every edge with one of the ids at either end, or a part of them; empty if there are none."""
    predicates = "$2" if part.filtered else None
    arms = [_ends(e, side, layout, predicates, part.keys) for e, side in part.ends(layout)]
    found = "\nUNION\n".join(f"SELECT a.id{_requested(one, layout)}" for one in part.nodes(layout))
    return f"WITH live (id) AS MATERIALIZED (\n{found}\n)\n{union(arms)}" if arms else ""


def small_ring(layout: Layout, rows: int, part: RingDirection = WHOLE) -> str:
    """The first rows of the ring of a few ids, with the types of both ends if `has_types`.

    With types, the second value is the number of ids. The server assumes a tenth of them in its
    cached plan, which then costs no more than a plan for the actual ids: it keeps the cached plan
    after five of those, and planning takes longer than reading a few rows. The type of an end is
    looked up for each edge: for few edges this is faster than sending all ends back.
    """
    if not (ends := part.ends(layout)):
        return ""
    if not has_types(layout):
        return f"{ring(layout, part)}\nLIMIT {rows}"
    asked = f"SELECT unnest($1::{ID_TYPES[layout.key]}[]) AS id LIMIT $2"
    predicates = "$3" if part.filtered else None
    arms = union(_ends(e, side, layout, predicates, part.keys, typed=True) for e, side in ends)
    kind = _type_of("a.id", part.nodes(layout), layout)
    return (
        f"WITH live (id, type) AS MATERIALIZED (\nSELECT a.id, {kind}\n"
        f"FROM ({asked}) AS a\n)\n{arms}\nLIMIT {rows}"
    )


def has_types(layout: Layout) -> bool:
    """Whether indexes find the edges of a node, and the node at the other end of each."""
    # Columns with different collations can be compared only with a parameter.
    collations = {column.collation for _, own in layout.id_sources for column in own.columns}
    same = len(collations - {"0"}) <= 1
    return same and all(_is_found(relation, own, layout) for relation, own in layout.id_sources)


def _type_of(node_id: str, tables: Sequence[Nodes], layout: Layout) -> str:
    """The type of a node as `get_node` returns it, null for an id that is not a node.

    The first table that has the id determines the type, and within it the first of its types.
    """
    found = []
    for nodes in tables:
        kind = text("n", nodes.type)
        first = f"coalesce({kind}, '') COLLATE pg_catalog.\"C\""
        order = "" if nodes.relation.is_unique(*nodes.id.names) else f" ORDER BY {first}"
        found.append(
            f"(SELECT coalesce(nullif({kind}, ''), {literal(UNTYPED)}) "
            f"FROM {relation_name(nodes.relation)} AS n "
            f"WHERE {equals('n', nodes.id, node_id, layout)} AND {live('n', nodes)}"
            f"{order} LIMIT 1)"
        )
    return found[0] if len(found) == 1 else f"coalesce({', '.join(found) or 'NULL::text'})"


def nodes(layout: Layout, part: RingDirection = WHOLE) -> str:
    """Id and type, and the number of the table if there are several."""
    several = len(layout.nodes) > 1
    return union(
        f"SELECT {text('n', one.id)}, {text('n', one.type)}{f', {number}' if several else ''}"
        f"{_requested(one, layout)}"
        for number, one in enumerate(part.nodes(layout))
    )


def _is_found(relation: Relation, own: Id, layout: Layout) -> bool:
    """Whether an index finds the rows with an id."""
    converted = layout.key != "prefixed" or all(map(has_cast, own.columns))
    return (
        layout.key != "mixed" and converted and relation.is_indexable and relation.leads(*own.names)
    )


def _requested(nodes: Nodes, layout: Layout) -> str:
    return (
        f"\nFROM unnest($1::{ID_TYPES[layout.key]}[]) AS a (id) "
        f"JOIN {relation_name(nodes.relation)} AS n "
        f"ON {equals('n', nodes.id, 'a.id', layout)} WHERE {live('n', nodes)}"
    )


def _at(edges: Edges, side: EdgeDirection) -> tuple[Id, Id]:
    """The end of an edge at a side, and the other end."""
    ends = edges.subject, edges.object
    return ends if side == "out" else (ends[1], ends[0])


def _ends(
    edges: Edges,
    side: EdgeDirection,
    layout: Layout,
    predicates: str | None = None,
    keys: Sequence[str] = (),
    *,
    typed: bool = False,
) -> str:
    """Triples of the edges at one side of the nodes in `live`, with the types of both ends.

    With `predicates`, the placeholder of an array, only edges with these predicates.
    """
    end, other = _at(edges, side)
    terms = (edges.subject, edges.predicate, edges.object)
    shown = [text("e", term) for term in terms]
    # Views and outer joins can have nulls, and such a row is not an edge.
    tests = present("e", terms)
    if predicates is not None:
        tests.append(f"{text('e', edges.predicate)} = ANY ({predicates}::text[])")
    if typed:
        may_have = [one for one in layout.nodes if one.id.prefix == other.prefix]
        types = ["live.type", _type_of(comparable("e", other, layout.key), may_have, layout)]
        shown += types if side == "out" else reversed(types)
        tests.append("live.type IS NOT NULL")
    if keys:
        shown += padded(edge_values(layout, keys), layout.edges.index(edges), str(MOST))
    return (
        f"SELECT {', '.join(shown)}\nFROM live JOIN {relation_name(edges.relation)} AS e "
        f"ON {equals('e', end, 'live.id', layout)}"
        f"{' WHERE ' if tests else ''}{' AND '.join(tests)}"
    )
