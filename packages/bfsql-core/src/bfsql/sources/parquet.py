"""Graphs in Parquet: tables of nodes or of edges, and the output of Microsoft GraphRAG.

| in the file | becomes |
|---|---|
| dates, times, timestamps | ISO 8601 text, to the microsecond; with a time zone in UTC |
| durations | a whole number, of the unit that the file has |
| lists; structs and maps | lists; objects |
| decimals | the number, or its digits if no float equals it |
| binary | text if it is UTF-8; other values are left out |

DuckDB reads the file; memory holds one batch, and its data for the row group.

GraphRAG's output is a folder:

| table | becomes |
|---|---|
| `entities` | nodes; the id is the `title`, to which the ends of relationships refer |
| `relationships` | edges with the default predicate, since there is no predicate column |
| `text_units` | the passages of the edges that name them |
| `documents` | the document titles that passages use |

`description` is metadata, and for edges also a piece of evidence.

For a folder, memory holds the ends and the text unit ids of the relationships, and the ids and
titles of the documents, but neither descriptions nor passages.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfsql.errors import SourceError
from bfsql.models.json_values import iso_text, json_number
from bfsql.models.load import ColumnAccount, SourceAccount
from bfsql.models.records import EvidenceRecord, GraphStream, NodeRecord, Triple
from bfsql.sources.fields import records
from bfsql.sources.files import PACKED, check_library, sql_path
from bfsql.sources.headers import Columns, ObjectTable, Row, columns_of
from bfsql.sources.options import SourceOptions
from bfsql.sources.relational import Column, FileTables, RelationalTable

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 2_048
"""Rows that are unpacked at a time."""
MAX_BATCH_BYTES = 1 << 30
"""Maximum bytes of their texts: a few kilobytes may unpack to any number of them."""
_LENGTHS = {"VARCHAR": "strlen", "BLOB": "octet_length"}
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "1GB",
    "temp_directory": "",
    "threads": "1",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_PLAIN = re.compile(r"VARCHAR|BOOLEAN|FLOAT|DOUBLE|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
"""Types of columns whose values are as Python has them."""
_MOMENT = "TIMESTAMP WITH TIME ZONE"
_IN_UTC = "strftime(make_timestamp(epoch_us({})), '%Y-%m-%dT%H:%M:%S.%f+00:00')"

_REQUIRED = ("entities", "relationships")

_LEFT_OUT = {"id", "graph_embedding", "x", "y"}
_UNITS = "text_unit_ids"


class ParquetTable:
    """An inspected Parquet file; its rows can be read any number of times.

    Args:
        path: The file.
        account: The account of the file, which notes what is left out.

    Attributes:
        names: The columns, in the order of the file.
        types: The types of these, as DuckDB spells them.

    Raises:
        SourceError: The library is not installed, or the file is not Parquet.
    """

    def __init__(self, path: Path, account: SourceAccount) -> None:
        check_library(path, "Parquet", "duckdb", "parquet")
        if (suffix := path.suffix.lower()) in PACKED:
            raise SourceError(
                path,
                "Parquet has compression of its own and cannot be read from "
                f"{'Zstandard' if suffix == '.zst' else 'gzip'}; decompress the file first",
            )
        self.path = path
        self._account = account
        self._binary = Counter[str]()
        with _opened(path) as connection:
            found = connection.execute(f"DESCRIBE {_query(path, '*')}").fetchall()
        self.names = [name for name, *_ in found]
        self.types = [type_ for _, type_, *_ in found]

    def rows(self, only: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Every row as a mapping from column to value; missing values are absent.

        Args:
            only: The columns to read, if not all.

        Raises:
            SourceError: The file is damaged.
        """
        self._binary.clear()
        types = {
            name: type_
            for name, type_ in zip(self.names, self.types, strict=True)
            if only is None or name in only
        }
        converted = [name for name, type_ in types.items() if not _PLAIN.fullmatch(type_)]
        columns = ", ".join(_column(name, type_) for name, type_ in types.items())
        with _opened(self.path) as connection:
            self._check_size(connection, types)
            connection.execute(_query(self.path, columns))
            while batch := connection.fetchmany(BATCH_ROWS):
                for values in batch:
                    named = zip(types, values, strict=True)
                    row = {name: value for name, value in named if value is not None}
                    for name in row.keys() & converted:
                        if (value := self._converted(name, row[name])) is None:
                            del row[name]
                        else:
                            row[name] = value
                    yield row
        for name, number in self._binary.items():
            self._account.note(f"{number:,} binary values of the column {name!r} were left out")

    def _check_size(self, connection: duckdb.DuckDBPyConnection, types: Mapping[str, str]) -> None:
        lengths = [
            f"coalesce({_LENGTHS[type_]}({_column(name, type_)}), 0)"
            for name, type_ in types.items()
            if type_ in _LENGTHS
        ]
        if not lengths:
            return
        sizes = _query(self.path, f"sum({' + '.join(lengths)}) AS size", "file_row_number = true")
        rows = f"SELECT max(size) FROM ({sizes} GROUP BY file_row_number // {BATCH_ROWS})"  # noqa: S608
        [(size,)] = connection.execute(rows).fetchall()
        if size is not None and size > MAX_BATCH_BYTES:
            raise SourceError(
                self.path,
                f"{BATCH_ROWS:,} of its rows unpack to {size:,} bytes, and at most "
                f"{MAX_BATCH_BYTES >> 30} GB are read; leave out the column with the longest "
                "values, or shorten them",
            )

    def _converted(self, name: str, value: Any) -> Any:
        """A value of a column as metadata can have it, at any depth."""
        match value:
            case list():
                return [self._converted(name, item) for item in value]
            case dict():
                return {str(key): self._converted(name, item) for key, item in value.items()}
            case bytes():
                return self._text(name, value)
        return _plain(value)

    def _text(self, name: str, value: bytes) -> str | None:
        with suppress(UnicodeDecodeError):
            if 0 not in value:
                return value.decode()
        self._binary[name] += 1
        return None


def _plain(value: Any) -> Any:
    match value:
        case dt.datetime() if value.tzinfo is not None:
            return iso_text(value.astimezone(dt.UTC))
        case dt.date() | dt.time() | dt.timedelta():
            return iso_text(value)
        case Decimal():
            return json_number(value)
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _column(name: str, type_: str) -> str:
    """The SQL expression of a column; a moment would be in the zone of the machine."""
    quoted = '"{}"'.format(name.replace('"', '""'))
    return _IN_UTC.format(quoted) if type_ == _MOMENT else quoted


def _query(path: Path, columns: str, option: str = "file_row_number = false") -> str:
    file = f"{sql_path(path)}, hive_partitioning = false, {option}"
    return f"SELECT {columns} FROM read_parquet({file})"  # noqa: S608 - names, and a path, quoted


@contextmanager
def _opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to DuckDB; faults of the file are errors of the source."""
    import duckdb

    try:
        with duckdb.connect(":memory:", config={**_CONFIG}) as connection:
            yield connection
    except duckdb.OutOfMemoryException as error:
        reason = "a part of it needs more memory than the 1 GB that reading may use; split it"
        raise SourceError(path, reason) from error
    except duckdb.Error as error:
        first = str(error).partition("\n")[0].rstrip(".")
        reason = f"is not a Parquet file, or it is damaged ({first}); is it complete?"
        raise SourceError(path, reason) from error


# --- graphs ---


def open_parquet(path: Path, options: SourceOptions, account: SourceAccount) -> ObjectTable:
    """The nodes or the edges of a Parquet table.

    Raises:
        SourceError: The library for Parquet is not installed; the file is not Parquet, or lacks a
            required column.
    """
    table = ParquetTable(path, account)
    columns = columns_of(path, table.names, options)
    return ObjectTable(path, columns, lambda: _rows(table), _RecordMaker(columns, account).record)


def open_tables(path: Path, _: SourceOptions | None = None) -> FileTables:
    """The table of a Parquet file, as one of several; errors as with `ParquetTable`."""
    account = SourceAccount(path.name, "parquet")
    table = ParquetTable(path, account)
    rows = lambda: (tuple(map(row.get, table.names)) for row in table.rows())
    columns = [*map(Column, table.names, table.types)]
    return FileTables([RelationalTable(path.stem, path, columns, rows, account.notes)])


def open_graphrag(folder: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The nodes, edges and evidence of a GraphRAG output folder.

    Raises:
        SourceError: The library for Parquet is not installed; a table is missing, or damaged.
    """
    tables = {}
    for part in (*_REQUIRED, "text_units", "documents"):
        path = folder / f"{part}.parquet"
        if path.is_file():
            tables[part] = ParquetTable(path, account)
        elif part in _REQUIRED:
            raise SourceError(folder, f"there is no {part}.parquet in this output of GraphRAG")
    account.note(f"the tables are {', '.join(t.path.name for t in tables.values())}")
    return _GraphRag(options, account).folder(tables)


def _rows(table: ParquetTable) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows, each with its place."""
    return ((f"row {number}", row) for number, row in enumerate(table.rows(), 1))


class _GraphRag:
    """Creates records from GraphRAG's tables."""

    def __init__(self, options: SourceOptions, account: SourceAccount) -> None:
        self._options, self._account = options, account
        self._triples: list[Triple] = []
        self._waiting: dict[str, list[int]] = {}
        """The places of the edges that refer to a text unit, by the unit's id."""

    def records(self, part: str, table: ParquetTable, *, units: bool = False) -> GraphStream:
        """The nodes of the `entities`, or the edges and evidence of the `relationships`.

        With `units`, the text units will be read.
        """
        named = replace(self._options, id_column=None)
        if part == "entities":
            named = replace(
                self._options,
                id_column=self._options.id_column or "title",
                name_column=self._options.name_column or "title",
                subject_column=None,
                object_column=None,
            )
        columns = columns_of(table.path, table.names, named)
        maker = _RecordMaker(columns, self._account, f"{part}.")
        if part == "entities":
            return records(table.path, _rows(table), lambda row: (_entity(row, maker),))
        return records(
            table.path, _rows(table), lambda row: self._relationship(row, maker, units=units)
        )

    def folder(self, tables: Mapping[str, ParquetTable]) -> GraphStream:
        """The records of all tables."""
        units = tables.get("text_units")
        yield from self.records("entities", tables["entities"])
        yield from self.records("relationships", tables["relationships"], units=units is not None)
        if units is not None:
            documents = tables.get("documents")
            rows = () if documents is None else documents.rows(["id", "title"])
            named = (row for row in rows if "id" in row and row.get("title"))
            yield from self._passages(units, {str(row["id"]): row["title"] for row in named})

    def _relationship(
        self, row: dict[str, Any], maker: _RecordMaker, *, units: bool
    ) -> Iterator[Any]:
        written = dict(row)
        ids = _items(row.pop(_UNITS, None))
        record = maker.record(_without(row), written)
        for column in ("description", _UNITS):
            maker.note(written, column, "evidence")
        yield record
        if isinstance(record, NodeRecord):
            return
        triple, text = (record.subject, record.predicate, record.object), row.get("description")
        item: dict[str, Any] = {"section": "description", "text_span": text} if text else {}
        if ids and not units:
            item["text_unit_ids"] = ids
        if item:
            yield EvidenceRecord(*triple, item)
        if ids and units:
            for id_ in ids:
                self._waiting.setdefault(id_, []).append(len(self._triples))
            self._triples.append(triple)

    def _passages(self, units: ParquetTable, titles: Mapping[str, str]) -> GraphStream:
        wanted = ("id", "text", "document_id", "document_ids")
        for row in units.rows(wanted):
            places = self._waiting.pop(str(row.get("id")), ())
            if not places:
                continue
            ids = _items(row.get("document_ids")) or _items([row.get("document_id")])
            documents = [titles.get(id_, id_) for id_ in ids]
            item: dict[str, Any] = {"text_unit_id": str(row["id"]), "text_span": row.get("text")}
            if len(documents) == 1:
                item["document_id"] = documents[0]
            elif documents:
                item["document_ids"] = documents
            for place in places:
                yield EvidenceRecord(*self._triples[place], dict(item))
        if self._waiting:
            missing = f"text units that are referred to but missing: {len(self._waiting):,}"
            self._account.note(missing)


def _entity(row: dict[str, Any], maker: _RecordMaker) -> Any:
    """The node of an entity, with the number of its mentions."""
    written = dict(row)
    units = _items(row.pop(_UNITS, None))
    frequency = row.pop("frequency", None)
    mentions = len(units) if frequency is None else frequency
    record = maker.record(_without(row), written)
    maker.note(written, "frequency" if frequency is not None else _UNITS, "metadata")
    if mentions:
        record.metadata["total_mentions"] = mentions
    return record


class _RecordMaker:
    """Creates the records of one table, and enters its columns into the account.

    The name of the table precedes that of its columns if there are several tables.
    """

    def __init__(self, columns: Columns, account: SourceAccount, table: str = "") -> None:
        self._columns, self._account, self._table = columns, account, table
        account.empty_texts.append(columns.empty_texts)
        self._entered: dict[str, ColumnAccount] = {}

    def record(self, row: Row, written: Row | None = None) -> Any:
        """The record of the relevant part of a row, which is `written` if the file has more of it.

        Errors are as with `NodeColumns.record`.
        """
        record = self._columns.record(row)
        for column in written or row:
            if column not in self._entered:
                meaning = "metadata" if column in row else "ignored"
                self.note(written or row, column, self._columns.meanings.get(column, meaning))
        return record

    def note(self, row: Row, column: str, meaning: str) -> None:
        """Enter the meaning of a column, with its value as the example."""
        if column not in row:
            return
        if column not in self._entered:
            entered = self._account.add_column(self._table + column, meaning, row[column])
            self._entered[column] = entered
        self._entered[column].meaning = meaning


def _items(value: Any) -> list[str]:
    """The ids of a list, without missing ids and duplicates."""
    items = value if isinstance(value, list) else []
    return list(dict.fromkeys(str(item) for item in items if item is not None))


def _without(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k not in _LEFT_OUT and not k.endswith("_embedding")}
