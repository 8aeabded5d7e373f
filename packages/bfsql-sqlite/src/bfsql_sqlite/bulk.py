"""Reads tables with DuckDB: the same graph as their records make, merged, in columns.

Each table is made plain first (`bfsql_sqlite.plain`). DuckDB reads the copies, numbers the ids in
code point order and sorts the edges, on disk where they are too many for its share of memory. No
string of an edge passes through Python. The cells of metadata do, each distinct one once, so that
the reader of records' own functions make the values; so do records of one thing that are merged.
"""
# ruff: noqa: S608 - what is put into these texts are numbers, and literals made by `_literal`

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
from pydantic_core import to_json

from bfsql.columns import BATCH_EDGES, NO_NODE, IntArray, Numbering
from bfsql.loading import RefusalFilter
from bfsql.loading.intake import EXAMPLES, Stopped
from bfsql.models.json_values import decode, encode, is_text
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.merge import created_node, merge_edges, merge_node_records
from bfsql.models.records import NodeRecord
from bfsql.sources.columns import EdgeColumns, NodeColumns
from bfsql_sqlite.bulk_table import BATCH, BulkTable
from bfsql_sqlite.edge_tables import write_edges
from bfsql_sqlite.external_sort import SpillError
from bfsql_sqlite.graph_file import Making
from bfsql_sqlite.plain import NotPlain, copy

MEMORY = "1GB"
"""What DuckDB may use; beyond it, its files grow."""
THREADS = 4

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": MEMORY,
}
_LOOK = 0.1
"""Seconds between two looks at whether the load is cancelled."""


class Triples(NamedTuple):
    """Edges in integers."""

    triples: IntArray
    """Subject, predicate and object in a row."""
    metadata: list[tuple[int, str]]
    """Number of the edge, and JSON text, of those that have any."""


class BulkGraph:
    """The graph of some tables: every id and triple once, metadata merged.

    Attributes:
        report: Complete, but for edges that dangle, when `nodes` and `leaving` have been read.
        predicates: Names by number, in code point order.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        tables: Sequence[BulkTable],
        options: LoadOptions,
    ) -> None:
        self.report = LoadReport()
        self.predicates: list[str] = []
        self._connection = connection
        self._tables = tables
        self._options = options
        self._nodes = [table for table in tables if isinstance(table.columns, NodeColumns)]
        self._edges = [table for table in tables if isinstance(table.columns, EdgeColumns)]
        self._has_metadata = any(table.keys for table in self._edges)

    # --- in DuckDB ------------------------------------------------------------

    def number(self) -> None:
        """Number the ids and predicates, and sort the edges."""
        names = [f"SELECT name FROM {table.name}_predicate" for table in self._edges]
        self._name("predicate", "name", names)
        found = self._connection.execute("SELECT name FROM predicate ORDER BY rowid").fetchall()
        self.predicates = [name for (name,) in found]
        nodes = [f"SELECT id FROM {table.rows}" for table in self._nodes]
        ends = [f"SELECT {end} FROM {table.rows}" for table in self._edges for end in ("s", "o")]
        # To find the distinct ends of all edges takes a third of the time; mostly all are nodes.
        self._name("id", "id", nodes)
        self._sort()
        if self._count("edge") < sum(table.count for table in self._edges):
            self._name("id", "id", nodes + ends)
            self._sort()

    def _name(self, table: str, column: str, queries: Sequence[str]) -> None:
        """Make a table of the distinct texts that some queries give, in code point order."""
        texts = _union(queries or ["SELECT '' WHERE false"])
        self._connection.execute(
            f"CREATE OR REPLACE TABLE {table} AS "
            f"SELECT DISTINCT {column} FROM ({texts}) AS t ({column}) ORDER BY {column}"
        )

    def _sort(self) -> None:
        """Make `edge`: the records of edges in numbers, sorted, those with ends in `id`."""
        more = ", metadata" if self._has_metadata else ""
        rows = [f"SELECT s, p, o{more} FROM {table.rows}" for table in self._edges]
        nothing = f"SELECT '' AS s, '' AS p, '' AS o{more and ', NULL AS metadata'} WHERE false"
        self._connection.execute(
            "CREATE OR REPLACE TABLE edge AS SELECT a.rowid::INTEGER AS s, "
            f"predicate.rowid::INTEGER AS p, b.rowid::INTEGER AS o{more} "
            f"FROM ({_union(rows or [nothing])}) AS e JOIN id AS a ON a.id = e.s "
            "JOIN predicate ON name = e.p JOIN id AS b ON b.id = e.o ORDER BY 1, 2, 3"
        )

    @property
    def size(self) -> int:
        """The number of ids."""
        return self._count("id")

    def _count(self, table: str) -> int:
        found = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert found is not None
        return int(found[0])

    # --- ids and nodes --------------------------------------------------------

    def ids(self) -> Iterator[str]:
        """Every id, in the order of their numbers."""
        found = self._connection.cursor().execute("SELECT id FROM id ORDER BY rowid")
        while batch := found.fetchmany(BATCH):
            yield from (id_ for (id_,) in batch)

    def nodes(self) -> Iterator[tuple[int, str, str]]:
        """Number, type and metadata as JSON text of every node, by number."""
        rows = self._described()
        row = next(rows, None)
        while row is not None:
            n, id_, place, *_ = records = row
            several = []
            for row in rows:
                if row[0] != n:
                    break
                several.append(row)
            else:
                row = None
            if place is None:
                if self._options.create_nodes:
                    yield n, *self._created(id_)
                continue
            self.report.nodes += 1
            if several:
                self.report.duplicate_nodes += len(several)
                yield n, *self._merged([records, *several])
                continue
            record = self._record(records)
            yield (
                n,
                record.entity_type or self._options.default_type,
                to_json(record.metadata).decode(),
            )

    def _described(self) -> Iterator[tuple[Any, ...]]:
        """Rows `(n, id, place of the table, cells)`, the place None for an id without a node."""
        width = max((table.width for table in self._nodes), default=0)
        columns = "".join(f", c{at}" for at in range(width))
        rows = [
            f"SELECT {place}, r, id, {table.padded(width)} FROM {table.rows}"
            for place, table in enumerate(self._nodes)
        ] or ["SELECT NULL, NULL, NULL WHERE false"]
        found = self._connection.cursor().execute(
            f"SELECT id.rowid, id.id, k{columns} FROM id "
            f"LEFT JOIN ({_union(rows)}) AS d (k, r, id{columns}) ON d.id = id.id "
            "ORDER BY id.rowid, k, r"
        )
        while batch := found.fetchmany(BATCH):
            yield from batch

    def _record(self, row: Sequence[Any]) -> NodeRecord:
        table = self._nodes[row[2]]
        record = table.record(row[3 : 3 + table.width])
        assert isinstance(record, NodeRecord)
        return record

    def _merged(self, rows: Sequence[Sequence[Any]]) -> tuple[str, str]:
        records = list(map(self._record, rows))
        entity_type, metadata = merge_node_records(records, self._options.default_type)
        return entity_type, encode(metadata)

    def _created(self, id_: str) -> tuple[str, str]:
        report = self.report
        report.nodes += 1
        report.created_nodes += 1
        if report.created_nodes <= EXAMPLES:
            report.created_examples.append(id_)
        node = created_node(id_, self._options.default_type)
        return node.entity_type, encode(node.metadata)

    # --- edges ----------------------------------------------------------------

    def leaving(self) -> Iterator[Triples]:
        """Every triple once, sorted by (subject, predicate, object), with its metadata."""
        report, before = self.report, 0
        for rows, starts, end in self._grouped("edge"):
            triples = rows.triples[starts]
            counts = np.diff(starts, append=end)
            report.edges += len(triples)
            report.duplicate_edges += end - len(triples)
            yield Triples(triples, list(_merged(rows, starts, counts, before)))
            before += len(triples)

    def entering(self) -> Iterator[IntArray]:
        """The same triples, sorted by (object, predicate, subject)."""
        self._connection.execute(
            "CREATE TABLE entering AS SELECT s, p, o FROM edge ORDER BY o, p, s"
        )
        for rows, starts, _ in self._grouped("entering"):
            yield rows.triples[starts]

    def _grouped(self, table: str) -> Iterator[tuple[_Rows, IntArray, int]]:
        """Rows of a sorted table, where another triple begins among them, and where the last ends.

        All rows of a triple come together.
        """
        columns = "s, p, o"
        if self._has_metadata and table == "edge":
            columns += ", metadata"
        number, rest = self._count(table), None
        for first in range(0, number, BATCH_EDGES):
            last = first + BATCH_EDGES - 1
            found = self._connection.execute(
                f"SELECT {columns} FROM {table} WHERE rowid BETWEEN {first} AND {last}"
            ).fetchnumpy()
            triples = np.column_stack([found["s"], found["p"], found["o"]])
            rows = _Rows(triples, found.get("metadata"))
            rows = rows if rest is None else rest.followed_by(rows)
            starts = rows.starts()
            # The rows of the last triple may go on.
            end = len(rows.triples) if last + 1 >= number else int(starts[-1])
            rest = rows.behind(end)
            if end:
                yield rows, starts[starts < end], end


class _Rows(NamedTuple):
    """Sorted records of edges."""

    triples: IntArray
    """Subject, predicate and object in a row."""
    metadata: Any
    """An array of texts, the fields of a JSON object each; None where no record has any."""

    def behind(self, end: int) -> _Rows:
        return _Rows(self.triples[end:], None if self.metadata is None else self.metadata[end:])

    def followed_by(self, other: _Rows) -> _Rows:
        metadata = None
        if self.metadata is not None:
            metadata = np.concatenate([self.metadata, other.metadata])
        return _Rows(np.concatenate([self.triples, other.triples]), metadata)

    def starts(self) -> IntArray:
        new = (self.triples[1:] != self.triples[:-1]).any(axis=1)
        return np.flatnonzero(np.concatenate([[True], new])).astype(np.int32)


def _merged(
    rows: _Rows, starts: IntArray, counts: IntArray, before: int
) -> Iterator[tuple[int, str]]:
    """The number of each triple that has metadata, and the JSON text.

    Args:
        rows: The records.
        starts: Where those of each triple begin.
        counts: How many these are.
        before: How many triples there were before.
    """
    have = counts > 1
    if rows.metadata is not None:
        have |= rows.metadata[starts] != ""
    for place in np.flatnonzero(have).tolist():
        start, count = int(starts[place]), int(counts[place])
        texts = [] if rows.metadata is None else rows.metadata[start : start + count].tolist()
        if not any(texts):
            text = encode({"multiplicity": count})
        elif count == 1:
            text = f"{{{texts[0]}}}"
        else:
            text = encode(merge_edges([decode(f"{{{one}}}") for one in texts]))
        yield before + place, text


# --- writing ------------------------------------------------------------------


def write_tables(
    records: RefusalFilter, making: Making, stopped: Callable[[], bool], options: LoadOptions
) -> LoadReport | None:
    """Fill a graph file from the tables that records are made of, the records themselves unread.

    Args:
        records: What is to be loaded.
        making: The file, empty.
        stopped: Whether the load is cancelled.
        options: Of the load.

    Returns:
        What `make_file` asks for; None where the records have to be read, and nothing was written.

    Raises:
        Stopped: The load was cancelled.
        SpillError: A file cannot be written.
    """
    try:
        with bulk_graph(records, making.folder, stopped, options) as tables:
            if tables is None:
                return None
            if options.progress:
                options.progress("writing", 0)
            _write_nodes(tables, making.graph)
            write_edges(
                making.graph,
                nodes=tables.size,
                predicates=len(tables.predicates),
                leaving=_with_metadata(tables, making.graph),
                entering=tables.entering(),
            )
            return tables.report
    except (OSError, duckdb.Error) as error:
        raise SpillError(str(error)) from error


def _write_nodes(tables: BulkGraph, graph: sqlite3.Connection) -> None:
    """Fill `type`, `node`, `detail` and `predicate`."""
    names, types = Numbering(), np.full(tables.size, NO_NODE, np.int32)
    nodes = tables.nodes()
    while batch := list(islice(nodes, BATCH)):
        for n, entity_type, _ in batch:
            types[n] = names[entity_type]
        details = ((n, metadata) for n, _, metadata in batch if metadata != "{}")
        graph.executemany("INSERT INTO detail VALUES (?, ?)", details)
    ordered = {name: t for t, name in enumerate(sorted(names.names))}
    graph.executemany("INSERT INTO type VALUES (?, ?)", ((t, name) for name, t in ordered.items()))
    numbers = [*(ordered[name] for name in names.names), None]  # the last one for NO_NODE
    rows = zip(range(tables.size), tables.ids(), (numbers[t] for t in types.tolist()), strict=True)
    graph.executemany("INSERT INTO node VALUES (?, ?, ?)", rows)
    graph.executemany("INSERT INTO predicate VALUES (?, ?)", enumerate(tables.predicates))


def _with_metadata(tables: BulkGraph, graph: sqlite3.Connection) -> Iterator[IntArray]:
    """The triples; fills `edge` while they come by."""
    for part in tables.leaving():
        yield part.triples
        graph.executemany("INSERT INTO edge VALUES (?, ?)", part.metadata)


# --- reading ------------------------------------------------------------------


@contextmanager
def bulk_graph(
    records: RefusalFilter, folder: Path, stopped: Callable[[], bool], options: LoadOptions
) -> Iterator[BulkGraph | None]:
    """The graph of the tables that the records are made of, and the records themselves unread.

    Args:
        records: What is to be loaded.
        folder: Where DuckDB and the copies of the tables have their files.
        stopped: Whether the load is cancelled.
        options: Of the load.

    Returns:
        None where the records have to be read: some are not from tables, or a table is not plain,
        or one of its lines is refused in strict mode.

    Raises:
        Stopped: The load was cancelled.
        OSError: A file cannot be written.
        duckdb.Error: Likewise.
    """
    if not records.tables or not is_text(f"{folder}{options.default_type}"):
        yield None
        return
    place = folder / "duckdb"
    place.mkdir()
    config: dict[str, str | bool | int | float | list[str]] = {
        **_CONFIG,
        "threads": str(min(THREADS, os.cpu_count() or 1)),
        "temp_directory": str(place / "spilled"),
    }
    try:
        with (
            duckdb.connect(":memory:", config=config) as connection,
            _interrupted(connection, stopped),
        ):
            yield _read(connection, records, place, stopped, options)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _read(
    connection: duckdb.DuckDBPyConnection,
    records: RefusalFilter,
    folder: Path,
    stopped: Callable[[], bool],
    options: LoadOptions,
) -> BulkGraph | None:
    try:
        tables = []
        for number, source in enumerate(records.tables):
            made = copy(source, folder / f"table_{number}.csv", stopped, records.progress)
            tables.append(BulkTable(f"table_{number}", made, connection))
        for table in tables:
            table.read()
        refused = any(table.refused for table in tables)
        if (refused and records.strict) or not any(table.count for table in tables):
            return None
        if options.progress:
            options.progress("merging", None)
        graph = BulkGraph(connection, tables, options)
        graph.number()
    except (NotPlain, duckdb.OutOfMemoryException, duckdb.InvalidInputException):
        return None
    for table, source in zip(tables, records.tables, strict=True):
        table.tell(source, records)
    return graph


@contextmanager
def _interrupted(
    connection: duckdb.DuckDBPyConnection, stopped: Callable[[], bool]
) -> Iterator[None]:
    """Interrupts what DuckDB does when the load is cancelled.

    Raises:
        Stopped: It was interrupted.
    """
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK):
            if stopped():
                connection.interrupt()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    except (duckdb.InterruptException, InterruptedError) as error:
        raise Stopped from error
    finally:
        over.set()
        thread.join()


def _union(queries: Sequence[str]) -> str:
    return " UNION ALL ".join(queries)
