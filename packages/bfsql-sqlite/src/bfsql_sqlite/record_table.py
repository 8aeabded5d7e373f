"""Records as tables in DuckDB: those of a table that are made one by one, or any stream of them.

The reader of records makes the records, so the same rows are refused. Metadata is JSON text.
"""
# ruff: noqa: S608 - what is put into these texts are names of tables

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import duckdb

from bfsql.errors import SourceError
from bfsql.loading import KEPT, RefusalFilter
from bfsql.loading.intake import accepted
from bfsql.models.json_values import decode, encode
from bfsql.models.load import LoadReport
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord, Refusal
from bfsql.sources.files import check_unchanged, guarded
from bfsql.sources.headers import NodeColumns
from bfsql.sources.open import Source
from bfsql_sqlite.csv_normalise import NeedsRecordReader
from bfsql_sqlite.duckdb_tables import BATCH, LongTexts, TextTable


class NodeRows(TextTable):
    """Nodes in DuckDB: id, type, and metadata as JSON text.

    Args:
        name: Name of its table in DuckDB.
        connection: To DuckDB.
        long: The destination of long metadata.
    """

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection, long: LongTexts) -> None:
        super().__init__(name, 3, connection)
        self._long = long
        self.rows = f"{name}_rows"
        connection.execute(f"CREATE VIEW {self.rows} AS SELECT rowid AS r, c0 AS id, * FROM {name}")

    def add(self, row: Sequence[str]) -> None:
        """Add a row, which `flush` has to write at the end."""
        super().add((*row[:2], self._long.shortened(row[2])))

    def padded(self, width: int) -> str:
        """The cells as this number of columns."""
        return "c0, c1, c2" + ", NULL" * (width - self.width)

    def record(self, cells: Sequence[str]) -> NodeRecord:
        """The record of a row."""
        id_, entity_type, metadata = cells
        return NodeRecord(id_, entity_type, decode(self._long.whole(metadata)))

    def described(self, cells: Sequence[str]) -> tuple[str, str]:
        """The type, and the metadata as JSON text."""
        return cells[1], self._long.whole(cells[2])


class EdgeRows(TextTable):
    """Edges or evidence in DuckDB: subject, predicate, object, and the fields of a JSON object.

    Args:
        name: Name of its table in DuckDB, with which the names of its views begin.
        connection: To DuckDB.
        long: The destination of long metadata.
    """

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection, long: LongTexts) -> None:
        super().__init__(name, 4, connection)
        self._long = long
        self.rows = f"{name}_rows"
        self.predicates = f"{name}_predicate"
        self.has_metadata = False
        connection.execute(
            f"CREATE VIEW {self.rows} AS SELECT c0 AS s, c1 AS p, c2 AS o, c3 AS metadata "
            f"FROM {name}"
        )
        connection.execute(f"CREATE VIEW {self.predicates} AS SELECT c1 AS name FROM {name}")

    def add(self, row: Sequence[str]) -> None:
        """Add a row, which `flush` has to write at the end."""
        self.has_metadata = self.has_metadata or row[3] != ""
        super().add((*row[:3], self._long.shortened(row[3])))


class RecordRows:
    """Records of any kind in DuckDB.

    Args:
        name: The beginning of the names of its tables.
        connection: To DuckDB.
        long: The destination of long metadata.
    """

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection, long: LongTexts) -> None:
        self.nodes = NodeRows(f"{name}_node", connection, long)
        self.edges = EdgeRows(f"{name}_edge", connection, long)
        self.evidence = EdgeRows(f"{name}_evidence", connection, long)

    def add(self, record: GraphRecord) -> None:
        """Add a record, which `flush` has to write at the end.

        Raises:
            ValueError: It contains something that is not text, or metadata that is not JSON.
        """
        match record:
            case EdgeRecord(subject, predicate, obj, metadata):
                f"{subject}{predicate}{obj}".encode()
                fields = encode(metadata)[1:-1] if metadata else ""
                self.edges.add((subject, predicate, obj, fields))
            case NodeRecord(entity_id, entity_type, metadata):
                f"{entity_id}{entity_type}".encode()
                self.nodes.add((entity_id, entity_type, encode(metadata)))
            case EvidenceRecord(subject, predicate, obj, item):
                f"{subject}{predicate}{obj}".encode()
                self.evidence.add((subject, predicate, obj, encode(item)[1:-1]))

    def flush(self) -> None:
        """Write the records that are still in memory."""
        for rows in (self.nodes, self.edges, self.evidence):
            rows.flush()

    def fill(
        self,
        records: Iterable[GraphRecord],
        report: LoadReport,
        stopped: Callable[[], bool],
        *,
        strict: bool,
    ) -> None:
        """Add all records; those that cannot be stored are refused.

        Args:
            records: The records.
            report: Where refused records are counted.
            stopped: Whether the load is cancelled.
            strict: Whether a refused record ends the load.

        Raises:
            Stopped: The load was cancelled.
            SourceError: A record was refused in strict mode.
        """
        for _ in accepted(records, self.add, report, stopped, strict=strict):
            pass
        self.flush()


class RecordTable:
    """The nodes or the edges of a source that has one table.

    Args:
        source: The source; the records are read from its table.
        rows: The destination.
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
        rows: RecordRows,
        stopped: Callable[[], bool],
        progress: Callable[[int], object],
    ) -> None:
        assert source.table is not None
        self._rows = rows
        is_nodes = isinstance(source.table.columns, NodeColumns)
        self.nodes = self._rows.nodes if is_nodes else None
        self.edges = None if is_nodes else self._rows.edges
        self.refused = 0
        self._refusals: list[Refusal] = []
        self._source = source
        self._table = source.table
        self._stopped = stopped
        self._progress = progress

    def read(self) -> None:
        """Read the table.

        Raises:
            NeedsRecordReader: The reader of records has to refuse something.
            InterruptedError: The load was cancelled.
        """
        try:
            for record in self._accepted():
                self._rows.add(record)
            self._rows.flush()
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
