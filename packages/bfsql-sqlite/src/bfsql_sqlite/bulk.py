"""Fills a graph file from tables by means of DuckDB, with the graph that their records make.

CSV tables are first copied into plain CSV (`bfsql_sqlite.csv_normalise`), which DuckDB can read
(`bulk_table`). The records of other tables are written as CSV (`record_table`).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import duckdb
import numpy as np

from bfsql.integers import NO_NODE, IntArray, Numbering
from bfsql.loading import RefusalFilter
from bfsql.loading.intake import Stopped
from bfsql.models.json_values import is_text
from bfsql.models.load import LoadMode, LoadOptions, LoadReport, SourceAccount
from bfsql.sources.files import guarded
from bfsql.sources.headers import NodeColumns
from bfsql.sources.id_columns import not_unique
from bfsql.sources.open import Source
from bfsql.sources.tables import Table
from bfsql_sqlite.bulk_graph import BATCH, BulkGraph, EdgeTable, NodeTable
from bfsql_sqlite.bulk_table import BulkTable
from bfsql_sqlite.csv_normalise import NeedsRecordReader, copy
from bfsql_sqlite.edge_tables import write_edges
from bfsql_sqlite.external_sort import SpillError
from bfsql_sqlite.graph_file import Making
from bfsql_sqlite.old_graph import OldGraph
from bfsql_sqlite.record_table import RecordTable, record_rows

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


def write_tables(
    records: RefusalFilter, making: Making, stopped: Callable[[], bool], options: LoadOptions
) -> LoadReport | None:
    """Fill a graph file from the tables behind the records, without reading the records themselves.

    Args:
        records: The records to load.
        making: The file, empty.
        stopped: Whether the load is cancelled.
        options: Options of the load.

    Returns:
        The report that `make_file` expects; None if the records have to be read one by one, in
        which case nothing was written.

    Raises:
        Stopped: The load was cancelled.
        SpillError: A file cannot be written.
    """
    try:
        with bulk_graph(records, making, stopped, options) as tables:
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
    numbers = [*(ordered[name] for name in names.names), None]  # the last element is for NO_NODE
    rows = zip(range(tables.size), tables.ids(), (numbers[t] for t in types.tolist()), strict=True)
    graph.executemany("INSERT INTO node VALUES (?, ?, ?)", rows)
    graph.executemany("INSERT INTO predicate VALUES (?, ?)", enumerate(tables.predicates))


def _with_metadata(tables: BulkGraph, graph: sqlite3.Connection) -> Iterator[IntArray]:
    """The triples; fills `edge` as they pass."""
    for part in tables.leaving():
        yield part.triples
        graph.executemany("INSERT INTO edge VALUES (?, ?)", part.metadata)


# --- reading ------------------------------------------------------------------


@contextmanager
def bulk_graph(
    records: RefusalFilter, making: Making, stopped: Callable[[], bool], options: LoadOptions
) -> Iterator[BulkGraph | None]:
    """The graph of the tables behind the records, without reading the records themselves.

    Args:
        records: The records to load.
        making: Its folder receives the files of DuckDB and the copies of the tables; its target is
            added to in mode APPEND.
        stopped: Whether the load is cancelled.
        options: Options of the load.

    Returns:
        None if the records have to be read one by one: some do not come from tables, a line is
        refused in strict mode, or the account of a table has a note on the reason.

    Raises:
        Stopped: The load was cancelled.
        OSError: A file cannot be written.
        duckdb.Error: A file cannot be written.
    """
    sound = is_text(f"{making.folder}{options.default_type}")
    if records.tables and options.remove:
        _tell(records, "the same load removes something from the graph")
    if not records.tables or options.remove or not sound:
        yield None
        return
    place = making.folder / _FOLDER
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
            yield _read(connection, records, making, stopped, options)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _read(
    connection: duckdb.DuckDBPyConnection,
    records: RefusalFilter,
    making: Making,
    stopped: Callable[[], bool],
    options: LoadOptions,
) -> BulkGraph | None:
    told = [_AccountState(source.account) for source in records.tables]
    graph, odd = None, None
    try:
        tables = _tables(connection, records, making.folder / _FOLDER, stopped)
        graph = _numbered(connection, tables, records, making, stopped, options)
    except NeedsRecordReader as found:
        odd = found
    except duckdb.OutOfMemoryException:
        odd = NeedsRecordReader(
            f"there was too little of {MEMORY} of memory, or of disk, to sort its rows"
        )
    except duckdb.InvalidInputException:
        odd = NeedsRecordReader("one of its lines cannot be read in bulk")
    if graph is None:
        for account in told:
            account.take_back()
        if odd is not None:
            _tell(records, str(odd), odd.table)
        return None
    for table, source in zip(tables, records.tables, strict=True):
        table.tell(source, records)
    return graph


def _tables(
    connection: duckdb.DuckDBPyConnection,
    records: RefusalFilter,
    folder: Path,
    stopped: Callable[[], bool],
) -> list[BulkTable | RecordTable]:
    """Read the tables.

    Raises:
        NotPlain: A table, whose number the error carries, has to be read by the reader of records.
        SourceError: The ids of a table, in a fallback column, are not unique.
    """
    tables: list[BulkTable | RecordTable] = []
    for number, source in enumerate(records.tables):
        name = f"table_{number}"
        try:
            if isinstance(source.table, Table):
                made = copy(source, folder / f"{name}.csv", stopped, records.progress)
                table: BulkTable | RecordTable = BulkTable(name, made, connection)
            else:
                rows = record_rows(source, name, folder, connection)
                table = RecordTable(source, rows, stopped, records.progress)
            table.read()
        except NeedsRecordReader as odd:
            odd.table = number
            raise
        if table.nodes is not None:
            _check_ids(connection, table.nodes, source)
        tables.append(table)
    return tables


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


def _numbered(  # noqa: PLR0917 - what a load has
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[BulkTable | RecordTable],
    records: RefusalFilter,
    making: Making,
    stopped: Callable[[], bool],
    options: LoadOptions,
) -> BulkGraph | None:
    """The graph of tables; None if they have no records, or one that must not be refused."""
    nodes: list[NodeTable] = [table.nodes for table in tables if table.nodes is not None]
    edges: list[EdgeTable] = [table.edges for table in tables if table.edges is not None]
    count = sum(table.count for table in nodes) + sum(table.count for table in edges)
    if not count or (records.strict and any(table.refused for table in tables)):
        return None
    if options.progress:
        options.progress("merging", None)
    if options.mode is LoadMode.APPEND and making.target.header:
        old = OldGraph(making.target.path, making.folder / _FOLDER, connection, stopped)
        old.read(options)
        nodes, edges = [old.nodes, *nodes], [old.edges, *edges]
    graph = BulkGraph(connection, nodes, edges, options)
    graph.number()
    return graph


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
