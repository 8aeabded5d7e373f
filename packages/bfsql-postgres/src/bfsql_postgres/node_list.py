"""The entities of some types that meet conditions, from one statement (`protocol.md` 34)."""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import lru_cache, partial
from itertools import repeat
from typing import Any, NamedTuple

from bfsql import call, workers
from bfsql.abc import chunks
from bfsql.errors import CallMemoryMet
from bfsql.models.condition import PropertyCondition
from bfsql.models.merge import UNTYPED
from bfsql.models.parts import only
from bfsql.models.records import NO_METADATA, Metadata, Node
from bfsql_postgres import queries
from bfsql_postgres.connection import BATCH, Pool
from bfsql_postgres.metadata import items_of
from bfsql_postgres.pushdown import Pushdown, Test
from bfsql_postgres.schema import Column, Layout, Nodes
from bfsql_postgres.sql import Parameters, comparable, largest, live, storable, text, union

SMALL = BATCH // 10
"""Most rows of a list that is read in one round trip. A cursor takes three more (BEGIN, Bind,
COMMIT), which is little for more rows; those read before are read again.
"""
_FIRST = "WITH found AS MATERIALIZED (\n{}\n)\nSELECT * FROM found LIMIT {}"
"""The first rows of a statement. The server plans it for all rows, as for the cursor; with a limit
alone, it may scan a table for rows that it expects to be frequent.
"""


MetadataOf = Callable[[Sequence[str], Collection[str]], Awaitable[Mapping[str, Metadata]]]
"""Reads some keys of the metadata of nodes."""


class NodeList:
    """Lists the nodes of a graph.

    Args:
        pool: Connections to the database.
        layout: The tables of the graph.
        read: Reads values that are too large for a batch.
    """

    def __init__(self, pool: Pool, layout: Layout, read: MetadataOf) -> None:
        self._pool, self._layout, self._read = pool, layout, read
        first, *others = layout.nodes
        is_one_row = not others and first.relation.is_unique(*first.id.names)
        self._single = is_one_row or layout.is_disjoint
        self._tables = [Pushdown(layout, nodes, self._single) for nodes in layout.nodes]
        # A statement takes as long to make as to plan.
        self._selections = lru_cache(200)(self._new_selections)

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """Whether every listed node meets a condition, without another comparison."""
        return all(wanted.is_exact for wanted, _ in self.statements(None, [condition]))

    async def stream(
        self, entity_types: Collection[str] | None, conditions: Sequence[PropertyCondition]
    ) -> AsyncGenerator[list[Node]]:
        """The nodes in batches, of one state of the tables.

        A few come from one statement, more from a cursor, which begins anew; those of a long scan
        from a cursor at once. A node has the properties that the conditions name if it is one row,
        and if any of the conditions has to be compared again.
        """
        for wanted, values in self.statements(entity_types, conditions):
            if not wanted.is_scan:
                first = _FIRST.format(wanted.rows.statement, SMALL + 1)
                rows = await self._pool.fetch(first, *values)
                if len(rows) <= SMALL:
                    yield [*wanted.nodes(rows), *await self._large(wanted, rows)]
                    continue
                del rows
            # Work on a piece of this size takes its turn in a thread.
            stream = self._pool.stream(wanted.rows.statement, *values, piece=workers.SMALL + 1)
            async with aclosing(stream) as batches:
                async for batch in batches:
                    nodes = await workers.off_loop(len(batch), partial(wanted.nodes, batch))
                    yield [*nodes, *await self._large(wanted, batch)]

    async def _large(self, wanted: _Selection, batch: Sequence[Any]) -> list[Node]:
        """The nodes of rows with large values that meet the conditions, read a few at a time."""
        large = [row for row in batch if row[2] == _LARGE] if wanted.rows.own_keys else []
        found: list[Node] = []
        waiting = list(chunks(large, 100))
        keys = {one.key for one in wanted.judged}
        while waiting:
            rows = waiting.pop()
            try:
                with call.borrowed():
                    known = await self._read([row[0] for row in rows], keys)
                    met = partial(_meeting, rows, known, wanted.judged)
                    found += await workers.off_loop(call.held_values(), met)
            except CallMemoryMet:
                if len(rows) == 1:
                    raise
                waiting += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
        return found

    def statements(
        self, types: Collection[str] | None, conditions: Sequence[PropertyCondition]
    ) -> list[tuple[_Selection, list[object]]]:
        """One statement with its values, or one for each table of one type."""
        return self._selections(None if types is None else frozenset(types), tuple(conditions))

    def _new_selections(
        self, types: frozenset[str] | None, conditions: tuple[PropertyCondition, ...]
    ) -> list[tuple[_Selection, list[object]]]:
        if not self._single:
            sent = Parameters()
            statement = _of_several(self._tables, types, conditions, sent)
            return [(_Selection(queries.Rows(statement, (), 3)), sent.values)]
        found = []
        for table in self._tables:
            if types is None or len(self._tables) == 1 or table.nodes.type in types:
                sent = Parameters()
                if selection := _of_one(table, types, conditions, sent):
                    found.append((selection, sent.values))
        return found


_UNDECIDED, _DECIDED, _LARGE = 0, -1, -2
"""Numbers of a row's table: that of rows with fields, and those of no table: of rows without, and
of rows that lack fields which are too large for a batch."""
_MOST = "16384"
"""Most bytes of a value in a batch."""


class _Selection(NamedTuple):
    """A statement, and what remains to be done with its rows."""

    rows: queries.Rows
    is_exact: bool = False
    """Whether all nodes meet the conditions."""
    judged: Sequence[PropertyCondition] = ()
    """What undecided rows have to meet."""
    shown: Collection[str] = ()
    """The properties that come with the nodes."""
    is_scan: bool = False
    """Whether it reads the JSON of so many rows that none should be read again."""

    def nodes(self, batch: Sequence[Any]) -> list[Node]:
        """The nodes of some rows."""
        undecided = [row for row in batch if row[2] == _UNDECIDED] if self.rows.own_keys else []
        if not undecided:
            return nodes_of(batch, repeat(NO_METADATA))
        items = items_of(undecided, self.rows)
        met = [
            (row, item)
            for row, item in zip(undecided, items, strict=True)
            if all(one.holds(item) for one in self.judged)
        ]
        metadata = only({str(at): item for at, (_, item) in enumerate(met)}, self.shown)
        decided = [row for row in batch if row[2] == _DECIDED]
        return [
            *nodes_of(decided, repeat(NO_METADATA)),
            *nodes_of([row for row, _ in met], metadata.values()),
        ]


def _meeting(
    rows: Sequence[Any], known: Mapping[str, Metadata], judged: Sequence[PropertyCondition]
) -> list[Node]:
    """The nodes of rows whose metadata meets all conditions, without it."""
    met = (row for row in rows if all(one.holds(known.get(row[0], NO_METADATA)) for one in judged))
    return nodes_of(list(met), repeat(NO_METADATA))


def nodes_of(rows: Iterable[Any], metadata: Iterable[Metadata]) -> list[Node]:
    """The nodes of rows that begin with id and type."""
    parts = ((row[0], row[1] or UNTYPED, own) for row, own in zip(rows, metadata, strict=False))
    # Node(...) runs Python code for each node.
    return list(map(tuple.__new__, repeat(Node), parts))


def _of_one(
    table: Pushdown,
    types: Collection[str] | None,
    conditions: Sequence[PropertyCondition],
    sent: Parameters,
) -> _Selection | None:
    """The nodes of a table whose rows are one node each; None if none can meet a condition.

    A row: id, type, `_UNDECIDED`, and the fields of properties. If some rows are certain to meet
    all conditions, these are `_DECIDED` and without fields, since to compare a property costs more
    than to find it; if indexes find them, they are selected apart.
    """
    nodes = table.nodes
    base = f"{live('n', nodes)} AND {_typed(nodes, types, table.layout, sent)}"
    each = {one: table.test(one, sent) for one in conditions}
    tests = [test for test in each.values() if test is not None]
    if any(test.either == "FALSE" for test in tests):
        return None
    exact = [test.exact for test in tests if test.exact]
    judged = [one for one, test in each.items() if test and test.exact and test.possible]
    is_exact = len(exact) == len(each)
    shown = {one.key for one in conditions} if len(tests) == len(each) and not is_exact else set()
    fields = table.values(shown.union(one.key for one in judged)) or ()
    kind = f"CASE WHEN {largest(fields, _MOST)} > {_MOST} THEN {_LARGE} ELSE {_UNDECIDED} END"
    undecided = [kind, *(one.bounded(_MOST) for one in fields)]
    decided = [str(_DECIDED), *(f"NULL::{one.type}" for one in fields)]
    certain = " AND ".join(exact)
    arms: list[tuple[list[str], str, Sequence[Test]]] = [(undecided, base, tests)]
    if is_exact and judged and any(test.certain for test in tests):
        pairs = zip(decided, undecided, strict=True)
        arms = [([f"CASE WHEN {certain} THEN {a} ELSE {b} END" for a, b in pairs], base, tests)]
    elif is_exact and judged:
        some = " OR ".join(test.possible for test in tests if test.possible)
        others = tests if len(tests) > 1 else []
        arms = [(decided, f"{base} AND {certain}", []), (undecided, f"{base} AND ({some})", others)]
    node = [text("n", nodes.id), text("n", nodes.type)]
    selects = (table.select(", ".join([*node, *arm]), rows, passed) for arm, rows, passed in arms)
    is_scan = nodes.relation.rows > BATCH and any(test.column for test in tests)
    return _Selection(queries.Rows(union(selects), (fields,), 3), is_exact, judged, shown, is_scan)


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
    own = [column.collation for table in tables for column in table.nodes.id.columns]
    one_collation = len(set(own)) == 1 and layout.key != "prefixed"
    spelled = "" if one_collation else ' COLLATE pg_catalog."C"'
    ids = [f"{comparable('n', table.nodes.id, layout.key)}{spelled}" for table in tables]
    rows, tests = [], [list[str]() for _ in conditions]
    some = []
    for place, (table, node_id) in enumerate(zip(tables, ids, strict=True)):
        nodes = table.nodes
        alive = live("n", nodes)
        kind = f"coalesce({text('n', nodes.type)}, '') COLLATE pg_catalog.\"C\""
        rows.append(table.select(f"{node_id} AS id, {kind} AS type, {place} AS place", alive))
        if types is not None:
            some.append(table.select(node_id, f"{alive} AND {_typed(nodes, types, layout, sent)}"))
        for one, own in zip(conditions, tests, strict=True):
            test = table.test(one, sent)
            own.append(table.select(node_id, alive, [test] if test else []))
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
