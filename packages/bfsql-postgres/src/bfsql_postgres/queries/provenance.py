"""The evidence that touches an entity, and what it supplied as a document, in one statement."""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from bfsql_postgres.catalogue import Column
from bfsql_postgres.layout import Edges, Evidence, Layout
from bfsql_postgres.queries.columns import ID_TYPES, comparable, named, text
from bfsql_postgres.queries.metadata import (
    Columns,
    item_columns,
    padded,
    passages,
    same_row,
    same_triple,
)
from bfsql_postgres.quoting import relation_name

SEARCHED = 200_000
"""Rows of edges that are searched for passages with an entity as their document. In a larger
table only those of an entity that the evidence tables know as a document are looked for so."""

OWN, IN_PROPERTIES = -1, -2
"""Numbers of rows of edges: their JSON is the passages themselves, or has them as a property."""

_TRIPLE = "s, p, o"


class Provenance:
    """All passages of all edges that are concerned.

    Values: the id, the id as text, and patterns of JSON text that names it. A row:
    subject, predicate, object, whether the edge touches the entity, number of the
    evidence table, or `OWN` or `IN_PROPERTIES` for a row of edges; JSON of that
    row, JSON of its documents; then the fields of all evidence tables.

    Args:
        layout: Where the graph is.
    """

    def __init__(self, layout: Layout) -> None:
        self.fields: Columns = item_columns(layout)
        self._layout = layout
        told = [edges for edges in layout.edges if layout.evidence or inline(edges)]
        self.statement = self._statement(told) if told else None
        """None where the graph has no evidence anywhere."""

    def _statement(self, told: list[Edges]) -> str:
        concerned: list[str | None] = [
            self._touching(e, end) for e in told for end in (e.subject, e.object)
        ]
        concerned += [self._supplied(evidence) for evidence in self._layout.evidence]
        concerned += [self._supplied_inline(edges) for edges in told]
        found = "\nUNION ALL\n".join(arm for arm in concerned if arm)
        rows = [self._edge_rows(edges) for edges in told]
        rows += [self._item_rows(n, e) for n, e in enumerate(self._layout.evidence)]
        together = "\nUNION ALL\n".join(rows)
        # The server wants a type for every value, also where the graph has no use for it.
        given = "SELECT $2::text, $3::text[]"
        concerned_ones = (
            f"SELECT {_TRIPLE}, bool_or(touching) AS touching\n"
            f"FROM (\n{found}\n) AS found ({_TRIPLE}, touching) GROUP BY {_TRIPLE}"
        )
        return f"WITH given AS ({given}), a AS MATERIALIZED (\n{concerned_ones}\n)\n{together}"

    # --- which edges --------------------------------------------------------

    def _triple(self, edges: Edges) -> str:
        ends = [comparable("e", end, self._layout.key) for end in (edges.subject, edges.object)]
        return f"{ends[0]}, {text('e', edges.predicate)}, {ends[1]}"

    def _touching(self, edges: Edges, end: Column) -> str:
        return (
            f"SELECT {self._triple(edges)}, TRUE FROM {relation_name(edges.relation)} AS e "
            f"WHERE {comparable('e', end, self._layout.key)} = "
            f"$1::{ID_TYPES[self._layout.key]}"
        )

    def _supplied(self, evidence: Evidence) -> str | None:
        """Edges with a passage from the entity as a document."""
        if evidence.document is None:
            return None
        edges = self._layout.edges[0]
        table, place = relation_name(evidence.relation), relation_name(edges.relation)
        document = f"{text('x', evidence.document)} = $2::text"
        triple = self._triple(edges)
        if evidence.by_row:
            return (
                f"SELECT {triple}, FALSE FROM {table} AS x JOIN {place} AS e "
                f"ON {same_row(evidence, edges)} WHERE {document}"
            )
        # A key may have colons in its ids and in its predicate: every way to part it is tried.
        s, p, o = (text("e", term) for term in (edges.subject, edges.predicate, edges.object))
        return f"""SELECT {triple}, FALSE FROM (
    SELECT k.key, array_to_string(k.parts[1:i], ':') AS s,
        array_to_string(k.parts[j:cardinality(k.parts)], ':') AS o
    FROM (
        SELECT DISTINCT {named("x", evidence.reference)} AS key,
            string_to_array({named("x", evidence.reference)}, ':') AS parts
        FROM {table} AS x WHERE {document}
    ) AS k, generate_series(1, cardinality(k.parts) - 2) AS i,
        generate_series(i + 2, cardinality(k.parts)) AS j
) AS way JOIN {place} AS e ON {s} = way.s AND {o} = way.o
    AND {s} || ':' || {p} || ':' || {o} = way.key"""

    def _supplied_inline(self, edges: Edges) -> str | None:
        """Edges of which a row's own passages name the entity as their document."""
        within = inline(edges)
        if within is None:
            return None
        told = [f"{within} LIKE ANY ($3::text[])"]
        if edges.documents is not None:
            told.append(f"{text('e', edges.documents)} LIKE ANY ($3::text[])")
        some = "" if own_column(edges) else f"{within} LIKE '%\"provenance\"%' AND "
        return (
            f"SELECT {self._triple(edges)}, FALSE FROM {relation_name(edges.relation)} AS e "
            f"WHERE {some}({' OR '.join(told)}){self._gate(edges)}"
        )

    def _gate(self, edges: Edges) -> str:
        documents = [e for e in self._layout.evidence if e.document is not None]
        if edges.relation.rows <= SEARCHED or not documents:
            return ""
        known = " OR ".join(
            f"EXISTS (SELECT FROM {relation_name(evidence.relation)} AS x "
            f"WHERE {text('x', evidence.document)} = $2::text)"
            for evidence in documents
            if evidence.document is not None
        )
        return f" AND (SELECT {known})"

    # --- what they have -----------------------------------------------------

    def _edge_rows(self, edges: Edges) -> str:
        documents = text("e", edges.documents) if edges.documents is not None else "NULL::text"
        kind = OWN if own_column(edges) else IN_PROPERTIES
        shown = [_SHOWN, str(kind), inline(edges) or "NULL::text", documents]
        shown += padded(self.fields, kind)
        return (
            f"SELECT {', '.join(shown)} FROM a JOIN {relation_name(edges.relation)} AS e "
            f"ON {same_triple(edges, self._layout)}"
        )

    def _item_rows(self, number: int, evidence: Evidence) -> str:
        shown = [_SHOWN, str(number), "NULL::text", "NULL::text", *padded(self.fields, number)]
        return f"SELECT {', '.join(shown)} FROM {passages(evidence, self._layout)}"


_SHOWN = "a.s::text, a.p, a.o::text, a.touching"


def own_column(edges: Edges) -> Column | None:
    """The column of a row's own passages, where it has one."""
    return next((column for key, column in edges.metadata if key == "provenance"), None)


def inline(edges: Edges) -> str | None:
    """JSON text in which a row has passages of its own; None where it cannot have any."""
    column = own_column(edges)
    if column is not None:
        value = named("e", column)
        return f"{value}::text" if column.is_json else f"to_json({value})::text"
    return None if edges.properties is None else f"{named('e', edges.properties)}::text"
