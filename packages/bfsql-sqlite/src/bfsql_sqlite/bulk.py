"""Fills a graph file by means of DuckDB, which sorts and joins the records of a load.

CSV tables are first copied into plain CSV (`bfsql_sqlite.csv_normalise`), which DuckDB can read
(`bulk_table`). All other records are made one by one and inserted in batches (`record_table`),
like the graph to append to, if any (`old_graph`).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice

import duckdb
import numpy as np

from bfsql.integers import NO_NODE, IntArray, Numbering
from bfsql.loading import RefusalFilter
from bfsql.loading.intake import Stopped
from bfsql.models.json_values import is_text
from bfsql.models.load import LoadMode, LoadOptions, LoadReport, SourceAccount
from bfsql.models.records import GraphRecord
from bfsql.sources.files import guarded
from bfsql.sources.headers import NodeColumns
from bfsql.sources.id_columns import not_unique
from bfsql.sources.open import Source
from bfsql.sources.tables import Table
from bfsql_sqlite.bulk_graph import BulkGraph, EdgeTable, NodeTable
from bfsql_sqlite.bulk_table import BulkTable
from bfsql_sqlite.csv_normalise import NeedsRecordReader, copy
from bfsql_sqlite.duckdb_tables import BATCH, LongTexts
from bfsql_sqlite.edge_tables import write_edges
from bfsql_sqlite.graph_file import Making, SpillError
from bfsql_sqlite.old_graph import OldGraph
from bfsql_sqlite.record_table import RecordRows, RecordTable

MEMORY = "1GB"
"""Memory that DuckDB may use; beyond it, DuckDB's files on disk grow."""
THREADS = 4

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": MEMORY,
}
_FOLDER = "duckdb"
RECORD_BY_RECORD = "read record by record, which takes longer"
"""The beginning of the note on why tables were not read in bulk."""
_LOOK = 0.1
"""Seconds between two checks whether the load is cancelled."""


# --- writing ------------------------------------------------------------------


def write_graph(
    records: Iterable[GraphRecord],
    making: Making,
    stopped: Callable[[], bool],
    options: LoadOptions,
) -> LoadReport:
    """Fill a graph file.

    Args:
        records: The records to load; the tables behind them are read instead if that makes the
            same graph.
        making: The file, empty.
        stopped: Whether the load is cancelled.
        options: Options of the load.

    Returns:
        The report that `make_file` expects.

    Raises:
        Stopped: The load was cancelled.
        SpillError: A file cannot be written.
        LoadRefused: There is no graph from which something is to be removed.
        StoreError: The graph to append to is damaged.
    """
    try:
        with bulk_graph(records, making, stopped, options) as graph:
            if options.progress:
                options.progress("writing", 0)
            _write_nodes(graph, making.graph)
            write_edges(
                making.graph,
                nodes=graph.size,
                predicates=len(graph.predicates),
                leaving=_with_metadata(graph, making.graph),
                entering=graph.entering(),
            )
            making.graph.executemany(
                "INSERT INTO evidence VALUES (?, ?, ?, ?, ?)", graph.evidence()
            )
            return graph.report
    except duckdb.Error as error:
        raise SpillError(str(error)) from error


def _write_nodes(bulk: BulkGraph, graph: sqlite3.Connection) -> None:
    """Fill `type`, `node`, `detail` and `predicate`."""
    names, types = Numbering(), np.full(bulk.size, NO_NODE, np.int32)
    nodes = bulk.nodes()
    while batch := list(islice(nodes, BATCH)):
        for n, entity_type, _ in batch:
            types[n] = names[entity_type]
        details = ((n, metadata) for n, _, metadata in batch if metadata != "{}")
        graph.executemany("INSERT INTO detail VALUES (?, ?)", details)
    ordered = {name: t for t, name in enumerate(sorted(names.names))}
    graph.executemany("INSERT INTO type VALUES (?, ?)", ((t, name) for name, t in ordered.items()))
    numbers = [*(ordered[name] for name in names.names), None]  # the last element is for NO_NODE
    rows = zip(range(bulk.size), bulk.ids(), (numbers[t] for t in types.tolist()), strict=True)
    graph.executemany("INSERT INTO node VALUES (?, ?, ?)", rows)
    graph.executemany("INSERT INTO predicate VALUES (?, ?)", enumerate(bulk.predicates))


def _with_metadata(bulk: BulkGraph, graph: sqlite3.Connection) -> Iterator[IntArray]:
    """The triples; fills `edge` as they pass."""
    for part in bulk.leaving():
        yield part.triples
        graph.executemany("INSERT INTO edge VALUES (?, ?)", part.metadata)


# --- reading ------------------------------------------------------------------


@contextmanager
def bulk_graph(
    records: Iterable[GraphRecord],
    making: Making,
    stopped: Callable[[], bool],
    options: LoadOptions,
) -> Iterator[BulkGraph]:
    """The graph of the records, and of the graph to append to, if any.

    Args:
        records: The records to load.
        making: Its folder receives the files of DuckDB and the copies of the tables; its target is
            added to in mode APPEND.
        stopped: Whether the load is cancelled.
        options: Options of the load.

    Raises:
        Stopped: The load was cancelled.
        SpillError: A file cannot be written.
        duckdb.Error: A file cannot be written, or memory does not suffice.
    """
    place = making.folder / _FOLDER
    try:
        place.mkdir()
        long = LongTexts(place / "long_texts")
    except OSError as error:
        raise SpillError(str(error)) from error
    config: dict[str, str | bool | int | float | list[str]] = {
        **_CONFIG,
        "threads": str(min(THREADS, os.cpu_count() or 1)),
        # DuckDB takes no path that is not text; without one, it keeps everything in memory.
        "temp_directory": str(place / "spilled") if is_text(str(place)) else "",
    }
    try:
        with (
            closing(long),
            duckdb.connect(":memory:", config=config) as connection,
            _interrupted(connection, stopped),
        ):
            yield _Load(connection, long, making, stopped, options).read(records)
    finally:
        shutil.rmtree(place, ignore_errors=True)


class _Load:
    """The steps of a load that end with its graph in DuckDB."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        long: LongTexts,
        making: Making,
        stopped: Callable[[], bool],
        options: LoadOptions,
    ) -> None:
        self._long = long
        self._connection = connection
        self._folder = making.folder / _FOLDER
        self._stopped = stopped
        self._options = options
        self._report = LoadReport()
        self._old: OldGraph | None = None
        if options.mode is LoadMode.APPEND:
            self._old = OldGraph(making.target, connection, long, stopped)

    def read(self, records: Iterable[GraphRecord]) -> BulkGraph:
        """The graph, numbered and sorted."""
        if self._old is not None:
            self._old.read()
            self._old.remove(self._options, self._report)
        if isinstance(records, RefusalFilter) and records.tables and is_text(str(self._folder)):
            graph = self._of_tables(records)
            if graph is not None:
                return graph
            self._clear()
        rows = RecordRows("record", self._connection, self._long)
        rows.fill(records, self._report, self._stopped, strict=self._options.strict)
        return self._numbered([rows.nodes], [rows.edges], [rows.evidence])

    def _of_tables(self, records: RefusalFilter) -> BulkGraph | None:
        """The graph of the tables behind the records, without reading the records themselves.

        Returns:
            None if the records have to be read one by one: a line is refused in strict mode, or
            the account of a table has a note on the reason.
        """
        states = [_AccountState(source.account) for source in records.tables]
        graph, odd = None, None
        try:
            graph = self._read_tables(records)
        except NeedsRecordReader as found:
            odd = found
        except duckdb.OutOfMemoryException:
            odd = NeedsRecordReader(
                f"there was too little of {MEMORY} of memory, or of disk, to sort its rows"
            )
        except duckdb.InvalidInputException:
            odd = NeedsRecordReader("one of its lines cannot be read in bulk")
        if graph is None:
            for state in states:
                state.take_back()
        if odd is not None:
            _tell(records, str(odd), odd.table)
        return graph

    def _read_tables(self, records: RefusalFilter) -> BulkGraph | None:
        """The graph; None if the tables have no records, or one that must not be refused."""
        try:
            tables = self._tables(records)
        except InterruptedError:
            raise
        except OSError as error:
            raise SpillError(str(error)) from error
        nodes = [table.nodes for table in tables if table.nodes is not None]
        edges = [table.edges for table in tables if table.edges is not None]
        count = sum(table.count for table in nodes) + sum(table.count for table in edges)
        if not count or (records.strict and any(table.refused for table in tables)):
            return None
        graph = self._numbered(nodes, edges, [])
        for table, source in zip(tables, records.tables, strict=True):
            table.tell(source, records)
        return graph

    def _tables(self, records: RefusalFilter) -> list[BulkTable | RecordTable]:
        """Read the tables.

        Raises:
            NeedsRecordReader: A table, whose number the error has, has to be read by the reader
                of records.
            SourceError: The ids of a table, in a fallback column, are not unique.
        """
        tables: list[BulkTable | RecordTable] = []
        for number, source in enumerate(records.tables):
            name = f"table_{number}"
            try:
                if isinstance(source.table, Table):
                    path = self._folder / f"{name}.csv"
                    made = copy(source, path, self._stopped, records.progress)
                    table: BulkTable | RecordTable = BulkTable(name, made, self._connection)
                else:
                    rows = RecordRows(name, self._connection, self._long)
                    table = RecordTable(source, rows, self._stopped, records.progress)
                table.read()
            except NeedsRecordReader as odd:
                odd.table = number
                raise
            if table.nodes is not None:
                _check_ids(self._connection, table.nodes, source)
            tables.append(table)
        return tables

    def _numbered(
        self,
        nodes: Sequence[NodeTable],
        edges: Sequence[EdgeTable],
        evidence: Sequence[EdgeTable],
    ) -> BulkGraph:
        """The graph of new tables, after the graph to append to."""
        if self._options.progress:
            self._options.progress("merging", None)
        if self._old is not None:
            self._old.rename_untyped(self._options, nodes)
            nodes, edges = [self._old.nodes, *nodes], [self._old.edges, *edges]
        graph = BulkGraph(
            self._connection,
            nodes,
            edges,
            evidence,
            long=self._long,
            options=self._options,
            report=self._report,
        )
        graph.number()
        return graph

    def _clear(self) -> None:
        """Remove everything but the graph to append to from DuckDB, for another attempt."""
        self._connection.execute("SET preserve_insertion_order = true")
        for kind in ("view", "table"):
            names = self._connection.execute(
                f"SELECT {kind}_name FROM duckdb_{kind}s() "  # noqa: S608
                f"WHERE NOT internal AND NOT starts_with({kind}_name, 'old_')"
            ).fetchall()
            for (name,) in names:
                self._connection.execute(f"DROP {kind} {name}")


def _check_ids(connection: duckdb.DuckDBPyConnection, nodes: NodeTable, source: Source) -> None:
    """Check that the ids of a table are unique if their column is a fallback.

    Raises:
        SourceError: They are not.
    """
    table = source.table
    if table is None or not isinstance(table.columns, NodeColumns) or not table.columns.is_fallback:
        return
    twice = f"SELECT id FROM {nodes.rows} GROUP BY id HAVING count(*) > 1 LIMIT 1"  # noqa: S608
    if connection.execute(twice).fetchone():
        raise not_unique(table.path, table.columns, guarded(table.path, table.rows()))


def _tell(records: RefusalFilter, reason: str, table: int = 0) -> None:
    """Note why the records have to be read.

    Args:
        records: The records to load.
        reason: A clause about a table.
        table: Number of the table; of the first one if the reason concerns no single table.
    """
    records.tables[table].account.notes.append(f"{RECORD_BY_RECORD}: {reason}")


class _AccountState:
    """The state of an account before the source is read."""

    def __init__(self, account: SourceAccount) -> None:
        self._account = account
        self._before = len(account.columns), len(account.notes)

    def take_back(self) -> None:
        """Reset the account to this state."""
        columns, notes = self._before
        del self._account.columns[columns:]
        del self._account.notes[notes:]


@contextmanager
def _interrupted(
    connection: duckdb.DuckDBPyConnection, stopped: Callable[[], bool]
) -> Iterator[None]:
    """Interrupt DuckDB when the load is cancelled.

    Raises:
        Stopped: DuckDB was interrupted.
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
