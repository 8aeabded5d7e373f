"""The floor for a large graph: sorted int32 arrays in files, and numpy.

python columns_by_hand.py columns FOLDER   converts the tables to arrays, with DuckDB
python columns_by_hand.py search FOLDER    writes a full-text index of the nodes, with SQLite
python columns_by_hand.py choose FOLDER    prints questions to ask, as JSON
python columns_by_hand.py ask FOLDER       answers lines of `[seed, hops]`, like `asking.py`
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from asking import Reply, Taken, questions
from large_graph import EDGES, NODES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Array = npt.NDArray[Any]

MEMORY = "1GB"
ROWS = 1_000_000
"""Most rows in memory at once."""
SHOWN = 300
"""Nodes shown in an answer, about as many as in the project's answers."""

TABLES = """
CREATE TABLE raw AS SELECT * FROM read_csv(?, header = true, all_varchar = true);
CREATE TABLE node AS SELECT id, type, name FROM read_csv(?, header = true, all_varchar = true)
    ORDER BY id;
CREATE TABLE types AS SELECT DISTINCT type AS name FROM node ORDER BY 1;
CREATE TABLE predicates AS SELECT DISTINCT predicate AS name FROM raw ORDER BY 1;
CREATE TABLE leaving AS
    SELECT DISTINCT s.rowid::INT AS s, p.rowid::INT AS p, o.rowid::INT AS o
    FROM raw JOIN node AS s ON s.id = subject JOIN predicates AS p ON p.name = predicate
    JOIN node AS o ON o.id = object
    ORDER BY 1, 2, 3;
DROP TABLE raw;
CREATE TABLE entering AS SELECT o, s, rowid::INT AS e FROM leaving ORDER BY 1, 2, 3;
"""
TYPE_OF_NODE = """
SELECT types.rowid AS type FROM node JOIN types ON types.name = node.type ORDER BY node.rowid
"""
INDEX = """
CREATE VIRTUAL TABLE words USING fts5(
    name, type, content='', tokenize='unicode61 remove_diacritics 0'
);
CREATE VIRTUAL TABLE grams USING fts5(
    name, type, content='', tokenize='trigram case_sensitive 1'
);
"""


# --- loading ------------------------------------------------------------------


def write_columns(folder: Path) -> None:
    """Number the nodes in the order of their ids, sort the edges both ways, and write arrays."""
    import duckdb

    (folder / "hand.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "hand.duckdb")) as db:
        db.execute(f"SET memory_limit = '{MEMORY}'")
        tables = [str(folder / EDGES), str(folder / NODES)]
        for statement in TABLES.split(";")[:-1]:
            db.execute(statement, [tables.pop(0)] if "?" in statement else None)
        _write_side(db, folder, "out", "SELECT s AS node, o AS other, p AS edge FROM leaving")
        _write_side(db, folder, "in", "SELECT o AS node, s AS other, e AS edge FROM entering")
        numbers = db.execute(TYPE_OF_NODE).fetchnumpy()
        numbers["type"].astype(np.int32).tofile(folder / "type.i32")
        for name in ("id", "name"):
            _write_texts(db, folder / f"{name}.txt", name)
        names = {
            table: [name for (name,) in db.execute(f"SELECT name FROM {table}").fetchall()]
            for table in ("types", "predicates")
        }
    (folder / "names.json").write_text(json.dumps(names), encoding="utf-8")
    (folder / "hand.duckdb").unlink()


def _write_side(db: DuckDBPyConnection, folder: Path, side: str, query: str) -> None:
    """Write the edges that leave or enter each node: offsets, other ends, and a third column.

    Args:
        db: The database with the tables.
        folder: The destination.
        side: Prefix of the files' names.
        query: Selects three columns of a table that is sorted by the first.
    """
    [nodes] = db.execute("SELECT count(*) FROM node").fetchone() or (0,)
    counts, start = np.zeros(nodes, np.int64), 0
    others, edges = folder / f"{side}_other.i32", folder / f"{side}_edge.i32"
    with others.open("wb") as ends, edges.open("wb") as more:
        while True:
            batch = db.execute(f"{query} WHERE rowid BETWEEN {start} AND {start + ROWS - 1}")
            columns = batch.fetchnumpy()
            if not len(columns["node"]):
                break
            counts += np.bincount(columns["node"], minlength=nodes)
            columns["other"].astype(np.int32).tofile(ends)
            columns["edge"].astype(np.int32).tofile(more)
            start += ROWS
    np.concatenate([[0], np.cumsum(counts)]).astype(np.int64).tofile(folder / f"{side}.i64")


def _write_texts(db: DuckDBPyConnection, path: Path, column: str) -> None:
    """Write one text per node, all with the same width."""
    [width] = db.execute(f"SELECT max(strlen({column})) FROM node").fetchone() or (1,)
    with path.open("wb") as file:
        reader = db.execute(f"SELECT {column} FROM node")
        while rows := reader.fetchmany(ROWS):
            np.array([text.encode() for (text,) in rows], f"S{width}").tofile(file)


def write_index(folder: Path) -> None:
    """Write two full-text indexes of the names, like those of the embedded store."""
    import duckdb

    (folder / "hand.db").unlink(missing_ok=True)
    with duckdb.connect() as db, sqlite3.connect(folder / "hand.db") as index:
        index.executescript(INDEX)
        reader = db.execute(
            "SELECT row_number() OVER (ORDER BY id), name, type "
            "FROM read_csv(?, header = true, all_varchar = true)",
            [str(folder / NODES)],
        )
        while rows := reader.fetchmany(ROWS // 10):
            for table in ("words", "grams"):
                statement = f"INSERT INTO {table} (rowid, name, type) VALUES (?, ?, ?)"
                index.executemany(statement, rows)


# --- asking -------------------------------------------------------------------


class ByHand:
    """The arrays, mapped from their files.

    Args:
        folder: The folder to which `write_columns` has written them.
    """

    def __init__(self, folder: Path) -> None:
        names = json.loads((folder / "names.json").read_text("utf-8"))
        self.types, self.predicates = names["types"], names["predicates"]
        self.type = _mapped(folder / "type.i32", np.int32)
        self.size = len(self.type)
        self.out, self.in_ = (_mapped(folder / f"{side}.i64", np.int64) for side in ("out", "in"))
        self.out_other, self.in_other, self.predicate, self.in_edge = (
            _mapped(folder / f"{name}.i32", np.int32)
            for name in ("out_other", "in_other", "out_edge", "in_edge")
        )
        self.id, self.name = (
            _mapped(path, f"S{path.stat().st_size // self.size}")
            for path in (folder / "id.txt", folder / "name.txt")
        )

    def answer(self, seed: str, hops: int) -> dict[str, Any]:
        """The counts of a traversal, and its first nodes with the edges between them."""
        frontier = np.searchsorted(self.id, np.array([seed.encode()]))
        rings, parts = [frontier], []
        for _ in range(hops):
            leaving = _positions(self.out, frontier)
            entering = _positions(self.in_, frontier)
            ends = [self.out_other[leaving], self.in_other[entering]]
            parts += [leaving, self.in_edge[entering]]
            frontier = _without(_distinct(ends, self.size), rings, self.size)
            rings.append(frontier)
        nodes = np.concatenate(rings)
        edges = _distinct(parts, len(self.predicate))
        types = np.flatnonzero(np.bincount(self.type[nodes], minlength=len(self.types)))
        predicates = np.flatnonzero(
            np.bincount(self.predicate[edges], minlength=len(self.predicates))
        )
        head = {
            "seeds": [seed],
            "max_hops": hops,
            "node_count": len(nodes),
            "edge_count": len(edges),
            "schema_summary": {
                "entity_types_found": [self.types[t] for t in types],
                "predicates_found": [self.predicates[p] for p in predicates],
            },
        }
        return head | self._page(nodes[:SHOWN], edges)

    def _page(self, nodes: Array, edges: Array) -> dict[str, Any]:
        ids = {int(n): self.id[n].decode() for n in nodes}
        leaving = _positions(self.out, nodes)
        between = np.sort(leaving[np.isin(self.out_other[leaving], nodes)])
        shown = between[edges[np.searchsorted(edges, between) % len(edges)] == between]
        subjects = np.searchsorted(self.out, shown, side="right") - 1
        return {
            "nodes": [
                {
                    "id": ids[int(n)],
                    "entity_type": self.types[self.type[n]],
                    "metadata": {"name": self.name[n].decode()},
                }
                for n in nodes
            ],
            "edges": [
                {
                    "subject": ids[int(s)],
                    "predicate": self.predicates[self.predicate[e]],
                    "object": ids[int(self.out_other[e])],
                }
                for s, e in zip(subjects, shown, strict=True)
            ],
        }


def _mapped(path: Path, kind: Any) -> Array:
    return np.memmap(path, kind, "r").view(np.ndarray)


def _positions(offsets: Array, nodes: Array) -> Array:
    """The positions of the edges of these nodes."""
    starts, ends = offsets[nodes], offsets[nodes + 1]
    counts = ends - starts
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


def _distinct(parts: list[Array], size: int) -> Array:
    """The distinct numbers in order: by sorting if they are few, by a bitmap if they are many."""
    if sum(map(len, parts)) < size // 50:
        return np.unique(np.concatenate(parts))
    marked = np.zeros(size, bool)
    for part in parts:
        marked[part] = True
    return np.flatnonzero(marked)


def _without(numbers: Array, rings: list[Array], size: int) -> Array:
    """The numbers that are in no earlier ring."""
    if len(numbers) < size // 50:
        return np.setdiff1d(numbers, np.concatenate(rings), assume_unique=True)
    left = np.zeros(size, bool)
    left[numbers] = True
    for ring in rings:
        left[ring] = False
    return np.flatnonzero(left)


# --- choosing -----------------------------------------------------------------


def choose(graph: ByHand) -> dict[str, Any]:
    """The hub, a neighbour of it with about five edges, and nodes far from it.

    `far` lists seed, hops and the approximate number of nodes reached; `few` lists ids of nodes
    with 5 to 50 edges.
    """
    degrees = np.diff(graph.out) + np.diff(graph.in_)
    hub = int(degrees.argmax())
    around = np.unique(graph.in_other[graph.in_[hub] : graph.in_[hub + 1]])
    beside = around[np.abs(degrees[around] - 5).argmin()]
    far, most = [], degrees.astype(float)
    most[around] = np.inf
    for hops, wanted in ((1, (5, 50, 900)), (2, (50, 900)), (3, (900,))):
        if hops > 1:  # an upper bound of the nodes reached, since some are counted twice
            most = _sums_around(graph, most)
        for number in wanted:
            node = np.abs(most - number).argmin()
            if number / 10 < most[node] < 2 * number:
                far.append([graph.id[node].decode(), hops, int(most[node])])
    few = np.flatnonzero((degrees >= 5) & (degrees <= 50))
    few = np.random.default_rng(7).permutation(few)[:20_000]
    return {
        "nodes": graph.size,
        "edges": len(graph.predicate),
        "hub": graph.id[hub].decode(),
        "hub_edges": int(degrees[hub]),
        "beside": graph.id[beside].decode(),
        "far": far,
        "few": [graph.id[node].decode() for node in few],
        "names": [graph.name[node].decode() for node in few[:1_000]],
    }


def _sums_around(graph: ByHand, values: Array) -> Array:
    """For each node, the sum of its neighbours' values."""
    sums = np.zeros(graph.size)
    for offsets, others in ((graph.out, graph.out_other), (graph.in_, graph.in_other)):
        for start in range(0, len(others), ROWS):
            end = min(start + ROWS, len(others))
            nodes = np.searchsorted(offsets, np.arange(start, end), side="right") - 1
            sums += np.bincount(nodes, values[others[start:end]], graph.size)
    return sums


if __name__ == "__main__":
    verb, folder = sys.argv[1], Path(sys.argv[2])
    if verb == "columns":
        write_columns(folder)
    elif verb == "search":
        write_index(folder)
    elif verb == "choose":
        print(json.dumps(choose(ByHand(folder))))
    else:
        for seed, hops in questions():
            graph = ByHand(folder)
            with Taken() as taken:
                answer = graph.answer(seed, hops)
                json.dumps(answer, separators=(",", ":"))
            Reply.of(taken, answer).send()
