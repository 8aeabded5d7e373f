"""A table whose records are made one by one, as columns that DuckDB reads.

The reader of records makes the records, so the same rows are refused. They are written as CSV,
with metadata as JSON text.
"""
# ruff: noqa: S608 - what is put into these texts are names of tables

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import duckdb

from bfsql.errors import SourceError
from bfsql.loading import KEPT, RefusalFilter
from bfsql.models.json_values import decode, encode
from bfsql.models.records import EdgeRecord, GraphRecord, NodeRecord, Refusal
from bfsql.sources.files import check_unchanged, guarded
from bfsql.sources.headers import NodeColumns
from bfsql.sources.open import Source
from bfsql_sqlite.bulk_graph import BATCH
from bfsql_sqlite.bulk_table import quoted, read_csv
from bfsql_sqlite.csv_normalise import NeedsRecordReader

_UNWRITABLE = re.compile("[\0\n\r]")


class NodeRows:
    """Nodes in DuckDB, each with its type and metadata.

    Args:
        name: Name of its table in DuckDB.
        path: A temporary file for the rows.
        connection: To DuckDB.
    """

    width = 3

    def __init__(self, name: str, path: Path, connection: duckdb.DuckDBPyConnection) -> None:
        self.name = name
        self.rows = f"{name}_rows"
        self.count = 0
        self._path = path
        self._connection = connection

    def fill(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Write rows: id, type, and metadata as JSON text.

        Raises:
            NotPlain: One of the texts cannot be written.
            OSError: The disk is full.
        """
        self.count = write_rows(self._path, rows)
        run = self._connection.execute
        run(f"CREATE TABLE {self.name} AS SELECT * FROM {read_csv(self._path, self.width, ',')}")
        self._path.unlink()
        run(f"CREATE VIEW {self.rows} AS SELECT rowid AS r, c0 AS id, * FROM {self.name}")

    def padded(self, width: int) -> str:
        """The cells as this number of columns."""
        return "c0, c1, c2" + ", NULL" * (width - self.width)

    def record(self, cells: Sequence[str]) -> NodeRecord:
        """The record of a row."""
        id_, entity_type, metadata = cells
        return NodeRecord(id_, entity_type, decode(metadata))

    def described(self, cells: Sequence[str]) -> tuple[str, str]:
        """The type, and the metadata as JSON text."""
        return cells[1], cells[2]


class EdgeRows:
    """Edges in DuckDB.

    Args:
        name: Name of its table in DuckDB, with which the names of its other tables begin.
        path: The file for the rows.
        connection: To DuckDB.
    """

    def __init__(self, name: str, path: Path, connection: duckdb.DuckDBPyConnection) -> None:
        self.name = name
        self.rows = f"{name}_rows"
        self.predicates = f"{name}_predicate"
        self.count = 0
        self.has_metadata = False
        self._path = path
        self._connection = connection

    def fill(self, rows: Iterable[tuple[str, str, str, str]]) -> None:
        """Write rows: subject, predicate, object, and metadata as the fields of a JSON object.

        Raises:
            NotPlain: One of the texts cannot be written.
            OSError: The disk is full.
        """
        self.count = write_rows(self._path, self._noted(rows))
        source = read_csv(self._path, 4, ",")
        run = self._connection.execute
        run(
            f"CREATE VIEW {self.rows} AS SELECT c0 AS s, c1 AS p, c2 AS o, c3 AS metadata "
            f"FROM {source}"
        )
        run(f"CREATE TABLE {self.predicates} AS SELECT DISTINCT p AS name FROM {self.rows}")

    def _noted(
        self, rows: Iterable[tuple[str, str, str, str]]
    ) -> Iterator[tuple[str, str, str, str]]:
        for row in rows:
            self.has_metadata = self.has_metadata or row[3] != ""
            yield row


class RecordTable:
    """The nodes or the edges of a source that has one table.

    Args:
        source: The source; the records are read from its table.
        made: The destination of the records.
        stopped: Whether the load is cancelled.
        progress: Called periodically.

    Attributes:
        nodes: The destination if the records are nodes.
        edges: The destination if the records are edges.
        refused: Rows that make no record.
    """

    def __init__(
        self,
        source: Source,
        made: NodeRows | EdgeRows,
        stopped: Callable[[], bool],
        progress: Callable[[int], object],
    ) -> None:
        assert source.table is not None
        self.nodes = made if isinstance(made, NodeRows) else None
        self.edges = made if isinstance(made, EdgeRows) else None
        self.refused = 0
        self._refusals: list[Refusal] = []
        self._source = source
        self._table = source.table
        self._stopped = stopped
        self._progress = progress

    def read(self) -> None:
        """Read the table.

        Raises:
            NotPlain: The records have to be read another way.
            InterruptedError: The load was cancelled.
            OSError: The disk is full.
        """
        records = self._accepted()
        try:
            if self.nodes is not None:
                self.nodes.fill(
                    (record.id, record.entity_type, encode(record.metadata))
                    for record in records
                    if isinstance(record, NodeRecord)
                )
            if self.edges is not None:
                self.edges.fill(
                    (record.subject, record.predicate, record.object, _fields(record))
                    for record in records
                    if isinstance(record, EdgeRecord)
                )
            if self._source.stamp is not None:
                check_unchanged([(self._table.path, self._source.stamp)])
        except (SourceError, ValueError) as error:
            # A lone surrogate, or metadata that is nested too deeply
            raise NeedsRecordReader(
                "some of its text or metadata cannot be written as JSON"
            ) from error

    def _accepted(self) -> Iterator[GraphRecord]:
        records = guarded(self._table.path, self._table.records())
        for number, record in enumerate(records):
            if number % BATCH == 0:
                if self._stopped():
                    raise InterruptedError
                self._progress(number)
            if not isinstance(record, Refusal):
                yield record
                continue
            self.refused += 1
            if len(self._refusals) < KEPT:
                self._refusals.append(record)

    def tell(self, source: Source, records: RefusalFilter) -> None:
        """Enter the refusals in the account, as the reader of records does."""
        if self.nodes is not None:
            source.account.nodes += self.nodes.count
        if self.edges is not None:
            source.account.edges += self.edges.count
        source.account.refused += self.refused
        records.add_refusals(self._refusals, self.refused)


def record_rows(
    source: Source, name: str, folder: Path, connection: duckdb.DuckDBPyConnection
) -> NodeRows | EdgeRows:
    """The destination of a source's records.

    Args:
        source: A source with a table.
        name: Name of its table in DuckDB.
        folder: The folder for temporary files.
        connection: To DuckDB.
    """
    assert source.table is not None
    rows = NodeRows if isinstance(source.table.columns, NodeColumns) else EdgeRows
    return rows(name, folder / f"{name}.csv", connection)


def write_rows(path: Path, rows: Iterable[Sequence[str]]) -> int:
    """Write rows as CSV and return their number.

    Raises:
        NotPlain: A text contains a line end or is not valid text.
        OSError: The disk is full.
    """
    count = 0
    with path.open("w", encoding="utf-8", newline="") as target:
        rows = iter(rows)
        while batch := list(islice(rows, BATCH)):
            lines = [",".join(map(quoted, row)) for row in batch]
            if any(map(_UNWRITABLE.search, lines)):
                raise NeedsRecordReader(
                    "an id, type or predicate contains a line break or a NUL character"
                )
            target.write("\n".join(lines) + "\n")
            count += len(lines)
    return count


def _fields(record: EdgeRecord) -> str:
    if not record.metadata:
        return ""
    if "provenance" in record.metadata:
        raise NeedsRecordReader("its edges have evidence")
    return encode(record.metadata)[1:-1]
