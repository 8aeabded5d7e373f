"""The embedded store beside what a user could take instead: Ladybug, DuckDB, SQLite, networkx.

Each has the same two tables and is asked the same questions in this process, in turn; all have to
count the same nodes. A peer that is not installed is reported as skipped. `starting.py` and
`served.py` print the first tables.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import gc
import importlib
import itertools
import sqlite3
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from columns_by_hand import INDEX
from large import run
from large_graph import EDGES, TYPES, write_tables

NODES = "dated_nodes.csv"
YEARS = 500
NO_BOUND = 10**9
NODE_COLUMNS, EDGE_COLUMNS = ("id", "type", "name", "year"), ("subject", "predicate", "object")


class Question(NamedTuple):
    """A question in the language of each peer; its answer is a number of nodes."""

    what: str
    ours: dict[str, Any]
    """Arguments of `bfs_query`."""
    number: str
    """The field of its answer with the number."""
    sql: str
    cypher: str


AROUND = """
    SELECT object FROM edge JOIN {0} ON subject = {0}.id
    UNION SELECT subject FROM edge JOIN {0} ON object = {0}.id
"""
NEAR = Question(
    "2 hops from a node beside the hub",
    {"seeds": ["$seed"], "max_hops": 2},
    "node_count",
    f"""
    WITH s AS (SELECT '$seed' AS id), one AS (SELECT id FROM s UNION {AROUND.format("s")})
    SELECT count(*) FROM (SELECT id FROM one UNION {AROUND.format("one")})
    """,
    """
    MATCH (n:Node {id: '$seed'})-[:Edge*1..2]-(m:Node) WHERE m.id <> '$seed'
    RETURN count(DISTINCT m.id) + 1
    """,
)
PATH = Question(
    "path of 2 steps from a type",
    {"seeds": ["T0:*"], "path": ["-P0->", "-P1->"]},
    "shown_count",
    """
    SELECT count(DISTINCT b.object) FROM node
    JOIN edge a ON a.subject = id JOIN edge b ON b.subject = a.object
    WHERE type = 'T0' AND a.predicate = 'P0' AND b.predicate = 'P1'
    """,
    """
    MATCH (n:Node {type: 'T0'})-[:Edge {predicate: 'P0'}]->()-[:Edge {predicate: 'P1'}]->(m:Node)
    RETURN count(DISTINCT m.id)
    """,
)
CHAIN = Question(
    "path of 3 steps with a condition",
    {"seeds": ["T0[year>=400]"], "path": ["-P0->", "-P1->", "-P2->"]},
    "shown_count",
    """
    SELECT count(DISTINCT c.object) FROM node
    JOIN edge a ON a.subject = id JOIN edge b ON b.subject = a.object
    JOIN edge c ON c.subject = b.object
    WHERE type = 'T0' AND year >= 400
    AND a.predicate = 'P0' AND b.predicate = 'P1' AND c.predicate = 'P2'
    """,
    """
    MATCH (n:Node {type: 'T0'})-[:Edge {predicate: 'P0'}]->()-[:Edge {predicate: 'P1'}]->()
    -[:Edge {predicate: 'P2'}]->(m:Node) WHERE n.year >= 400
    RETURN count(DISTINCT m.id)
    """,
)
SELECTION = Question(
    "those of a type and a year, with neighbours",
    {"seeds": ["T0[year=77]"], "max_hops": 1},
    "node_count",
    f"""
    WITH s AS (SELECT id FROM node WHERE type = 'T0' AND year = 77)
    SELECT count(*) FROM (SELECT id FROM s UNION {AROUND.format("s")})
    """,
    """
    MATCH (n:Node) WHERE n.type = 'T0' AND n.year = 77 WITH collect(n.id) AS ids
    MATCH (a:Node)-[:Edge]-(m:Node) WHERE a.id IN ids AND NOT m.id IN ids
    WITH size(ids) AS own, count(DISTINCT m.id) AS others RETURN own + others
    """,
)
QUESTIONS = (NEAR, PATH, CHAIN, SELECTION)


class Peer(ABC):
    """A way to keep the tables and to answer the questions.

    Args:
        folder: Has the tables, and is where the peer keeps its graph.
    """

    name = ""
    module = ""
    """What it needs to be installed."""

    def __init__(self, folder: Path) -> None:
        self.tables = folder / NODES, folder / EDGES
        self.file = folder / f"{self.name.replace(' ', '_')}.graph"

    def load(self) -> None:  # noqa: B027 - one in memory needs no file
        """Make the peer's graph from the tables."""

    @abstractmethod
    def count(self, question: Question, seed: str) -> int:
        """The number of nodes that answer a question; `seed` replaces `$seed`."""


class Bfsql(Peer):
    """The embedded store, without bounds and without answers of earlier turns."""

    name, module = "bfsql", "bfsql"

    def load(self) -> None:
        run("-m", "bfsql", "load", *self.tables, "--path", self.file)

    @cached_property
    def _runner(self) -> asyncio.Runner:
        return asyncio.Runner()

    @cached_property
    def _opening(self) -> Any:
        import bfsql

        limits = bfsql.Limits(max_nodes=NO_BOUND, max_edges=NO_BOUND, max_tokens=0, deadline=600)
        return bfsql.open_graph("sqlite", path=self.file, limits=limits, cache_records=0)

    @cached_property
    def _graph(self) -> Any:
        graph = self._runner.run(self._opening.__aenter__())
        self._runner.run(graph.counted())
        return graph

    def count(self, question: Question, seed: str) -> int:
        seeds = [text.replace("$seed", seed) for text in question.ours["seeds"]]
        arguments = {**question.ours, "seeds": seeds, "topology_only": True, "limit": 1}
        answer = self._runner.run(self._graph.call("bfs_query", arguments))
        return int(answer.document[question.number])


class Ladybug(Peer):
    """Ladybug, an embedded graph database with Cypher."""

    name, module = "Ladybug", "real_ladybug"

    @cached_property
    def _connection(self) -> Any:
        ladybug = importlib.import_module(self.module)
        return ladybug.Connection(ladybug.Database(str(self.file)))

    def load(self) -> None:
        columns = "id STRING PRIMARY KEY, type STRING, name STRING, year INT64"
        self._connection.execute(f"CREATE NODE TABLE Node({columns})")
        self._connection.execute("CREATE REL TABLE Edge(FROM Node TO Node, predicate STRING)")
        nodes, edges = self.tables
        self._connection.execute(f"COPY Node FROM '{nodes}' (header = true)")
        subject, predicate, object_ = EDGE_COLUMNS
        ends = f"LOAD FROM '{edges}' (header = true) RETURN {subject}, {object_}, {predicate}"
        self._connection.execute(f"COPY Edge FROM ({ends})")
        self._connection.execute("CHECKPOINT")

    def count(self, question: Question, seed: str) -> int:
        found = self._connection.execute(question.cypher.replace("$seed", seed)).get_next()
        return int(found[0])


class DuckDb(Peer):
    """DuckDB, an embedded database of columns."""

    name, module = "DuckDB", "duckdb"

    @cached_property
    def _connection(self) -> Any:
        return importlib.import_module(self.module).connect(str(self.file))

    def load(self) -> None:
        for table, path in zip(("node", "edge"), self.tables, strict=True):
            self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_csv('{path}')")
        self._connection.execute("CHECKPOINT")

    def count(self, question: Question, seed: str) -> int:
        sql = question.sql.replace("$seed", seed)
        return int(self._connection.execute(sql).fetchone()[0])


class Sqlite(Peer):
    """SQLite, with indexes for both directions and those of words and trigrams."""

    name, module = "SQLite by hand", "sqlite3"

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(self.file)

    def load(self) -> None:
        db = self._connection
        db.execute(
            "CREATE TABLE node (id TEXT PRIMARY KEY, type, name, year INTEGER) WITHOUT ROWID"
        )
        columns = "subject, predicate, object"
        db.execute(f"CREATE TABLE edge ({columns}, PRIMARY KEY ({columns})) WITHOUT ROWID")
        db.executescript(INDEX)
        db.executemany("INSERT INTO node VALUES (?, ?, ?, ?)", _rows(self.tables[0]))
        db.executemany("INSERT OR IGNORE INTO edge VALUES (?, ?, ?)", _rows(self.tables[1]))
        db.execute("CREATE INDEX entering ON edge (object, predicate, subject)")
        db.execute("CREATE INDEX dated ON node (type, year)")
        for index in ("words", "grams"):
            db.execute(f"INSERT INTO {index} (name, type) SELECT name, type FROM node")
        db.commit()

    def count(self, question: Question, seed: str) -> int:
        return int(self._connection.execute(question.sql.replace("$seed", seed)).fetchone()[0])


class Networkx(Peer):
    """networkx, a graph of Python objects in memory; it keeps no file."""

    name, module = "networkx", "networkx"

    @cached_property
    def _graph(self) -> Any:
        graph = importlib.import_module(self.module).MultiDiGraph()
        for i, kind, name, year in _rows(self.tables[0]):
            graph.add_node(i, type=kind, name=name, year=int(year))
        graph.add_edges_from((s, o, p) for s, p, o in _rows(self.tables[1]))
        return graph

    def count(self, question: Question, seed: str) -> int:
        graph, nodes = self._graph, self._graph.nodes
        if question is NEAR:
            return len(self._near(self._near({seed})))
        if question is SELECTION:
            wanted = {i for i, n in nodes.items() if (n["type"], n["year"]) == ("T0", 77)}
            return len(self._near(wanted))
        least = 400 if question is CHAIN else 0
        ends = {i for i, n in nodes.items() if n["type"] == "T0" and n["year"] >= least}
        for step in question.ours["path"]:
            predicate = step.removeprefix("-").removesuffix("->")
            ends = {o for s in ends for o, keys in graph.adj[s].items() if predicate in keys}
        return len(ends)

    def _near(self, ids: set[str]) -> set[str]:
        graph = self._graph
        return ids.union(*(graph.succ[i] for i in ids), *(graph.pred[i] for i in ids))


PEERS = (Bfsql, Ladybug, DuckDb, Sqlite, Networkx)


def _rows(table: Path) -> Iterator[Sequence[str]]:
    with table.open(encoding="utf-8", newline="") as file:
        yield from itertools.islice(csv.reader(file), 1, None)


def _write(folder: Path, edges: int) -> str:
    """Write the tables; return the id of a node with an edge to the largest hub."""
    write_tables(folder, edges)
    with (folder / NODES).open("w", encoding="utf-8") as table:
        table.write(",".join(NODE_COLUMNS) + "\n")
        rows = range(edges // 10)
        table.writelines(f"Q{i},T{i % TYPES},name {i:x},{i % YEARS}\n" for i in rows)
    ends: dict[str, list[str]] = {}
    for subject, _, object_ in itertools.islice(_rows(folder / EDGES), 10_000):
        ends.setdefault(object_, []).append(subject)
    return max(ends.values(), key=len)[0]


def main(arguments: Sequence[str]) -> None:
    """Print time, and size of files, of each peer beside the embedded store."""
    parser = argparse.ArgumentParser(prog="run.py peers", description=__doc__)
    parser.add_argument("--edges", type=int, default=500_000, help="edges of the graph (500,000)")
    parser.add_argument("--turns", type=int, default=5, help="turns of each question")
    parser.add_argument("--load", nargs=2, metavar=("PEER", "FOLDER"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.load:
        name, folder = chosen.load
        next(peer for peer in PEERS if peer.name == name)(Path(folder)).load()
        return
    import embedded
    import served
    import starting

    with TemporaryDirectory(prefix="bfsql-bench-") as folder:
        graph, size = Path(folder) / "graph.db", (20_000, 200_000, 17_000)
        embedded.report_loading(graph, *size)
        starting.report_start(graph, chosen.turns)
        served.report(graph, size[0], chosen.turns)
        _report(Path(folder), chosen.edges, chosen.turns)


def _report(folder: Path, edges: int, turns: int) -> None:
    seed = _write(folder, edges)
    peers = [peer(folder) for peer in PEERS if _is_installed(peer)]
    print(f"{edges // 10:,} nodes, {edges:,} edges; processor time, bfsql = 1")
    columns = "".join(f"{peer.name:>22}" for peer in peers)
    print(f"\n{'':44}{columns}")
    load = [run(__file__, "--load", peer.name, folder).processor for peer in peers[:-1]]
    _line("load, text indexes by bfsql and SQLite alone", load, "s")
    _line("file", [_size(peer.file) / 1e6 for peer in peers[:-1]], "MB")
    for question in QUESTIONS:
        first, *others = (peer.count(question, seed) for peer in peers)
        if set(others) != {first}:
            raise SystemExit(f"{question.what}: the counts differ: {first}, {others}")
        took = [min(_seconds(peer, question, seed) for _ in range(turns)) for peer in peers]
        _line(f"{question.what} ({first:,})", [one * 1000 for one in took], "ms")


def _is_installed(peer: type[Peer]) -> bool:
    try:
        importlib.import_module(peer.module)
    except ImportError:
        print(f"skipped: {peer.name}, which needs the package {peer.module}")
        return False
    return True


def _seconds(peer: Peer, question: Question, seed: str) -> float:
    gc.collect()
    start = time.process_time()
    peer.count(question, seed)
    return time.process_time() - start


def _size(file: Path) -> int:
    return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*"))


def _line(what: str, figures: Sequence[float], unit: str) -> None:
    cells = (f"{one:11,.1f} {unit:2}{one / figures[0]:8.2f}" for one in figures)
    print(f"{what:44}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
