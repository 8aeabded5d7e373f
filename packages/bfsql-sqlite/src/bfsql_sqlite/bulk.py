"""Fills a graph file by means of DuckDB, which sorts and joins the records of a load.

DuckDB itself reads CSV tables without odd rows (`bulk_table`). All other records are made one by
one and inserted in batches (`duckdb_tables`), like the graph to append to, if any (`old_graph`).
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np

from bfsql.integers import NO_NODE, IntArray, Numbering
from bfsql.loading import RefusalFilter
from bfsql.loading.files import keys_of_names
from bfsql.loading.intake import Stopped
from bfsql.models.json_values import is_text
from bfsql.models.load import LoadMode, LoadOptions, LoadReport
from bfsql.models.outline import MOST_RELATIONS
from bfsql.models.records import GraphRecord
from bfsql.sources.keys import summary
from bfsql.sources.open import Source
from bfsql.sources.tables import Table
from bfsql_sqlite.bulk_graph import BulkGraph
from bfsql_sqlite.bulk_table import BulkTable, NeedsRecordReader
from bfsql_sqlite.duckdb_tables import BATCH, LongTexts, RecordTables
from bfsql_sqlite.edge_tables import write_edges
from bfsql_sqlite.graph_file import Making, SpillError
from bfsql_sqlite.old_graph import OldGraph
from bfsql_sqlite.period_codes import write_codes
from bfsql_sqlite.property_spill import PropertySpill
from bfsql_sqlite.search_index import entry

RECORD_BY_RECORD = "read record by record, which takes longer"
"""The beginning of the note on why a table was not read in bulk."""

CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    # Beyond it, DuckDB's files on disk grow.
    "memory_limit": "1GB",
    "threads": str(min(4, os.cpu_count() or 1)),
}
"""The settings of DuckDB."""


def write_graph(
    records: Iterable[GraphRecord],
    making: Making,
    stopped: Callable[[], bool],
    options: LoadOptions,
) -> LoadReport:
    """Fill a graph file; tables of the records are read in bulk if that makes the same graph.

    Returns:
        The report that `make_file` expects.

    Raises:
        Stopped: The load was cancelled.
        SpillError: A file cannot be written, or memory does not suffice.
        LoadRefused: There is no graph from which something is to be removed.
        StoreError: The graph to append to is damaged.
    """
    try:
        with (
            _temporary_folder(making.folder) as folder,
            closing(LongTexts(folder)) as long,
            _duckdb(folder, stopped) as connection,
            closing(PropertySpill(connection, folder)) as properties,
        ):
            load = _Load(connection, making, stopped, options, folder=folder, long=long)
            graph = load.read(records)
            if options.progress:
                options.progress("writing", 0)
            others = _write_nodes(graph, making.graph, properties, {key for key, _ in load.names})
            names = {(kind or options.default_type, key) for key, own in load.names for kind in own}
            text = json.dumps([sorted(names), sorted(others)])
            making.graph.execute("INSERT INTO meta VALUES ('name_keys', ?)", (text,))
            found = [one.reading for one in getattr(records, "sources", ()) if one.reading]
            text = json.dumps([*load.tables, *summary(found)])
            making.graph.execute("INSERT INTO meta VALUES ('tables', ?)", (text,))
            text = json.dumps(astuple(graph.time_keys))
            making.graph.execute("INSERT INTO meta VALUES ('time_keys', ?)", (text,))
            text = json.dumps([load.options.title, load.options.description])
            making.graph.execute("INSERT INTO meta VALUES ('about', ?)", (text,))
            properties.write(making.graph)
            write_edges(
                making.graph,
                nodes=graph.size,
                predicates=len(graph.predicates),
                leaving=_with_metadata(graph, making.graph),
                entering=graph.entering(),
            )
            if graph.time_keys and graph.report.edges:
                write_codes(making.graph, graph.time_keys, graph.predicates)
            making.graph.executemany(
                "INSERT INTO evidence VALUES (?, ?, ?, ?, ?)", graph.evidence()
            )
            return graph.report
    except duckdb.OutOfMemoryException as error:
        raise SpillError(
            "merging its records takes more memory than the 1 or 2 GB that a load may use, or more "
            "space for temporary files than its disk has; load fewer files or columns at once, or "
            "free space on the disk"
        ) from error
    except duckdb.Error as error:
        raise SpillError(str(error)) from error


def _write_nodes(
    bulk: BulkGraph, graph: sqlite3.Connection, properties: PropertySpill, keys: set[str]
) -> set[tuple[str, str]]:
    """Fill `type`, `node`, `detail`, `entry` and `predicate`, and collect the properties.

    Returns:
        The types whose nodes have properties with some keys, with these keys.
    """
    others = set[tuple[str, str]]()
    names, types = Numbering(), np.full(bulk.size, NO_NODE, np.int32)
    nodes = bulk.nodes()
    while batch := list(islice(nodes, BATCH)):
        for n, _, node in batch:
            types[n] = names[node.entity_type]
        properties.add([n for n, _, _ in batch], [node.metadata for _, _, node in batch])
        for _, _, node in batch if keys else ():
            others.update((node.entity_type, key) for key in keys.intersection(node.metadata))
        details = ((n, node.text) for n, _, node in batch if node.metadata)
        graph.executemany("INSERT INTO detail VALUES (?, ?)", details)
        entries = (entry(n, id_, node.metadata) for n, id_, node in batch)
        graph.executemany("INSERT INTO entry VALUES (?, ?, ?, ?)", entries)
    ordered = {name: t for t, name in enumerate(sorted(names.names))}
    graph.executemany("INSERT INTO type VALUES (?, ?)", ((t, name) for name, t in ordered.items()))
    numbers = [*(ordered[name] for name in names.names), None]  # the last element is for NO_NODE
    rows = zip(range(bulk.size), bulk.ids(), (numbers[t] for t in types.tolist()), strict=True)
    graph.executemany("INSERT INTO node VALUES (?, ?, ?)", rows)
    graph.executemany("INSERT INTO predicate VALUES (?, ?)", enumerate(bulk.predicates))
    return others


def _with_metadata(bulk: BulkGraph, graph: sqlite3.Connection) -> Iterator[IntArray]:
    """The triples; fills `edge` as they pass."""
    for part in bulk.leaving():
        yield part.triples
        graph.executemany("INSERT INTO edge VALUES (?, ?)", part.metadata)


class _Load:
    """The steps of a load that end with its graph in DuckDB.

    Args:
        connection: To DuckDB.
        making: Its target is added to in mode APPEND.
        stopped: Whether the load is cancelled.
        options: Options of the load.
        folder: Where the copies of tables are put.
        long: The destination of long metadata.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        making: Making,
        stopped: Callable[[], bool],
        options: LoadOptions,
        *,
        folder: Path,
        long: LongTexts,
    ) -> None:
        self._connection = connection
        self._folder = folder
        self._long = long
        self._stopped = stopped
        self.options = options
        self._report = LoadReport()
        self._old: OldGraph | None = None
        self.names: list[tuple[str, Collection[str]]] = []
        """Keys other than `name` of names, with the types of their nodes once these are read."""
        self.tables: list[tuple[str, ...]] = []
        """How earlier loads read tables by their keys."""
        if options.mode is LoadMode.APPEND:
            self._old = OldGraph(making.target, connection, long, stopped)

    def read(self, records: Iterable[GraphRecord]) -> BulkGraph:
        """The graph, numbered and sorted."""
        if self._old is not None:
            self._old.read()
            self.tables = self._old.tables
            time_keys = self.options.time_keys or self._old.time_keys
            title, text = self._old.about
            title, text = self.options.title or title, self.options.description or text
            self.options = replace(self.options, time_keys=time_keys, title=title, description=text)
            self._old.remove(self.options, self._report)
        # Each table of DuckDB takes memory to merge.
        if not isinstance(records, RefusalFilter) or not 0 < len(records.sources) <= 300:
            graph = self._numbered([self._records("record", records)])
            self.names += [(key, (kind,)) for kind, key in getattr(records, "name_keys", ())]
            return graph
        tables = [
            self._in_bulk(number, source, records)
            or self._records(f"records_{number}", records.records_of(source.records))
            for number, source in enumerate(records.sources)
        ]
        records.finish()
        try:
            return self._numbered(tables, records.sources)
        except (duckdb.OutOfMemoryException, duckdb.InvalidInputException) as error:
            first = next((table for table in tables if isinstance(table, BulkTable)), None)
            if first is None:
                raise
            first.source.account.note(f"{RECORD_BY_RECORD}: {_reason(error)}")
            self._connection.execute("SET preserve_insertion_order = true")
            for number, table in enumerate(tables):
                if isinstance(table, BulkTable):
                    table.drop()
                    tables[number] = self._records(f"records_{number}", table.records())
            return self._numbered(tables, records.sources)

    def _records(self, name: str, records: Iterable[GraphRecord]) -> RecordTables:
        """Records that are made one by one."""
        tables = RecordTables(name, self._connection, self._long)
        tables.fill(records, self._report, self._stopped, strict=self.options.strict)
        return tables

    def _in_bulk(self, number: int, source: Source, records: RefusalFilter) -> BulkTable | None:
        """The table of a source as DuckDB reads it; None if its records have to be made.

        Raises:
            SpillError: The copy of the table cannot be written.
            SourceError: The ids of the table, in a fallback column, are not unique.
        """
        if not isinstance(source.table, Table) or not is_text(str(self._folder)):
            return None
        table = BulkTable(f"bulk_{number}", source, source.table, self._folder, self._connection)
        try:
            table.read(self._stopped, records.progress)
        except NeedsRecordReader as reason:
            source.account.note(f"{RECORD_BY_RECORD}: {reason}")
        except (duckdb.OutOfMemoryException, duckdb.InvalidInputException) as error:
            source.account.note(f"{RECORD_BY_RECORD}: {_reason(error)}")
        except InterruptedError:
            raise
        except OSError as error:
            raise SpillError(str(error)) from error
        else:
            source.account.nodes += sum(one.count for one in table.nodes)
            source.account.edges += sum(one.count for one in table.edges)
            records.count += table.count
            names = f"SELECT name FROM {table.predicates}" if table.edges else "SELECT ''"  # noqa: S608
            found = self._connection.execute(f"{names} LIMIT {MOST_RELATIONS + 1}").fetchall()
            for (name,) in found if records.dates else ():
                records.properties[name].update(key for _, key, _ in source.table.fields)
            return table
        table.drop()
        return None

    def _numbered(
        self, tables: Sequence[BulkTable | RecordTables], sources: Sequence[Source] = ()
    ) -> BulkGraph:
        """The graph of tables, perhaps of some sources, after the graph to append to."""
        if self.options.progress:
            self.options.progress("merging", None)
        nodes = [one for table in tables for one in table.nodes if one.count]
        edges = [one for table in tables for one in table.edges if one.count]
        evidence = [one for table in tables for one in table.evidence if one.count]
        self.names = [
            one
            for table, source in zip(tables, sources, strict=False)
            for one in keys_of_names(source.account, table.types)
        ]
        if self._old is not None:
            self._old.rename_untyped(self.options, nodes)
            nodes, edges = [self._old.nodes, *nodes], [self._old.edges, *edges]
            self.names += [(key, (kind,)) for kind, key in self._old.name_keys]
        graph = BulkGraph(
            self._connection,
            nodes,
            edges,
            evidence,
            long=self._long,
            options=self.options,
            report=self._report,
        )
        graph.number()
        return graph


def _reason(error: duckdb.Error) -> str:
    """Why DuckDB could not read a table."""
    if isinstance(error, duckdb.OutOfMemoryException):
        memory = CONFIG["memory_limit"]
        return f"there was too little of {memory} of memory, or of disk, to sort its rows"
    return "one of its lines cannot be read in bulk"


@contextmanager
def _temporary_folder(parent: Path) -> Iterator[Path]:
    try:
        folder = TemporaryDirectory(dir=parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise SpillError(str(error)) from error
    with folder as name:
        yield Path(name)


@contextmanager
def _duckdb(folder: Path, stopped: Callable[[], bool]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to DuckDB that is interrupted when the load is cancelled.

    Raises:
        Stopped: The load was cancelled.
    """
    # DuckDB takes no path that is not text; without one, it keeps everything in memory.
    spilled = str(folder / "duckdb_temp") if is_text(str(folder)) else ""
    over = threading.Event()
    with duckdb.connect(":memory:", config={**CONFIG, "temp_directory": spilled}) as connection:

        def watch() -> None:
            while not over.wait(0.1):
                if stopped():
                    connection.interrupt()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield connection
        except (duckdb.InterruptException, InterruptedError) as error:
            raise Stopped from error
        finally:
            over.set()
            thread.join()
