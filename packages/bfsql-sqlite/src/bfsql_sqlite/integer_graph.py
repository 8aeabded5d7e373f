"""The graph of a file in integers, as traversals read it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bfsql.arrays import numbers_of
from bfsql.integers import (
    NO_NODE,
    CodedGraph,
    IntArray,
    IntegerGraph,
    NodeBatch,
    ResolvedNode,
    Ring,
)
from bfsql.models import EdgeDirection, Metadata, PropertyCondition
from bfsql.models.json_values import distinct_texts
from bfsql.models.name_keys import NameKeys
from bfsql.models.valid_time import PERIODS, TimeKeys
from bfsql_sqlite import queries
from bfsql_sqlite.adjacency import FEW_LISTS, Adjacency, NumberedEdgeFilter, RingReader
from bfsql_sqlite.connection import Pool
from bfsql_sqlite.packed_arrays import Damaged, consecutive
from bfsql_sqlite.properties import (
    Properties,
    Test,
    containing,
    judge,
    met_codes,
    select,
    values_of,
)
from bfsql_sqlite.property_tables import FIRST, NODES

ROWS = 16
"""Rows of a column that are read at once: a million nodes, or 65,536 different values."""
RECORDS = 2_000
"""Nodes whose records are read at once."""


class Schema(NamedTuple):
    """The part of a file that is read once and shared by all connections."""

    types: Sequence[str]
    """Names by number, in ascending order."""
    predicates: Sequence[str]
    """Names by number, in ascending order."""
    predicate_numbers: Mapping[str, int]
    edges: Adjacency
    properties: Properties
    name_keys: NameKeys
    time_keys: TimeKeys
    about: tuple[str, str]
    """Title and description."""
    periods: Sequence[tuple[str, Metadata]]
    """What the numbers of periods mean, as a judge reads it; empty without a mapping."""
    memo: dict[str, Any]
    """What judges keep of them."""

    @classmethod
    def read(cls, reader: sqlite3.Connection) -> Schema:
        """Read the schema of a connection's file."""
        types, predicates = (_names(reader, q) for q in (queries.TYPES, queries.PREDICATES))
        numbers = {name: p for p, name in enumerate(predicates)}
        edges = Adjacency.of(reader)
        counts = str(np.count_nonzero(edges.types(reader) != NO_NODE)), str(edges.edges)
        if reader.execute(queries.COUNTS, ("nodes", "edges")).fetchone() != counts:
            raise Damaged("it has other nodes or edges than were loaded")
        keys = (
            NameKeys(*queries.name_keys(reader)),
            queries.time_keys(reader),
            queries.title_and_description(reader),
            [("", {PERIODS: texts}) for texts in queries.periods(reader)],
        )
        return cls(types, predicates, numbers, edges, Properties.of(reader), *keys, {})


class SqliteIntegerGraph(IntegerGraph):
    """The graph of an open file.

    Args:
        pool: Connections to the file.
        schema: The schema of the file.
    """

    def __init__(self, pool: Pool, schema: Schema) -> None:
        self._pool = pool
        self._schema = schema

    @property
    def size(self) -> int:
        """Number of handles."""
        return self._schema.edges.nodes

    @property
    def type_names(self) -> Sequence[str]:
        """Name of each type, by its number."""
        return self._schema.types

    @property
    def predicate_names(self) -> Sequence[str]:
        """Name of each predicate, by its number."""
        return self._schema.predicates

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """The node of each id."""
        found = await self._pool.read(partial(find, ids=ids, schema=self._schema), len(ids))
        return [found.get(entity_id) for entity_id in ids]

    async def ids(self, handles: IntArray) -> list[str]:
        """The id of each handle."""
        asked = handles.tolist()
        names = await self._pool.read(partial(names_of, handles=asked), len(asked))
        return [names[handle] for handle in asked]

    async def types(self, handles: IntArray) -> IntArray:
        """The number of each handle's type."""
        types = self._schema.edges.known_types
        assert types is not None  # `Schema.read` has read them
        return types.take(handles).astype(np.int32)

    async def rings(
        self,
        handles: IntArray,
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Ring, None]:
        """Every wanted edge with a requested node at either end, one thread hop per large batch."""
        edges = self._schema.edges
        numbers = None if predicates is None else numbers_of(predicates, self.predicate_names)
        part = NumberedEdgeFilter(numbers, direction)
        if len(handles) <= FEW_LISTS and not edges.codes:
            small = partial(edges.small_ring, nodes=handles.tolist(), part=part)
            ring = self._pool.at_once(small)
            if ring is not None:
                yield ring
                return
        reads = await self._pool.run(partial(_begin, edges, handles, part), len(handles))
        if isinstance(reads, Ring):
            yield reads
            return
        async with aclosing(self._pool.stream(iter(reads))) as rings:
            async for ring in rings:
                yield ring

    async def nodes(
        self,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[NodeBatch]:
        """The nodes of some types that meet conditions, by the columns of their properties.

        Records are read of the nodes whose values are not in a column.
        """
        types = self._schema.edges.known_types
        assert types is not None  # `Schema.read` has read them
        wanted = np.zeros(len(self.type_names) + 1, bool)  # the last element is for NO_NODE
        wanted[:-1] = entity_types is None
        wanted[numbers_of(entity_types or (), self.type_names)] = True
        tests = [await self._test(one) for one in conditions]
        rows = -(-self.size // NODES)
        works = (
            partial(select, tests, types, wanted, range(first, min(first + ROWS, rows)))
            for first in range(0, rows, ROWS)
        )
        async with aclosing(self._pool.stream(works, small=rows == 1)) as parts:
            async for handles, unread in parts:
                met = [
                    await self._pool.run(partial(judge, conditions, part), len(part))
                    for part in (unread[at : at + RECORDS] for at in range(0, len(unread), RECORDS))
                ]
                found = np.concatenate([handles, *met])
                if len(found):
                    yield NodeBatch(found, types.take(found).astype(np.int32), {})

    async def property_values(self, handles: IntArray, key: str) -> list[Any] | None:
        """The value of a property of each node by its column; None if a record has to be read."""
        column = self._schema.properties.columns.get(key)
        if column is None:
            return [None] * len(handles) if self._schema.properties.are_all else None
        return await self._pool.run(partial(values_of, column, handles), len(handles))

    def coded(self, keys: Collection[str]) -> CodedGraph | None:
        """The same graph with the numbers of periods; None for other keys than the file's."""
        periods, edges = self._schema.periods, copy(self._schema.edges)
        if not periods or {*keys} != self._schema.time_keys.keys:
            return None
        edges.codes = len(periods)
        graph = SqliteIntegerGraph(self._pool, self._schema._replace(edges=edges))
        split = lambda numbers: np.divmod(numbers, len(self.predicate_names))
        return CodedGraph(graph, split, periods.__getitem__, self._schema.memo)

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """True: `nodes` judges every condition."""
        return True

    async def _test(self, condition: PropertyCondition) -> Test:
        """A condition compared with the different values of its property."""
        properties = self._schema.properties
        column = properties.columns.get(condition.key)
        if column is None or condition.operator in ("has", "lacks"):
            return Test(condition, column, np.empty(0, bool), properties.are_all)
        intervals = condition.intervals
        if intervals is None:
            return Test(condition, None, np.empty(0, bool))  # which leaves it to the records
        if not intervals.parts:
            work = partial(met_codes, column, condition, intervals)
            size = column.size if column.rows > 1 else 0
            return Test(condition, column, await self._pool.read(work, size))
        works = (
            partial(containing, column, first, min(first + ROWS, column.rows), intervals.parts)
            for first in range(0, column.rows, ROWS)
        )
        async with aclosing(self._pool.stream(works, small=column.rows == 1)) as parts:
            met = [np.zeros(FIRST, bool), *[part async for part in parts]]
        return Test(condition, column, np.concatenate(met))


# --- what runs in a thread -------------------------------------------------------


def _begin(
    edges: Adjacency, handles: IntArray, part: NumberedEdgeFilter, reader: sqlite3.Connection
) -> Ring | list[RingReader]:
    """A ring that fits one batch; for a larger one, what to read."""
    nodes = handles.compress(edges.types(reader).take(handles) != NO_NODE)
    reads = edges.plan(reader, nodes, part)
    if len(reads) > 1:
        return reads
    if reads:
        return reads[0](reader)
    nothing = nodes[:0]
    return Ring(nothing, nothing, nothing)


def _names(reader: sqlite3.Connection, query: str) -> list[str]:
    """The names of types or predicates by number."""
    names: list[str] = [name for _, name in consecutive(reader.execute(query))]
    if any(type(name) is not str for name in names) or names != sorted(set(names)):
        raise Damaged("the names of its types or predicates are not in order")
    return names


def rows_of_nodes(
    reader: sqlite3.Connection, ids: Iterable[str], schema: Schema
) -> list[tuple[str, int, int]]:
    """Id, handle and type number of the nodes that exist.

    Raises:
        Damaged: A type does not exist.
    """
    rows = list(queries.rows_for(reader, queries.nodes, distinct_texts(ids)))
    if not all(map(range(len(schema.types)).__contains__, {t for _, _, t in rows})):
        raise Damaged("a node refers to a type that does not exist")
    return rows


def find(reader: sqlite3.Connection, ids: Iterable[str], schema: Schema) -> dict[str, ResolvedNode]:
    """The nodes that exist, by id."""
    rows = rows_of_nodes(reader, ids, schema)
    return {entity_id: ResolvedNode(n, entity_id, t) for entity_id, n, t in rows}


def names_of(reader: sqlite3.Connection, handles: Iterable[int]) -> dict[int, str]:
    """The id of each handle.

    Raises:
        Damaged: A handle does not exist.
    """
    asked = list(handles)
    names: dict[int, str] = dict(queries.rows_for(reader, queries.ids, asked))
    if not names.keys() >= set(asked) or not {str}.issuperset(map(type, names.values())):
        raise Damaged("an edge refers to a node that does not exist")
    return names
