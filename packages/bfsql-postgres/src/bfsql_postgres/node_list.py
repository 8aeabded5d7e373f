"""The entities of some types that meet conditions, from one statement (`asking-2.md` 11)."""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from itertools import repeat
from typing import Any

from bfsql.models.condition import PropertyCondition
from bfsql.models.merge import UNTYPED
from bfsql.models.parts import only
from bfsql.models.records import NO_METADATA, Metadata, Node
from bfsql_postgres import queries
from bfsql_postgres.connection import Pool
from bfsql_postgres.metadata import items_of
from bfsql_postgres.pushdown import Pushdown
from bfsql_postgres.schema import Column, Layout, Nodes
from bfsql_postgres.sql import (
    Parameters,
    comparable,
    live,
    relation_name,
    storable,
    text,
    union,
)


class NodeList:
    """Lists the nodes of a graph.

    Args:
        pool: Connections to the database.
        layout: The tables of the graph.
    """

    def __init__(self, pool: Pool, layout: Layout) -> None:
        self._pool, self._layout = pool, layout
        self._single = _is_single(layout)
        self._tables = [Pushdown(layout, nodes, self._single) for nodes in layout.nodes]

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """Whether every listed node meets a condition, without another comparison."""
        return self._tables[0].is_exact(condition)

    async def stream(
        self, entity_types: Collection[str] | None, conditions: Sequence[PropertyCondition]
    ) -> AsyncGenerator[list[Node]]:
        """The nodes in batches, from a cursor, which reads one state of the tables.

        A node has the properties that the conditions name if it is one row, and if any of the
        conditions has to be compared again.
        """
        keys = self._keys(conditions)
        rows, values = self._rows(entity_types, conditions, keys)
        async with aclosing(self._pool.stream(rows.statement, *values)) as batches:
            async for batch in batches:
                found, types = ([row[place] for row in batch] for place in (0, 1))
                metadata: Any = repeat(NO_METADATA)
                if rows.own_keys:
                    metadata = _metadata(batch, rows, keys)
                # Node(...) runs Python code for each node.
                parts = zip(found, (kind or UNTYPED for kind in types), metadata, strict=False)
                yield list(map(tuple.__new__, repeat(Node), parts))

    def statement(
        self, entity_types: Collection[str] | None, conditions: Sequence[PropertyCondition]
    ) -> tuple[str, list[object]]:
        """The statement of `stream`, with its values."""
        rows, values = self._rows(entity_types, conditions, self._keys(conditions))
        return rows.statement, values

    def _keys(self, conditions: Sequence[PropertyCondition]) -> set[str]:
        """The properties that come with the nodes."""
        if not self._single or all(map(self.filters_exactly, conditions)):
            return set()
        return {one.key for one in conditions}

    def _rows(
        self,
        types: Collection[str] | None,
        conditions: Sequence[PropertyCondition],
        keys: Collection[str],
    ) -> tuple[queries.Rows, list[object]]:
        sent = Parameters()
        if self._single:
            rows = _of_one(self._tables[0], types, conditions, keys, sent)
        else:
            statement = _of_several(self._tables, types, conditions, sent)
            rows = queries.Rows(statement, (), 3)
        return rows, sent.values


def _is_single(layout: Layout) -> bool:
    """Whether every node is a single row."""
    first = layout.nodes[0]
    return len(layout.nodes) == 1 and first.relation.is_unique(first.id.name)


def _metadata(batch: Sequence[Any], rows: queries.Rows, keys: Collection[str]) -> list[Metadata]:
    items = {str(place): item for place, item in enumerate(items_of(batch, rows))}
    return list(only(items, keys).values())


def _of_one(
    table: Pushdown,
    types: Collection[str] | None,
    conditions: Sequence[PropertyCondition],
    keys: Collection[str],
    sent: Parameters,
) -> queries.Rows:
    """The nodes of a table whose rows are one node each, with some of their properties.

    A row: id, type, number of its table, and the fields of the properties.
    """
    layout, nodes = table.layout, table.nodes
    tests = [live("n", nodes), _typed(nodes, types, layout, sent)]
    tests += [test for one in conditions if (test := table.test(one, sent))]
    fields = table.values(keys) or ()
    shown = [text("n", nodes.id), text("n", nodes.type), "0", *(one.expression for one in fields)]
    return queries.Rows(
        f"SELECT {', '.join(shown)}\nFROM {relation_name(nodes.relation)} AS n\n"
        f"WHERE {' AND '.join(tests)}",
        (fields,),
        3,
    )


def _of_several(
    tables: Sequence[Pushdown],
    types: Collection[str] | None,
    conditions: Sequence[PropertyCondition],
    sent: Parameters,
) -> str:
    """The nodes of tables that may have several rows of a node: each of these adds to it.

    So each condition is met by one of the rows, and the type is that of the first table, there the
    first one.
    """
    layout = tables[0].layout
    one_collation = len({table.nodes.id.collation for table in tables}) == 1
    spelled = "" if one_collation else ' COLLATE pg_catalog."C"'
    ids = [f"{comparable('n', table.nodes.id, layout.key)}{spelled}" for table in tables]
    rows, tests = [], [list[str]() for _ in conditions]
    some = []
    for place, (table, node_id) in enumerate(zip(tables, ids, strict=True)):
        nodes = table.nodes
        source = f"FROM {relation_name(nodes.relation)} AS n WHERE {live('n', nodes)}"
        kind = f"coalesce({text('n', nodes.type)}, '') COLLATE pg_catalog.\"C\""
        rows.append(f"SELECT {node_id} AS id, {kind} AS type, {place} AS place {source}")
        if types is not None:
            some.append(f"SELECT {node_id} {source} AND {_typed(nodes, types, layout, sent)}")
        for one, own in zip(conditions, tests, strict=True):
            test = table.test(one, sent)
            own.append(f"SELECT {node_id} {source} AND {test or 'TRUE'}")
    within = "".join(
        f"\nAND n.id IN (\n{union(own)}\n)" for own in ([some] if some else []) + tests
    )
    chosen = "TRUE" if types is None else f"type = ANY ({_types(types, layout, sent)})"
    return (
        f"SELECT id::text, type FROM (\nSELECT DISTINCT ON (n.id) n.id, n.type FROM (\n"
        f"{union(rows)}\n) AS n WHERE TRUE{within}\nORDER BY n.id, n.place, n.type\n) AS x "
        f"WHERE {chosen}"
    )


def _typed(nodes: Nodes, types: Collection[str] | None, layout: Layout, sent: Parameters) -> str:
    """Whether a row has one of some types, by an index on the column."""
    if types is None:
        return "TRUE"
    kind = text("n", nodes.type)
    test = f"{kind} = ANY ({_types(types, layout, sent)})"
    if UNTYPED in types and isinstance(nodes.type, Column):
        return f"({test} OR {kind} IS NULL)"
    return test


def _types(types: Collection[str], layout: Layout, sent: Parameters) -> str:
    """The types as a value, an empty text for nodes without one."""
    known = sorted(kind for kind in set(types) if storable((kind,), layout.codec))
    empty = [""] if UNTYPED in types else []
    return sent.add([*empty, *known], "text[]")
