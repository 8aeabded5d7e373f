"""Metadata of nodes and of edges, and the passages behind edges.

Rows carry the position of what they belong to among what was asked for, which
is shorter than an id and needs no comparison. Where a graph is in several
tables, one union fetches all of them: each row fills the columns of its table.
"""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from bfsql_postgres.schema import Column, Edges, Evidence, Layout, Mentions, Nodes, Relation, Term
from bfsql_postgres.sql import (
    ID_TYPES,
    Fetched,
    comparable,
    fetched,
    fetched_vector,
    literal,
    live,
    named,
    nulls,
    relation_name,
    text,
    type_name,
)


class Topology:
    """Statements about identity alone; each takes one array of ids.

    Args:
        layout: Where the graph is.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._type = ID_TYPES[layout.key]
        arms = [self._ends(edges, side) for edges in layout.edges for side in ("out", "in")]
        self.ring = self._of_live(arms)
        """Every edge with an asked node at either end, both directions at once."""
        self.leaving = self._of_live([_MARK, *(self._ends(edges, "out") for edges in layout.edges)])
        """The edges that leave a node, after a row of nulls that says that the node is there."""
        self.entering = self._of_live([_MARK, *(self._ends(edges, "in") for edges in layout.edges)])
        """Likewise those that enter it."""
        self.nodes = "\nUNION ALL\n".join(
            f"SELECT {text('n', nodes.id)}, {text('n', nodes.type)}{rank}{self._asked(nodes)}"
            for nodes, rank in self._ranked()
        )
        """Id and type, and the rank of its table where there are several."""

    def _ranked(self) -> list[tuple[Nodes, str]]:
        several = len(self._layout.nodes) > 1
        return [
            (nodes, f", {rank}" if several else "") for rank, nodes in enumerate(self._layout.nodes)
        ]

    def _asked(self, nodes: Nodes) -> str:
        """The rows of the asked nodes, which exist."""
        return (
            f"\nFROM unnest($1::{self._type}[]) AS a (id) "
            f"JOIN {relation_name(nodes.relation)} AS n "
            f"ON {comparable('n', nodes.id, self._layout.key)} = a.id WHERE {live('n', nodes)}"
        )

    def _of_live(self, arms: list[str]) -> str:
        found = "\nUNION\n".join(f"SELECT a.id{self._asked(nodes)}" for nodes in self._layout.nodes)
        joined = "\nUNION ALL\n".join(arms)
        return f"WITH live (id) AS MATERIALIZED (\n{found}\n)\n{joined}"

    def _ends(self, edges: Edges, side: str) -> str:
        """Triples of the edges that leave, or enter, a node that is there."""
        end = edges.subject if side == "out" else edges.object
        return (
            f"SELECT {text('e', edges.subject)}, {text('e', edges.predicate)}, "
            f"{text('e', edges.object)}\n"
            f"FROM live JOIN {relation_name(edges.relation)} AS e "
            f"ON {comparable('e', end, self._layout.key)} = live.id{_whole(edges)}"
        )


def _whole(edges: Edges) -> str:
    """The condition that a row is an edge at all: views and outer joins leave gaps."""
    terms = (edges.subject, edges.predicate, edges.object)
    gaps = [term for term in terms if isinstance(term, Column) and not term.required]
    filled = " AND ".join(f"{named('e', term)} IS NOT NULL" for term in gaps)
    return f" WHERE {filled}" if filled else ""


_MARK = "SELECT NULL::text, NULL::text, NULL::text FROM live"


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
    return f"a (s, p, o, position) AS (SELECT * FROM {given} WITH ORDINALITY)"


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
