"""Indexes that make reading fast: finds those that a graph lacks, and the statements for them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bfsql_postgres import queries
from bfsql_postgres.discovery import layout_of
from bfsql_postgres.metadata import items_of
from bfsql_postgres.pushdown import Pushdown
from bfsql_postgres.schema import Column, Edges, Evidence, Id, Layout, Nodes, Relation
from bfsql_postgres.search import searched, vector_size
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import (
    bare_expression,
    identifier,
    qualified,
    relation_name,
    text,
    type_name,
)
from bfsql_postgres.writer import writer

if TYPE_CHECKING:
    import asyncpg

MOST_DIMENSIONS = {"vector": 2_000, "halfvec": 4_000}
"""Most dimensions of a vector that pgvector can index, by type."""

_FIXED_TEXTS = frozenset({"int2", "int4", "int8", "numeric", "uuid", "bool", "bpchar"})
"""Types whose cast to text is immutable, so that it can be indexed; that of a date, an
enumeration or an array is not.
"""

SCAN_LIMIT = 50_000
"""Rows up to which a table is scanned in less than a tenth of a second."""
SAMPLE_ROWS, RARE = 2_000, 0.01
"""Rows whose properties are read, and the share of them that has a property worth an index."""

_LEFT = "Indexes that were created before the failure are kept; run it again to create the others."

log = logging.getLogger("bfsql.postgres")


async def prepare(settings: PostgresSettings, apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """Find the indexes that a graph lacks, and create them if requested.

    Args:
        settings: The location of the graph; to create indexes, with a role that may.
        apply: Whether to run the statements, one by one and outside a transaction, so that
            others can write meanwhile.

    Returns:
        The statements, each with its semicolon, so that all of them can be pasted at once.

    Raises:
        StoreError: There is no graph, or the role may not create its indexes; indexes already
            created remain.
    """
    async with writer(settings, _LEFT) as connection:
        layout = await layout_of(connection, settings)
        by_meaning = settings.embedding is not None
        if by_meaning:
            await _warn_of_untyped_vectors(connection, layout)
        missing = [*missing_indexes(layout, by_meaning=by_meaning)]
        missing += await _of_properties(connection, layout)
        statements = [statement for index in missing for statement in index.statements()]
        if apply:
            for statement in statements:
                await connection.execute(statement)
    return [f"{statement};" for statement in statements]


@dataclass(frozen=True, slots=True)
class MissingIndex:
    """An index that a statement of the reader would use."""

    relation: Relation
    keys: tuple[str, ...]
    """The indexed keys, as SQL."""
    method: str = "btree"
    opclass: str = ""
    """Operator class of the only key, with its schema; empty for the type's default."""
    rows: str = ""
    """The condition on the rows that it covers, as SQL; empty for all rows."""
    unfinished: tuple[str, ...] = ()
    """Names of invalid copies of this index, whose creation was interrupted."""

    def statements(self, *, concurrently: bool = True) -> list[str]:
        """The statements that create it; `concurrently` allows writes but no transaction."""
        here = self.relation
        how = " CONCURRENTLY" if concurrently and here.kind != "p" else ""
        keys = ", ".join(f"{key} {self.opclass}".rstrip() for key in self.keys)
        dropped = [f"DROP INDEX{how} {qualified(here.schema, name)}" for name in self.unfinished]
        using = "" if self.method == "btree" else f"USING {self.method} "
        where = f" WHERE {self.rows}" if self.rows else ""
        return [*dropped, f"CREATE INDEX{how} ON {relation_name(here)} {using}({keys}){where}"]


def missing_indexes(
    layout: Layout, *, by_meaning: bool = False, by_name: bool = False
) -> Iterator[MissingIndex]:
    """The indexes that a graph lacks. Views cannot have any and are left out.

    Those for vectors are included `by_meaning`, those for conditions on names `by_name`.
    """
    for nodes in layout.nodes:
        if not _is_worth_it(nodes.relation, layout):
            continue
        yield from _of_nodes(layout, nodes, by_meaning=by_meaning)
        table = Pushdown(layout, nodes, single=True, alias=identifier(nodes.relation.name))
        if rows := table.unreadable_rows():
            yield from _missing(
                nodes.relation, (_id(layout, nodes.id, nodes.relation)[0],), rows=rows
            )
        if by_name and (expression := table.folded_name()):
            yield from _missing(nodes.relation, (expression,))
    for edges in layout.edges:
        if _is_worth_it(edges.relation, layout):
            yield from _of_edges(layout, edges)
    for evidence in layout.evidence:
        if evidence.relation.is_indexable:
            yield from _of_evidence(evidence)
    mentions = layout.mentions
    if mentions is not None and mentions.relation.is_indexable:
        yield from _missing(mentions.relation, (_text(mentions.entity, mentions.relation),))


def _is_worth_it(relation: Relation, layout: Layout) -> bool:
    """Whether a table may have indexes, and gains by them: databases have many small tables."""
    return relation.is_indexable and (layout.key != "prefixed" or relation.rows >= SCAN_LIMIT)


async def _of_properties(connection: asyncpg.Connection, layout: Layout) -> list[MissingIndex]:
    """Indexes for conditions on the properties of large tables, by what a sample of rows has."""
    found: list[MissingIndex] = []
    for nodes in layout.nodes:
        here = nodes.relation
        if not here.is_indexable or here.rows < SCAN_LIMIT:
            continue
        source = queries.some_node_metadata(nodes, SAMPLE_ROWS)
        rows = await connection.fetch(source.statement)
        values: dict[str, list[Any]] = defaultdict(list)
        for item in items_of(rows, source):
            for key, value in item.items():
                values[key].append(value)
        table = Pushdown(layout, nodes, single=True, alias=identifier(here.name))
        for key, own in sorted(values.items()):
            if len(own) >= RARE * len(rows):
                for expression in table.indexed(key, own):
                    found += _missing(here, (expression,))
    return found


def _of_nodes(layout: Layout, nodes: Nodes, *, by_meaning: bool) -> Iterator[MissingIndex]:
    here, catalogue = nodes.relation, layout.catalogue
    own = _id(layout, nodes.id, here)
    yield from _missing(here, own, leading=len(own))
    if isinstance(nodes.type, Column):
        yield from _missing(here, (identifier(nodes.type.name),))
    if catalogue.trigrams is not None:
        opclass = (catalogue.trigrams, "gin_trgm_ops")
        for expression in _immutable(nodes):
            yield from _missing(here, (f"({expression})",), method="gin", opclass=opclass)
    vector = nodes.embedding if by_meaning else None
    if vector and 0 < (vector.dimensions or 0) <= MOST_DIMENSIONS.get(vector.type, 0):
        opclass = (vector.type_schema, f"{vector.type}_cosine_ops")
        yield from _missing(here, (identifier(vector.name),), method="hnsw", opclass=opclass)


def _of_edges(layout: Layout, edges: Edges) -> Iterator[MissingIndex]:
    here, predicate = edges.relation, edges.predicate
    subject, obj = (_id(layout, end, here) for end in (edges.subject, edges.object))
    spelled = (_text(predicate, here),) if isinstance(predicate, Column) else ()
    if layout.key == "prefixed" and here.is_unique(*edges.subject.names):
        triple = subject  # the row of a node, which has at most one edge in each of its columns
    else:
        triple = (*subject, *spelled, *obj)
    yield from _missing(here, triple, leading=len(triple))
    yield from _missing(here, (*obj, *spelled, *subject), leading=len(obj))
    if isinstance(predicate, Column):
        yield from _missing(here, (identifier(predicate.name),))
    if edges.row is not None and any(evidence.by_row for evidence in layout.evidence):
        yield from _missing(here, (identifier(edges.row.name),))


def _of_evidence(evidence: Evidence) -> Iterator[MissingIndex]:
    here, reference = evidence.relation, evidence.reference
    key = identifier(reference.name) if evidence.by_row else _text(reference, here)
    yield from _missing(here, (key,))
    if evidence.document is not None:
        yield from _missing(here, (_text(evidence.document, here),))


def _missing(
    relation: Relation,
    keys: tuple[str, ...],
    *,
    leading: int = 1,
    method: str = "btree",
    opclass: tuple[str, str] | None = None,
    rows: str = "",
) -> Iterator[MissingIndex]:
    """An index with these keys, unless the table already has a suitable one.

    With an operator class, an index is suitable if it has the same key and a class of the same
    kind; otherwise if it is in sort order and begins with the first `leading` keys, in any order.
    """
    bare = [bare_expression(key) for key in keys]
    kind = opclass[1][opclass[1].index("_") :] if opclass else ""
    unfinished = []
    for index in relation.indexes:
        own = [bare_expression(key) for key in index.keys]
        same = own == bare and index.opclasses[0].endswith(kind)
        begins = index.method == "btree" and set(own[:leading]) == set(bare[:leading])
        if bare_expression(index.rows or "") != bare_expression(rows):
            continue
        if index.valid and (same if opclass else begins):
            return
        if same and not index.valid:
            unfinished.append(index.name)
    qualified = f"{identifier(opclass[0])}.{opclass[1]}" if opclass else ""
    yield MissingIndex(relation, keys, method, qualified, rows, tuple(unfinished))


def _text(column: Column, relation: Relation) -> str:
    """A column as statements compare it with texts, as far as this can be indexed."""
    if column.type not in _FIXED_TEXTS:
        return identifier(column.name)
    return f"({text(identifier(relation.name), column)})"


def _id(layout: Layout, own: Id, relation: Relation) -> tuple[str, ...]:
    """The columns of an id as statements compare them: unchanged, or as text."""
    if layout.key == "mixed":
        return tuple(_text(column, relation) for column in own.columns)
    return tuple(map(identifier, own.names))


def _immutable(nodes: Nodes) -> list[str]:
    """The searched expressions that can be indexed."""
    alias = identifier(nodes.relation.name)
    own = nodes.relation.columns.values()
    changing = [c for c in own if not (c.is_text or c.is_json or c.type in _FIXED_TEXTS)]
    texts = {text(alias, column) for column in changing}
    if any(column in changing for column in nodes.id.columns):
        texts.add(text(alias, nodes.id))
    return [
        one
        for one in searched(nodes, alias)
        if one not in texts and not one.startswith("array_to_string")
    ]


async def _warn_of_untyped_vectors(connection: asyncpg.Connection, layout: Layout) -> None:
    """Warn of vectors whose type states no length, which therefore cannot have an index."""
    nodes = layout.embedded
    column = nodes.embedding if nodes else None
    if nodes is None or column is None or column.dimensions or nodes.relation.kind not in "rp":
        return
    if column.type not in MOST_DIMENSIONS:
        return
    length = await connection.fetchval(vector_size(nodes))
    if length is not None:
        log.warning(
            "The type of the vectors in %s.%s does not declare their length, so they cannot be "
            "indexed, and every search by meaning compares all of them. To declare it: ALTER "
            "TABLE %s ALTER COLUMN %s TYPE %s(%d)",
            *(nodes.relation.name, column.name, relation_name(nodes.relation)),
            *(identifier(column.name), type_name(column), length),
        )
