"""Indexes that make reading fast: which of them a graph lacks, and how they are made."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bfsql_postgres.discovery import find_layout, wanted
from bfsql_postgres.schema import (
    CATALOGUE,
    Column,
    Edges,
    Evidence,
    Index,
    Layout,
    Nodes,
    Relation,
    paths,
    read,
)
from bfsql_postgres.search import Looks, searched, vector_size
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import identifier, relation_name, text, type_name
from bfsql_postgres.writing import writer

if TYPE_CHECKING:
    import asyncpg

MOST_DIMENSIONS = {"vector": 2_000, "halfvec": 4_000}
"""Numbers of a vector that pgvector's index takes, by type."""

_FIXED_TEXTS = frozenset({"int2", "int4", "int8", "numeric", "uuid", "bool", "bpchar"})
"""Types whose text is the same in every session, so that an index can be made of it. That of a
date, an enumeration or an array is not, as the server sees it."""

_LEFT = "Indexes that were made before it stay; run it again for the others."

log = logging.getLogger("bfsql.postgres")


@dataclass(frozen=True, slots=True)
class Lack:
    """An index that a statement of the reader would use."""

    relation: Relation
    method: str
    keys: tuple[str, ...]
    """What it is made of, as SQL."""
    opclass: str = ""
    """Operator class of the one key, with its schema; empty for the type's own."""
    unfinished: tuple[Index, ...] = ()
    """The same, where building it was interrupted."""

    def statements(self, *, concurrently: bool = True) -> list[str]:
        """What makes it.

        Args:
            concurrently: Whether others can write meanwhile, which a transaction does not allow.
        """
        here = self.relation
        how = " CONCURRENTLY" if concurrently and here.kind != "p" else ""
        keys = ", ".join(f"{key} {self.opclass}".rstrip() for key in self.keys)
        dropped = [
            f"DROP INDEX{how} {identifier(here.schema)}.{identifier(index.name)}"
            for index in self.unfinished
        ]
        using = "" if self.method == "btree" else f"USING {self.method} "
        return [*dropped, f"CREATE INDEX{how} ON {relation_name(here)} {using}({keys})"]


def lacking(layout: Layout, *, by_meaning: bool) -> list[str]:
    """The statements that make what a graph lacks.

    Args:
        layout: Where the graph is. Views have no indexes, so nothing is said of them.
        by_meaning: Whether its vectors are searched.
    """
    found = lacks(layout, by_meaning=by_meaning)
    return [one for lack in found for one in lack.statements()]


async def prepare(settings: PostgresSettings, apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """Find what a graph lacks, and make it.

    Args:
        settings: Where the graph is; a role that may make indexes, if they are to be made.
        apply: Whether to run the statements, one by one and outside of a transaction, so that
            nobody is kept from writing.

    Returns:
        The statements, each with its semicolon, so that all of them can be pasted at once.

    Raises:
        StoreError: There is no graph, or the role may not make its indexes; those made by then
            stay.
    """
    async with writer(settings, _LEFT) as connection:
        layout = await layout_of(connection, settings)
        by_meaning = settings.embedding is not None
        if by_meaning:
            await _tell_of_lengths(connection, layout)
        statements = lacking(layout, by_meaning=by_meaning)
        if apply:
            for statement in statements:
                await connection.execute(statement)
    return [f"{statement};" for statement in statements]


async def layout_of(connection: asyncpg.Connection, settings: PostgresSettings) -> Layout:
    """Where the graph is, as it is now."""
    found = await connection.fetchval(CATALOGUE, *paths(wanted(settings)))
    return find_layout(settings, read(found))


def lacks(layout: Layout, *, by_meaning: bool = False) -> Iterator[Lack]:
    """What `lacking` has statements for."""
    for nodes in layout.nodes:
        if nodes.relation.is_indexable:
            yield from _of_nodes(layout, nodes, by_meaning=by_meaning)
    for edges in layout.edges:
        if edges.relation.is_indexable:
            yield from _of_edges(layout, edges)
    for evidence in layout.evidence:
        if evidence.relation.is_indexable:
            yield from _of_evidence(evidence)
    mentions = layout.mentions
    if mentions is not None and mentions.relation.is_indexable:
        yield from _leading(mentions.relation, (_text(mentions.entity, mentions.relation),))


# --- by table ---------------------------------------------------------------


def _of_nodes(layout: Layout, nodes: Nodes, *, by_meaning: bool) -> Iterator[Lack]:
    here, catalogue = nodes.relation, layout.catalogue
    yield from _leading(here, (_id(layout, nodes.id, here),))
    if isinstance(nodes.type, Column):
        yield from _leading(here, (_plain(nodes.type),))
    if catalogue.trigrams is not None:
        opclass = f"{identifier(catalogue.trigrams)}.gin_trgm_ops"
        for expression in searched(nodes, identifier(here.name)):
            if expression not in _changing(nodes):
                yield from _absent(Lack(here, "gin", (f"({expression})",), opclass), "_trgm_ops")
    vector = nodes.embedding if by_meaning else None
    if vector and 0 < (vector.dimensions or 0) <= MOST_DIMENSIONS.get(vector.type, 0):
        opclass = f"{identifier(vector.type_schema)}.{vector.type}_cosine_ops"
        yield from _absent(Lack(here, "hnsw", (_plain(vector),), opclass), "_cosine_ops")


def _of_edges(layout: Layout, edges: Edges) -> Iterator[Lack]:
    here = edges.relation
    subject, obj = (_id(layout, end, here) for end in (edges.subject, edges.object))
    predicate = (_plain(edges.predicate),) if isinstance(edges.predicate, Column) else ()
    spelled = (_text(edges.predicate, here),) if isinstance(edges.predicate, Column) else ()
    triple = (subject, *spelled, obj)
    if not any(_same_keys(index, triple) for index in here.indexes):
        yield Lack(here, "btree", triple, unfinished=_unfinished(here, triple))
    yield from _leading(here, (obj, *spelled, subject))
    if predicate:
        yield from _leading(here, predicate)
    if edges.row is not None and any(evidence.by_row for evidence in layout.evidence):
        yield from _leading(here, (_plain(edges.row),))


def _of_evidence(evidence: Evidence) -> Iterator[Lack]:
    here, reference = evidence.relation, evidence.reference
    yield from _leading(here, (_plain(reference) if evidence.by_row else _text(reference, here),))
    if evidence.document is not None:
        yield from _leading(here, (_text(evidence.document, here),))


# --- what there is ----------------------------------------------------------


def _leading(relation: Relation, keys: tuple[str, ...]) -> Iterator[Lack]:
    """An index of these keys, where none begins with the first of them."""
    if not any(_same_keys(index, keys[:1]) for index in relation.indexes):
        yield Lack(relation, "btree", keys, unfinished=_unfinished(relation, keys))


def _same_keys(index: Index, keys: tuple[str, ...]) -> bool:
    """Whether an index that can be walked begins with these keys, in whatever order."""
    first = {_bare(key) for key in index.keys[: len(keys)]}
    usable = index.method == "btree" and index.valid and not index.partial
    return usable and first == {_bare(key) for key in keys}


def _absent(lack: Lack, opclass: str) -> Iterator[Lack]:
    """The index, where none of its expression has an operator class of that kind."""
    same = [
        index
        for index in lack.relation.indexes
        if [_bare(key) for key in index.keys] == [_bare(key) for key in lack.keys]
        and index.opclasses[0].endswith(opclass)
        and not index.partial
    ]
    if not any(index.valid for index in same):
        yield Lack(lack.relation, lack.method, lack.keys, lack.opclass, tuple(same))


def _unfinished(relation: Relation, keys: tuple[str, ...]) -> tuple[Index, ...]:
    bare = [_bare(key) for key in keys]
    return tuple(
        index
        for index in relation.indexes
        if not index.valid and not index.partial and [_bare(key) for key in index.keys] == bare
    )


def _bare(expression: str) -> str:
    """An expression without what the server writes in another way than the statements do."""
    unqualified = re.sub(r'"(?:[^"]|"")*"\.|\w+\.(?=")', "", expression)
    return re.sub(r'::text\b|[\s()"]', "", unqualified).lower()


# --- spelling ---------------------------------------------------------------


def _plain(column: Column) -> str:
    return identifier(column.name)


def _text(column: Column, relation: Relation) -> str:
    """A column as statements compare it with texts, as far as it can be indexed so."""
    if column.type not in _FIXED_TEXTS:
        return _plain(column)
    return f"({text(identifier(relation.name), column)})"


def _id(layout: Layout, column: Column, relation: Relation) -> str:
    """A column of ids as statements compare it: as it is, or as text."""
    return _text(column, relation) if layout.key == "mixed" else _plain(column)


def _changing(nodes: Nodes) -> set[str]:
    """The searched expressions that cannot be indexed."""
    alias = identifier(nodes.relation.name)
    found = [column for column in (nodes.name, nodes.id, nodes.aliases) if column is not None]
    changing = [c for c in found if not (c.is_text or c.is_json or c.type in _FIXED_TEXTS)]
    texts = {text(alias, column) for column in changing}
    return texts | {one for one in searched(nodes, alias) if one.startswith("array_to_string")}


async def _tell_of_lengths(connection: asyncpg.Connection, layout: Layout) -> None:
    """Say how the type of the vectors gets their length, without which they have no index."""
    nodes = Looks(layout).embedded
    column = nodes.embedding if nodes else None
    if nodes is None or column is None or column.dimensions or nodes.relation.kind not in "rp":
        return
    if column.type not in MOST_DIMENSIONS:
        return
    length = await connection.fetchval(vector_size(nodes))
    if length is not None:
        log.warning(
            "The type of the vectors in %s.%s does not say their length, so they can have no "
            "index, and every search by meaning compares all of them. This gives them one: "
            "ALTER TABLE %s ALTER COLUMN %s TYPE %s(%d)",
            *(nodes.relation.name, column.name, relation_name(nodes.relation), _plain(column)),
            *(type_name(column), length),
        )
