"""Query text for vocabulary and metadata, built once from the layout.

Rows of metadata begin with the position of their node or edge among those requested, which is
shorter than an id and needs no comparison. If a graph is in several tables, one union fetches
all of them: each row fills the columns of its own table.
"""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bfsql_postgres.ids import equals, joined
from bfsql_postgres.schema import (
    Column,
    Edges,
    Evidence,
    Id,
    Layout,
    Mentions,
    Nodes,
    Relation,
    Term,
)
from bfsql_postgres.sql import (
    ID_TYPES,
    RowValue,
    comparable,
    fetched,
    fetched_vector,
    largest,
    literal,
    live,
    named,
    present,
    relation_name,
    storable,
    text,
    union,
)

SAMPLE_IDS = 1_000
"""Ids of each table that are looked up in the others: if two tables number their rows, the smallest
numbers of one of them are in the other.
"""

EVIDENCE_KEYS = ["provenance", "source_documents"]
"""Keys of a row of edges on which its passages depend."""

SCAN_LIMIT = 200_000
"""Number of rows of edges that are searched for passages with an entity as their document. A larger
table is searched only for an entity that the evidence tables know as a document.
"""


# --- vocabulary ----------------------------------------------------------------


def types(layout: Layout) -> str:
    """The types of the nodes that exist; null for a node without one."""
    return "\nUNION\n".join(
        _distinct(nodes.relation, nodes.type, live("x", nodes)) for nodes in layout.nodes
    )


def predicates(layout: Layout) -> str:
    """The predicates of all edges."""
    return "\nUNION\n".join(
        _distinct(
            e.relation, e.predicate, " AND ".join(present("x", (e.subject, e.object))) or "TRUE"
        )
        for e in layout.edges
    )


def _distinct(relation: Relation, term: Term, condition: str) -> str:
    table = relation_name(relation)
    if not isinstance(term, Column):
        return (
            f"SELECT {literal(term)}::text WHERE EXISTS "
            f"(SELECT FROM {table} AS x WHERE {condition})"
        )
    value, shown = named("x", term), text("x", term)
    # The index is ordered by the server's own `<`.
    ordered = term.type_schema == "pg_catalog" and not term.folded
    if not (ordered and relation.leads(term.name)):
        return f"SELECT DISTINCT {shown} FROM {table} AS x WHERE {condition}"
    # Steps from one value to the next along the index, which skips all rows between.
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


# --- ids in several tables -------------------------------------------------------


def shared_ids(layout: Layout) -> str:
    """For each table of nodes, one id that another table has as well.

    A row: number of the first table, number of the other table, the id.
    """
    samples, found = [], []
    for number, nodes in enumerate(layout.nodes):
        value = comparable("n", nodes.id, layout.key)
        source, condition = f"{relation_name(nodes.relation)} AS n", live("n", nodes)
        walked = nodes.relation.leads(*nodes.id.names) and layout.key != "mixed"
        samples.append(
            f"(SELECT {number}, {value} FROM {source} "
            f"WHERE {condition}{' ORDER BY 2' if walked else ''} LIMIT {SAMPLE_IDS})"
        )
        found.append(
            f"(SELECT s.number, {number}, s.id::text FROM sample AS s "
            f"JOIN {source} ON {value} = s.id "
            f"WHERE s.number <> {number} AND {condition} ORDER BY s.number, s.id LIMIT 1)"
        )
    return f"WITH sample (number, id) AS MATERIALIZED (\n{union(samples)}\n)\n{union(found)}"


# --- metadata ----------------------------------------------------------------------


class Rows(NamedTuple):
    """A statement whose rows contain the columns of several tables.

    Values with more bytes than one of the statement's parameters are null, and the column before
    the table's number has then the sizes of the table's values; otherwise it is null.
    """

    statement: str
    fields: tuple[tuple[RowValue, ...], ...]
    """The values fetched from each table, in the order of the columns; lifted values come last."""
    start: int
    """The column of the first value; the one before has the number of the row's table."""

    @property
    def own_keys(self) -> frozenset[str]:
        """The keys of values that are not in JSON."""
        return frozenset(one.key for own in self.fields for one in own if one.role != "lifted")


class ValueSelection(NamedTuple):
    """A selection of the values to fetch."""

    keys: frozenset[str]
    """Keys of a row's own values."""
    place: str
    """Placeholder for the array of keys to fetch from JSON objects."""


def node_metadata(layout: Layout, keys: frozenset[str] | None = None) -> Rows:
    """Metadata of nodes, from an array of ids and the most bytes of a value.

    With `keys`, only from the columns for these.
    """
    wanted = None if keys is None else ValueSelection(keys, "$3")
    fields = tuple(_node_fields(nodes, layout.mentions, wanted) for nodes in layout.nodes)
    requested = f"unnest($1::{ID_TYPES[layout.key]}[]) WITH ORDINALITY AS a (id, position)"
    arms = []
    for number, nodes in enumerate(layout.nodes):
        shown = ["a.position", text("n", nodes.type), *padded(fields, number, "$2::int8")]
        arms.append(
            f"SELECT {', '.join(shown)}\nFROM {requested} "
            f"JOIN {relation_name(nodes.relation)} AS n "
            f"ON {equals('n', nodes.id, 'a.id', layout)} WHERE {live('n', nodes)}"
        )
    return Rows(union(arms), fields, 4)


def some_node_metadata(nodes: Nodes, number: int) -> Rows:
    """Metadata of about this number of rows of a large table, in blocks drawn by the server."""
    fields = _node_fields(nodes, None, None)
    share = min(100.0, 100 * number / max(nodes.relation.rows, 1))
    return Rows(
        f"SELECT {', '.join(['0', *(one.expression for one in fields)])}\n"
        f"FROM {relation_name(nodes.relation)} AS n TABLESAMPLE SYSTEM ({share:.4f})",
        (fields,),
        1,
    )


def edge_metadata(layout: Layout, keys: frozenset[str] | None = None) -> Rows:
    """Metadata of edges with their passages, from subjects, predicates, objects and most bytes.

    With `keys`, only the columns for these are read, without passages. One statement fetches
    both, since sending three arrays twice takes longer than the rows' nulls.
    A row: position from 1 on, sizes, number of its table (tables of evidence follow those of
    edges), then the fields of all tables.
    """
    wanted = None if keys is None else ValueSelection(keys, "$5")
    arms, fields = _edge_arms(layout, ["a.position"], "$4::int8", wanted, evidence=wanted is None)
    kind = ID_TYPES[layout.key]
    given = f"unnest($1::{kind}[], $2::text[], $3::{kind}[])"
    requested = f"a (s, p, o, position) AS (SELECT * FROM {given} WITH ORDINALITY)"
    return Rows(f"WITH {requested}\n{union(arms)}", fields, 3)


def _edge_arms(
    layout: Layout, shown: list[str], most: str, wanted: ValueSelection | None, *, evidence: bool
) -> tuple[list[str], tuple[tuple[RowValue, ...], ...]]:
    """Selects of metadata for the triples in `a`, with its columns `shown`, and their fields."""
    fields = tuple(_edge_fields(edges, wanted) for edges in layout.edges)
    sources = [_same_triple(edges, layout) for edges in layout.edges]
    if evidence:
        fields += tuple(map(_item_fields, layout.evidence))
        sources += [_passages(one, layout) for one in layout.evidence]
    arms = [
        f"SELECT {', '.join([*shown, *padded(fields, number, most)])}\nFROM {source}"
        for number, source in enumerate(sources)
    ]
    return arms, fields


def _same_triple(edges: Edges, layout: Layout) -> str:
    """Joins the triples in `a` with their rows of edges."""
    return (
        f"a JOIN {relation_name(edges.relation)} AS e "
        f"ON {equals('e', edges.subject, 'a.s', layout)} "
        f"AND {text('e', edges.predicate)} = a.p "
        f"AND {equals('e', edges.object, 'a.o', layout)}"
    )


def _passages(evidence: Evidence, layout: Layout) -> str:
    """Joins the triples in `a` with their passages."""
    table = relation_name(evidence.relation)
    if not evidence.by_row:
        key = "(a.s::text || ':' || a.p || ':' || a.o::text)"
        return f"a JOIN {table} AS x ON {text('x', evidence.reference)} = {key}"
    edges = layout.edges[0]
    return f"{_same_triple(edges, layout)} JOIN {table} AS x ON {_same_row(evidence, edges)}"


def _same_row(evidence: Evidence, edges: Edges) -> str:
    """The condition that a passage refers to a row of edges."""
    assert edges.row is not None
    return joined("x", Id((evidence.reference,)), "e", Id((edges.row,)))


def padded(fields: tuple[tuple[RowValue, ...], ...], number: int, most: str) -> list[str]:
    """The columns of a union: sizes, number and fields of one table, nulls for those of others."""
    own = fields[number]
    sizes = ", ".join(one.size(most) if one.column else "0" for one in own)
    # asyncpg asks each connection for the codec of an array, except of `oid` and `text`.
    if_large = f"CASE WHEN {largest(own, most)} > {most} THEN ARRAY[{sizes}]::oid[] END"
    return [if_large, str(number)] + [
        one.bounded(most) if place == number else f"NULL::{one.type}"
        for place, own in enumerate(fields)
        for one in own
    ]


def _node_fields(
    nodes: Nodes, mentions: Mentions | None, wanted: ValueSelection | None
) -> tuple[RowValue, ...]:
    found = [
        fetched_vector("n", key, column) if column == nodes.embedding else fetched("n", key, column)
        for key, column in nodes.metadata
    ]
    if mentions is not None:
        have = {one.key for one in found}
        found += [one for one in _mentioned(nodes, mentions) if one.key not in have]
    return (*_of_keys(found, wanted), *_lifted("n", "properties", nodes.properties, wanted))


def _mentioned(nodes: Nodes, mentions: Mentions) -> list[RowValue]:
    """Counts of the mentions, for nodes without a count of their own."""
    place = (
        f"FROM {relation_name(mentions.relation)} AS m "
        f"WHERE {text('m', mentions.entity)} = {text('n', nodes.id)}"
    )
    number = f"(SELECT nullif(count(*), 0) {place})"
    found = [RowValue("total_mentions", number, "bigint", role="weak")]
    if mentions.document is not None:
        document = text("m", mentions.document)
        listed = f'(SELECT array_agg(DISTINCT {document} COLLATE "C") {place})'
        found.append(RowValue("supporting_documents", listed, "text[]", role="weak"))
    return found


def edge_values(layout: Layout, keys: Sequence[str]) -> tuple[tuple[RowValue, ...], ...]:
    """What each table of edges has of some keys, as in `Rows`; `properties.KEY` is that of JSON."""
    read = sorted({key for one in keys for key in (one, one.removeprefix("properties."))})
    names = ", ".join(literal(key) for key in read if storable((key,)))
    wanted = ValueSelection(frozenset(read), f"ARRAY[{names}]")
    return tuple(_edge_fields(edges, wanted) for edges in layout.edges)


def _edge_fields(edges: Edges, wanted: ValueSelection | None) -> tuple[RowValue, ...]:
    own = [fetched("e", key, column) for key, column in edges.metadata]
    return (*_of_keys(own, wanted), *_lifted("e", "properties", edges.properties, wanted))


def _of_keys(fields: list[RowValue], wanted: ValueSelection | None) -> list[RowValue]:
    return fields if wanted is None else [one for one in fields if one.key in wanted.keys]


def _item_fields(evidence: Evidence) -> tuple[RowValue, ...]:
    """The values fetched for passages."""
    own = [fetched("x", key, column) for key, column in evidence.fields]
    lifted = [one for column in evidence.lifted for one in _lifted("x", column.name, column)]
    return (*own, *lifted)


def _lifted(
    alias: str, key: str, column: Column | None, wanted: ValueSelection | None = None
) -> list[RowValue]:
    if column is None:
        return []
    value = named(alias, column)
    if wanted is not None and column.type == "jsonb":  # `json` rejects some of its own texts
        some = (
            f"SELECT jsonb_object_agg(w.key, {value} -> w.key) "
            f"FROM unnest({wanted.place}::text[]) AS w (key) WHERE {value} ? w.key"
        )
        value = f"(CASE jsonb_typeof({value}) WHEN 'object' THEN ({some}) ELSE {value} END)"
    return [RowValue(key, f"{value}::text", "text", role="lifted", column=named(alias, column))]


# --- provenance ----------------------------------------------------------------------


def provenance(layout: Layout) -> Rows | None:
    """The evidence that touches an entity, and items it supplied as a document.

    Values: the id, the id as text, patterns of JSON text that names it, keys of JSON to read, and
    the most bytes of a value.
    A row: subject, predicate, object, whether the edge touches the entity; then as in
    `edge_metadata`, with the keys on which evidence depends.

    None if the graph has no evidence.
    """
    sources = [edges for edges in layout.edges if layout.evidence or _inline(edges)]
    if not sources:
        return None
    arms = [_touching(e, end, layout) for e in sources for end in (e.subject, e.object)]
    arms += [_supplied(evidence, layout) for evidence in layout.evidence if evidence.document]
    arms += [_supplied_inline(edges, layout) for edges in sources if _inline(edges)]
    shown = ["a.s::text", "a.p", "a.o::text", "a.touching"]
    wanted = ValueSelection(frozenset(EVIDENCE_KEYS), "$4")
    rows, fields = _edge_arms(layout, shown, "$5::int8", wanted, evidence=True)
    # The server requires a type for every value, even if the graph does not use it.
    statement = (
        "WITH given AS (SELECT $2::text, $3::text[], $4::text[]), a AS MATERIALIZED (\n"
        "SELECT s, p, o, bool_or(touching) AS touching\n"
        f"FROM (\n{union(arms)}\n) AS found (s, p, o, touching) GROUP BY s, p, o\n)\n"
    )
    return Rows(statement + union(rows), fields, 6)


def _triple(edges: Edges, layout: Layout) -> str:
    ends = [comparable("e", end, layout.key) for end in (edges.subject, edges.object)]
    return f"{ends[0]}, {text('e', edges.predicate)}, {ends[1]}"


def _touching(edges: Edges, end: Id, layout: Layout) -> str:
    """Edges with the entity at one of their ends."""
    return (
        f"SELECT {_triple(edges, layout)}, TRUE FROM {relation_name(edges.relation)} AS e "
        f"WHERE {equals('e', end, f'$1::{ID_TYPES[layout.key]}', layout)}"
    )


def _supplied(evidence: Evidence, layout: Layout) -> str:
    """Edges with a passage from the entity as a document."""
    edges = layout.edges[0]
    table, place = relation_name(evidence.relation), relation_name(edges.relation)
    triple, document = _triple(edges, layout), _is_document(evidence)
    if evidence.by_row:
        return (
            f"SELECT {triple}, FALSE FROM {table} AS x JOIN {place} AS e "
            f"ON {_same_row(evidence, edges)} WHERE {document}"
        )
    # Ids and the predicate may contain colons, so every way to split the key is tried.
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


def _is_document(evidence: Evidence) -> str:
    assert evidence.document is not None
    return f"{text('x', evidence.document)} = $2::text"


def _supplied_inline(edges: Edges, layout: Layout) -> str:
    """Edges whose own passages name the entity as their document."""
    within = _inline(edges)
    names = [f"{within} LIKE ANY ($3::text[])"]
    if edges.documents is not None:
        names.append(f"{text('e', edges.documents)} LIKE ANY ($3::text[])")
    some = "" if _own_passages(edges) else f"{within} LIKE '%\"provenance\"%' AND "
    gate = ""
    known = [evidence for evidence in layout.evidence if evidence.document is not None]
    if known and edges.relation.rows > SCAN_LIMIT:
        tests = " OR ".join(
            f"EXISTS (SELECT FROM {relation_name(evidence.relation)} AS x "
            f"WHERE {_is_document(evidence)})"
            for evidence in known
        )
        gate = f" AND (SELECT {tests})"
    return (
        f"SELECT {_triple(edges, layout)}, FALSE FROM {relation_name(edges.relation)} AS e "
        f"WHERE {some}({' OR '.join(names)}){gate}"
    )


def _own_passages(edges: Edges) -> Column | None:
    """The column of a row's own passages, if there is one."""
    return next((column for key, column in edges.metadata if key == "provenance"), None)


def _inline(edges: Edges) -> str | None:
    """JSON text that contains a row's own passages; None if it cannot have any."""
    column = _own_passages(edges)
    if column is not None:
        value = named("e", column)
        return f"{value}::text" if column.is_json else f"to_json({value})::text"
    return None if edges.properties is None else f"{named('e', edges.properties)}::text"
