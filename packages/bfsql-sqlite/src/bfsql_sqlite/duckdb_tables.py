"""Records as tables in DuckDB, which are filled in batches."""
# ruff: noqa: S608 - what is put into these texts are names of tables

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from bfsql.loading.intake import accepted
from bfsql.models.json_values import decode, encode, is_text
from bfsql.models.load import LoadReport
from bfsql.models.merge import evidence_items
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphRecord, Metadata, NodeRecord
from bfsql_sqlite.graph_file import SpillError

BATCH = 5_000
"""Rows with texts that are in memory at a time."""
LONGEST = 2_000
"""Characters of metadata that DuckDB stores itself."""

_PLACE = "\0"
"""The beginning of a place in the file of long texts; JSON escapes this character."""

# Edges with evidence, and how many items of it are from a document.
_EVIDENCE_TABLES = """
CREATE OR REPLACE TABLE evidenced (e BIGINT, s INTEGER, o INTEGER, items INTEGER);
CREATE OR REPLACE TABLE document (id VARCHAR, e BIGINT, items INTEGER)
"""

_EVIDENCE = """
SELECT s, e, s, items, 1 FROM evidenced
UNION ALL SELECT o, e, s, items, 1 FROM evidenced WHERE s <> o
UNION ALL
SELECT id.rowid, e, s, document.items, 0
FROM document JOIN id USING (id) JOIN evidenced USING (e) WHERE id.rowid NOT IN (s, o)
ORDER BY 1, 2
"""


def insert(connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, Any]) -> None:
    """Add rows to a table, from an array for each of its columns."""
    connection.register("batch", columns)
    connection.execute(f"INSERT INTO {table} SELECT * FROM batch")
    connection.unregister("batch")


def number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    """The number that a query returns."""
    [row] = connection.execute(
        query
    ).fetchall()  # `register` needs a result that is read to its end
    return int(row[0])


class SpillFile:
    """A temporary file of bytes, of which parts are read again."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("w+b", buffering=0)
        except OSError as error:
            raise SpillError(str(error)) from error
        self.close = self._file.close
        self._end = 0

    def write(self, data: bytes) -> int:
        """The place of the data in the file.

        Raises:
            SpillError: The disk is full.
        """
        place = self._end
        try:
            self._file.seek(place)
            written = self._file.write(data)
        except OSError as error:
            raise SpillError(str(error)) from error
        if written != len(data):
            raise SpillError("No space left on device")
        self._end += written
        return place

    def read(self, place: int, length: int) -> bytes:
        """The bytes at a place."""
        self._file.seek(place)
        return self._file.read(length)


class LongTexts(SpillFile):
    """Long JSON texts in a file: DuckDB holds thousands of rows in memory whatever their length."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "long_texts")

    def shortened(self, text: str) -> str:
        """The text, or its place in the file if it is long.

        Raises:
            SpillError: The disk is full.
        """
        if len(text) <= LONGEST:
            return text
        data = text.encode()
        return f"{_PLACE}{self.write(data)} {len(data)}"

    def whole(self, text: str) -> str:
        """The text that `shortened` was called with."""
        if not text.startswith(_PLACE):
            return text
        place, length = map(int, text[len(_PLACE) :].split())
        return self.read(place, length).decode()


class TextTable:
    """A table of texts with the columns `c0`, `c1` and so on; `count` rows were written."""

    def __init__(self, name: str, width: int, connection: duckdb.DuckDBPyConnection) -> None:
        self.name = name
        self.width = width
        self.count = 0
        self._connection = connection
        self._rows: list[Sequence[str]] = []
        columns = ", ".join(f"c{at} VARCHAR" for at in range(width))
        connection.execute(f"CREATE TABLE {name} ({columns})")

    def add(self, row: Sequence[str]) -> None:
        """Add a row, which `flush` has to write at the end."""
        self._rows.append(row)
        if len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are still in memory."""
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        batch = {f"c{at}": np.array(column, object) for at, column in enumerate(columns)}
        insert(self._connection, self.name, batch)
        self.count += len(self._rows)
        self._rows.clear()

    def fill(self, rows: Iterable[Sequence[str]]) -> None:
        """Add rows and write them."""
        for row in rows:
            self.add(row)
        self.flush()


class Description(NamedTuple):
    """What the records of a node say."""

    entity_type: str
    """Empty where they have no type."""
    metadata: Metadata
    text: str
    """The metadata as JSON text."""


class NodeRows(TextTable):
    """Nodes: id, type, and metadata as JSON text, in the form of `bulk_graph.NodeTable`."""

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection, long: LongTexts) -> None:
        super().__init__(name, 3, connection)
        self._long = long
        self.rows = f"(SELECT rowid AS r, c0 AS id, * FROM {name})"

    def padded(self, width: int) -> str:
        """The cells as this number of columns."""
        return "c0, c1, c2" + ", NULL" * (width - self.width)

    def record(self, cells: Sequence[str]) -> NodeRecord:
        """The record of a row."""
        id_, entity_type, metadata = cells
        return NodeRecord(id_, entity_type, decode(self._long.whole(metadata)))

    def described(self, cells: Sequence[str]) -> Description:
        """The type and the metadata."""
        text = self._long.whole(cells[2])
        return Description(cells[1], decode(text), text)


class EdgeRows(TextTable):
    """Edges or evidence: subject, predicate, object, and fields, as `bulk_graph.EdgeTable`."""

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(name, 4, connection)
        self.rows = f"(SELECT c0 AS s, c1 AS p, c2 AS o, c3 AS metadata FROM {name})"
        self.predicates = f"(SELECT c1 AS name FROM {name})"
        self.has_metadata = False


class RecordTables:
    """Records of any kind, in the tables `nodes`, `edges` and `evidence`, which may be empty."""

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection, long: LongTexts) -> None:
        self._shortened = long.shortened
        self._nodes = NodeRows(f"{name}_node", connection, long)
        self._edges = EdgeRows(f"{name}_edge", connection)
        self._evidence = EdgeRows(f"{name}_evidence", connection)
        self.nodes, self.edges, self.evidence = [self._nodes], [self._edges], [self._evidence]
        self.types: set[str] = set()
        """The types of nodes."""

    def fill(
        self,
        records: Iterable[GraphRecord],
        report: LoadReport,
        stopped: Callable[[], bool],
        *,
        strict: bool,
    ) -> None:
        """Add all records; those that cannot be stored are refused, and counted in the report.

        Raises:
            Stopped: The load was cancelled.
            SourceError: A record was refused in strict mode.
        """
        for _ in accepted(records, self._add, report, stopped, strict=strict):
            pass
        for table in (self._nodes, self._edges, self._evidence):
            table.flush()

    def _add(self, record: GraphRecord) -> None:
        match record:
            case EdgeRecord(subject, predicate, obj, metadata):
                f"{subject}{predicate}{obj}".encode()
                fields = encode(metadata)[1:-1] if metadata else ""
                self._edges.has_metadata |= fields != ""
                self._edges.add((subject, predicate, obj, self._shortened(fields)))
            case NodeRecord(entity_id, entity_type, metadata):
                f"{entity_id}{entity_type}".encode()
                text = encode(metadata) if metadata else "{}"
                self._nodes.add((entity_id, entity_type, self._shortened(text)))
                self.types.add(entity_type)
            case EvidenceRecord(subject, predicate, obj, item):
                f"{subject}{predicate}{obj}".encode()
                fields = self._shortened(encode(item)[1:-1])
                self._evidence.add((subject, predicate, obj, fields))


class EvidenceTable:
    """The evidence of the edges of a graph.

    Args:
        connection: To DuckDB, where the table `id` has the ids of the graph by number.

    Attributes:
        count: The number of items added.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.count = 0
        self._connection = connection
        self._edges: list[tuple[int, int, int, int]] = []
        self._documents: list[tuple[str, int, int]] = []
        connection.execute(_EVIDENCE_TABLES)

    def add(self, number: int, triple: Sequence[int], metadata: Mapping[str, Any]) -> None:
        """Add the evidence in the metadata of an edge, which `flush` has to write at the end."""
        items = evidence_items(("", "", ""), metadata)
        if not items:
            return
        subject, _, obj = triple
        self.count += len(items)
        self._edges.append((number, subject, obj, len(items)))
        names = (item["document_id"] for item in items)
        documents = Counter(name for name in names if isinstance(name, str) and is_text(name))
        self._documents += [(name, number, count) for name, count in documents.items()]

    def flush(self) -> None:
        """Write the evidence that is still in memory."""
        if self._edges:
            e, s, o, items = np.array(self._edges, np.int64).T.copy()
            insert(self._connection, "evidenced", {"e": e, "s": s, "o": o, "items": items})
        if self._documents:
            names, numbers, counts = zip(*self._documents, strict=True)
            columns = {"id": np.array(names, object), "e": np.array(numbers)}
            insert(self._connection, "document", {**columns, "items": np.array(counts)})
        self._edges.clear()
        self._documents.clear()

    def rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        """The rows of the table `evidence` of a graph file, in the order of its key."""
        found = self._connection.execute(_EVIDENCE)
        while batch := found.fetchmany(BATCH):
            yield from batch
