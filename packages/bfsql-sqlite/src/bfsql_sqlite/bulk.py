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
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from bfsql.columns import BATCH_EDGES, IntArray
from bfsql.loading import RefusalFilter
from bfsql.loading.intake import EXAMPLES, Stopped
from bfsql.models.json_values import decode, encode, is_text
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.merge import created_node, merge_edges, merge_node_records
from bfsql.models.records import NodeRecord
from bfsql.sources.columns import EdgeColumns, NodeColumns
from bfsql_sqlite.bulk_table import BATCH, BulkTable
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


class Described(NamedTuple):
    """An id, and the node of that id if there is one."""

    n: int
    """Its number."""
    id: str
    type: str | None
    """None where it is no node, but only the end of edges."""
    metadata: str | None
    """JSON text; likewise."""


class Triples(NamedTuple):
    """Edges in integers."""

    triples: IntArray
    """Subject, predicate and object in a row."""
    metadata: list[tuple[int, str]]
    """Number of the edge, and JSON text, of those that have any."""


class BulkGraph:
    """The graph of some tables: every id and triple once, metadata merged.

    Attributes:
        report: Complete when `ids` and then `leaving` have been read.
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
        self._nowhere = np.zeros(0, np.bool_)

    # --- in DuckDB ------------------------------------------------------------

    def number(self) -> None:
        """Number the ids and predicates, and sort the edges."""
        run = self._connection.execute
        ends = [f"SELECT {end} FROM {table.rows}" for table in self._edges for end in ("s", "o")]
        ids = [f"SELECT id FROM {table.rows}" for table in self._nodes] + ends
        run(f"CREATE TABLE id AS SELECT DISTINCT id FROM ({_union(ids)}) AS t (id) ORDER BY id")
        predicates = [f"SELECT name FROM {table.name}_predicate" for table in self._edges]
        predicates = predicates or ["SELECT '' WHERE false"]
        run(
            "CREATE TABLE predicate AS "
            f"SELECT DISTINCT name FROM ({_union(predicates)}) AS t (name) ORDER BY name"
        )
        self.predicates = [
            name for (name,) in run("SELECT name FROM predicate ORDER BY rowid").fetchall()
        ]
        more = ", metadata" if self._has_metadata else ""
        rows = [f"SELECT s, p, o{more} FROM {table.rows}" for table in self._edges]
        rows = rows or [
            f"SELECT '' AS s, '' AS p, '' AS o{more and ', NULL AS metadata'} WHERE 0=1"
        ]
        run(
            "CREATE TABLE edge AS SELECT a.rowid::INTEGER AS s, predicate.rowid::INTEGER AS p, "
            f"b.rowid::INTEGER AS o{more} FROM ({_union(rows)}) AS e JOIN id AS a ON a.id = e.s "
            "JOIN predicate ON name = e.p JOIN id AS b ON b.id = e.o ORDER BY 1, 2, 3"
        )

    def _count(self, table: str) -> int:
        found = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert found is not None
        return int(found[0])

    # --- ids and nodes --------------------------------------------------------

    def ids(self) -> Iterator[Described]:
        """Every id in code point order, numbered from 0, with its node."""
        report, options = self.report, self._options
        self._nowhere = np.zeros(self._count("id"), np.bool_)
        for (n, id_), group in groupby(self._described(), itemgetter(0, 1)):
            found = list(group)
            if found[0][2] is not None:
                entity_type, metadata = self._node(found)
                report.nodes += 1
                report.duplicate_nodes += len(found) - 1
                yield Described(n, id_, entity_type, metadata)
            elif options.create_nodes:
                report.nodes += 1
                report.created_nodes += 1
                if report.created_nodes <= EXAMPLES:
                    report.created_examples.append(id_)
                node = created_node(id_, options.default_type)
                yield Described(n, id_, node.entity_type, encode(node.metadata))
            else:
                self._nowhere[n] = True
                if len(report.dangling_examples) < EXAMPLES:
                    report.dangling_examples.append(id_)
                yield Described(n, id_, None, None)

    def _described(self) -> Iterator[tuple[Any, ...]]:
        """Rows `(n, id, place of the table, cells)`, the place None for an id without a node."""
        width = max((table.width for table in self._nodes), default=0)
        columns = "".join(f", c{at}" for at in range(width))
        rows = [
            f"SELECT {place}, r, id, {table.padded(width)} FROM {table.rows}"
            for place, table in enumerate(self._nodes)
        ] or ["SELECT NULL, NULL, NULL WHERE false"]
        query = (
            f"SELECT id.rowid, id.id, k{columns} FROM id "
            f"LEFT JOIN ({_union(rows)}) AS d (k, r, id{columns}) ON d.id = id.id "
            "ORDER BY id.rowid, k, r"
        )
        found = self._connection.cursor().execute(query)
        while batch := found.fetchmany(BATCH):
            yield from batch

    def _node(self, rows: Sequence[tuple[Any, ...]]) -> tuple[str, str]:
        records = []
        for _, _, place, *cells in rows:
            table = self._nodes[place]
            record = table.record(cells[: table.width])
            assert isinstance(record, NodeRecord)
            records.append(record)
        default_type = self._options.default_type
        if len(records) == 1:
            (one,) = records
            return one.entity_type or default_type, encode(one.metadata)
        entity_type, metadata = merge_node_records(records, default_type)
        return entity_type, encode(metadata)

    # --- edges ----------------------------------------------------------------

    def leaving(self) -> Iterator[Triples]:
        """Every triple once, sorted by (subject, predicate, object), with its metadata."""
        report, before = self.report, 0
        for rows, starts, end in self._grouped("edge"):
            triples = rows.triples[starts]
            counts = np.diff(starts, append=end)
            dangling = self._nowhere[triples[:, 0]] | self._nowhere[triples[:, 2]]
            report.edges += len(triples)
            report.duplicate_edges += end - len(triples)
            report.dangling_edges += int(np.count_nonzero(dangling))
            yield Triples(triples, list(_merged(rows, starts, counts, before)))
            before += len(triples)

    def entering(self) -> Iterator[IntArray]:
        """The same triples, sorted by (object, subject, predicate)."""
        self._connection.execute(
            "CREATE TABLE entering AS SELECT s, p, o FROM edge ORDER BY o, s, p"
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
        graph = BulkGraph(connection, tables, options)
        graph.number()
    except (NotPlain, duckdb.OutOfMemoryException):
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
