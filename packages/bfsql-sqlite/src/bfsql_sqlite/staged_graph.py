"""Writes the merged content of a staging into the tables of a graph file.

The staging numbers nodes and predicates in the order of arrival. Here they are
numbered in the order of their names, and the edges are sorted by these numbers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql.errors import LoadRefused
from bfsql.integers import IntArray
from bfsql.loading.staging import Staging
from bfsql_sqlite.edge_tables import write_edges
from bfsql_sqlite.external_sort import Sorter
from bfsql_sqlite.queries import chunks

Keys: TypeAlias = npt.NDArray[np.uint64]

BATCH = 5_000
"""Rows of nodes that are written at a time."""
METADATA = 1_000
"""Rows of metadata of edges that are copied at a time."""
EDGES = 5_000
"""Edges that are read at a time."""

_BITS = 64

_NODES = "SELECT node.n, id, type, metadata FROM node LEFT JOIN described USING (n) ORDER BY id"

# An edge without metadata has no row of its own.
_EDGES = "SELECT s, p, o, CASE metadata WHEN '{}' THEN 0 ELSE e END FROM edge"


@cache
def _metadata(size: int) -> str:
    marks = ", ".join("?" * size)
    return f"SELECT e, metadata, items FROM edge WHERE e IN ({marks})"  # noqa: S608 - marks alone


# Edges with evidence: their numbers in the staging and in the file.
_EVIDENCED = """
CREATE TABLE evidenced (
    e INTEGER PRIMARY KEY, number INTEGER NOT NULL, s INTEGER NOT NULL, o INTEGER NOT NULL,
    items INTEGER NOT NULL
)
"""

_EVIDENCE = """
SELECT s, number, s, items, 1 FROM evidenced
UNION ALL SELECT o, number, s, items, 1 FROM evidenced WHERE s <> o
UNION ALL
SELECT handle(n), number, s, document.items, 0
FROM document CROSS JOIN node USING (id) CROSS JOIN evidenced USING (e)
WHERE handle(n) NOT IN (s, o)
ORDER BY 1, 2
"""


def write_graph(staging: Staging, graph: sqlite3.Connection, folder: Path) -> None:
    """Fill the tables of nodes, edges and evidence.

    Args:
        staging: Its nodes and edges are merged.
        graph: The new file, with empty tables; nothing is committed.
        folder: The folder for data that does not fit into memory; the caller removes it.

    Raises:
        LoadRefused: There are too many nodes to sort the edges between them.
        SpillError: There is no room in the folder.
    """
    staged = staging.connection
    handles = _write_nodes(staged, graph)
    predicates = _write_predicates(staged, graph)
    order = _Order(int(handles.max(initial=-1)) + 1, int(predicates.max(initial=-1)) + 1)
    leaving, entering = Sorter(folder, "leaving"), Sorter(folder, "entering")
    for s, p, o, e in _edges(staged):
        triples = handles[s], predicates[p], handles[o]
        leaving.add(order.leaving(*triples), e)
        entering.add(order.entering(*triples))
    staged.execute(_EVIDENCED)
    write_edges(
        graph,
        nodes=order.nodes,
        predicates=order.predicates,
        leaving=_with_metadata(
            staged, graph, ((order.from_leaving(keys), e) for keys, e in leaving.chunks())
        ),
        entering=(order.from_entering(keys) for (keys,) in entering.chunks()),
    )
    staged.create_function("handle", 1, lambda n: int(handles[n]), deterministic=True)
    graph.executemany("INSERT INTO evidence VALUES (?, ?, ?, ?, ?)", staged.execute(_EVIDENCE))


# --- nodes and predicates --------------------------------------------------------


def _write_nodes(staged: sqlite3.Connection, graph: sqlite3.Connection) -> IntArray:
    """Fill `type`, `node` and `detail`; return handles of nodes by their number in the staging."""
    names = staged.execute("SELECT DISTINCT type FROM described ORDER BY 1").fetchall()
    types = {name: t for t, (name,) in enumerate(names)}
    graph.executemany("INSERT INTO type VALUES (?, ?)", ((t, name) for name, t in types.items()))
    handles = _room(staged, "SELECT max(n) FROM node")
    rows = enumerate(staged.execute(_NODES))
    while batch := list(islice(rows, BATCH)):
        nodes, details = [], []
        for handle, (number, id_, entity_type, metadata) in batch:
            handles[number] = handle
            nodes.append((handle, id_, types.get(entity_type)))
            if metadata not in {None, "{}"}:
                details.append((handle, metadata))
        graph.executemany("INSERT INTO node VALUES (?, ?, ?)", nodes)
        graph.executemany("INSERT INTO detail VALUES (?, ?)", details)
    return handles


def _write_predicates(staged: sqlite3.Connection, graph: sqlite3.Connection) -> IntArray:
    """Fill `predicate`; return the number of each by its number in the staging."""
    numbers = _room(staged, "SELECT max(p) FROM predicate")
    rows = staged.execute("SELECT p, name FROM predicate ORDER BY name").fetchall()
    numbers[[p for p, _ in rows]] = range(len(rows))
    graph.executemany("INSERT INTO predicate VALUES (?, ?)", enumerate(name for _, name in rows))
    return numbers


def _room(staged: sqlite3.Connection, largest: str) -> IntArray:
    (last,) = staged.execute(largest).fetchone()
    return np.full((last or 0) + 1, -1, np.int32)


# --- edges -----------------------------------------------------------------------


class _Order:
    """Triples as single integers whose order is that of the triples.

    Args:
        nodes: Number of nodes.
        predicates: Number of predicates.

    Raises:
        LoadRefused: 64 bits are not enough.
    """

    def __init__(self, nodes: int, predicates: int) -> None:
        self.nodes = nodes
        self.predicates = predicates
        self._node, self._predicate = nodes.bit_length(), predicates.bit_length()
        if 2 * self._node + self._predicate > _BITS:
            raise LoadRefused(
                f"Nothing was loaded: edges of {predicates:,} predicates between {nodes:,} nodes "
                "exceed what this store can number. Load part of the graph, or use another store."
            )

    def leaving(self, s: IntArray, p: IntArray, o: IntArray) -> Keys:
        """In order of subject, predicate, object."""
        return _packed((s, p, o), (self._predicate, self._node))

    def entering(self, s: IntArray, p: IntArray, o: IntArray) -> Keys:
        """In order of object, predicate, subject."""
        return _packed((o, p, s), (self._predicate, self._node))

    def from_leaving(self, keys: Keys) -> IntArray:
        """The triples of keys: subject, predicate, object."""
        s, p, o = _unpacked(keys, (self._predicate, self._node))
        return np.stack([s, p, o], 1)

    def from_entering(self, keys: Keys) -> IntArray:
        """The triples of keys: subject, predicate, object."""
        o, p, s = _unpacked(keys, (self._predicate, self._node))
        return np.stack([s, p, o], 1)


def _packed(columns: tuple[IntArray, IntArray, IntArray], bits: tuple[int, int]) -> Keys:
    first, second, third = (column.astype(np.uint64) for column in columns)
    high: Keys = first << np.uint64(bits[0]) | second
    packed: Keys = high << np.uint64(bits[1]) | third
    return packed


def _unpacked(keys: Keys, bits: tuple[int, int]) -> tuple[IntArray, IntArray, IntArray]:
    high = keys >> np.uint64(bits[1])
    third = keys & np.uint64((1 << bits[1]) - 1)
    second = high & np.uint64((1 << bits[0]) - 1)
    first = high >> np.uint64(bits[0])
    return first.astype(np.int32), second.astype(np.int32), third.astype(np.int32)


def _edges(staged: sqlite3.Connection) -> Iterator[npt.NDArray[np.int64]]:
    """Columns of edges: subject, predicate, object, and the number, which is 0 without metadata."""
    rows = staged.execute(_EDGES)
    while batch := rows.fetchmany(EDGES):
        numbers = np.fromiter(chain.from_iterable(batch), np.int64, 4 * len(batch))
        yield numbers.reshape(-1, 4).T


def _with_metadata(
    staged: sqlite3.Connection,
    graph: sqlite3.Connection,
    edges: Iterable[tuple[IntArray, npt.NDArray[np.int64]]],
) -> Iterator[IntArray]:
    """Fill `edge` and `evidenced` as the edges pass in their order.

    Args:
        staged: The staging.
        graph: The file.
        edges: Triples, and their numbers in the staging, 0 without metadata.

    Yields:
        The triples.
    """
    before = 0
    for triples, numbers in edges:
        yield triples
        have = np.flatnonzero(numbers)
        for start in range(0, len(have), METADATA):
            places = have[start : start + METADATA]
            rows, evidenced = [], []
            staged_numbers = numbers[places].tolist()
            known = {
                e: (metadata, items)
                for statement, some in chunks(staged_numbers, _metadata)
                for e, metadata, items in staged.execute(statement, some)
            }
            for place, e, (s, _, o) in zip(
                (places + before).tolist(), staged_numbers, triples[places].tolist(), strict=True
            ):
                metadata, items = known[e]
                rows.append((place, metadata))
                if items:
                    evidenced.append((e, place, s, o, items))
            graph.executemany("INSERT INTO edge VALUES (?, ?)", rows)
            staged.executemany("INSERT INTO evidenced VALUES (?, ?, ?, ?, ?)", evidenced)
        before += len(triples)
