"""Graphs in Parquet: tables of nodes or of edges, and the output of Microsoft GraphRAG.

| in the file | becomes |
|---|---|
| dates, times, timestamps | ISO 8601 text, to the microsecond; with a time zone in UTC |
| lists; structs and maps | lists; objects |
| decimals | the number, or its digits if no float equals it |
| binary | text if it is UTF-8; other values are left out |

Columns of other types are left out, and a note of the account names them. Memory holds one batch,
and the library's data for its row group.

GraphRAG's output is a folder, or single tables from it:

| table | becomes |
|---|---|
| `entities` | nodes; the id is the `title`, to which the ends of relationships refer |
| `relationships` | edges with the default predicate, since there is no predicate column |
| `text_units` | the passages of the edges that name them |
| `documents` | the document titles that passages use |

`description` is metadata, and for edges also a piece of evidence. Tables were called
`create_final_entities` and so on before version 2, and the title of an entity `name` before 1.

For a folder, memory holds the ends and the text unit ids of the relationships, and the ids and
titles of the documents, but neither descriptions nor passages.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bfsql.errors import SourceError
from bfsql.models.json_values import iso_text, json_number
from bfsql.models.load import ColumnAccount, SourceAccount
from bfsql.models.records import EvidenceRecord, GraphStream, NodeRecord, Triple
from bfsql.sources.fields import records
from bfsql.sources.files import PACKED, check_library
from bfsql.sources.headers import Columns, ObjectTable, Row, check_each_once, columns_of
from bfsql.sources.options import SourceOptions
from bfsql.sources.relational import Column, FileTables, RelationalTable

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 4096
"""Rows that are unpacked at a time."""
MAX_BATCH_BYTES = 1 << 30
"""Maximum bytes of these rows, unpacked: a few kilobytes may unpack to any number of them."""
_DEEPEST = 50
"""Maximum nesting depth of types."""

_REQUIRED = ("entities", "relationships")

_PARTS = {
    "entities": ({"id", "human_readable_id", "description", "text_unit_ids"}, {"source"}),
    "relationships": ({"id", "source", "target", "description", "text_unit_ids"}, set()),
    "text_units": ({"id", "text", "n_tokens"}, set()),
    "documents": ({"id", "title", "text", "text_unit_ids"}, set()),
    "communities": ({"community", "level", "title", "entity_ids"}, set()),
    "community_reports": ({"community", "level", "title", "full_content"}, set()),
    "covariates": ({"id", "covariate_type", "text_unit_id"}, set()),
}
"""GraphRAG's tables by name, with columns that they have and columns that they lack."""

_LEFT_OUT = {"id", "graph_embedding", "x", "y"}
_UNITS = "text_unit_ids"

Convert = Callable[[Any], Any]


class ParquetTable:
    """An inspected Parquet file; its rows can be read any number of times.

    Args:
        path: The file.
        account: The account of the file, which notes what is left out.

    Attributes:
        names: The readable columns, in the order of the file.
        types: The types of these, as the library spells them.

    Raises:
        SourceError: The library is not installed, or the file is not Parquet.
    """

    def __init__(self, path: Path, account: SourceAccount) -> None:
        check_library(path, "Parquet", "pyarrow", "parquet")
        self.path = path
        self._account = account
        self._binary: dict[str, int] = {}
        schema = self._schema()
        check_each_once(path, schema.names)
        self._readings: dict[str, _Reading] = {}
        for field in schema:
            reading = _reading(field.type, self._binary_of(field.name))
            if reading is not None:
                self._readings[field.name] = reading
                continue
            reason = f"was left out, because values of the type {field.type} cannot be read"
            account.note(f"the column {field.name!r} {reason}")
        self.names = list(self._readings)
        self.types = [str(schema.field(name).type) for name in self.names]

    def rows(self, only: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Every row as a mapping from column to value; missing values are absent.

        Args:
            only: The columns to read, if not all.

        Raises:
            SourceError: The file is damaged.
        """
        import pyarrow.parquet as pq

        self._binary.clear()
        names = [name for name in self.names if only is None or name in only]
        # A text that the file holds once for many rows is held once in memory, too.
        texts = [name for name in names if _is_text(self._readings[name].type)]
        with _faults(self.path), pq.ParquetFile(self.path, read_dictionary=texts) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
                if (size := sum(map(_unpacked_bytes, batch.columns))) > MAX_BATCH_BYTES:
                    raise SourceError(self.path, _too_large(f"{size:,} bytes"))
                columns = [_values(batch.column(n), self._readings[n]) for n in names]
                for values in zip(*columns, strict=True):
                    row = zip(names, values, strict=True)
                    yield {name: value for name, value in row if value is not None}
        for name, number in self._binary.items():
            self._account.note(f"{number:,} binary values of the column {name!r} were left out")

    def _schema(self) -> pa.Schema:
        import pyarrow.parquet as pq

        if (suffix := self.path.suffix.lower()) in PACKED:
            raise SourceError(
                self.path,
                "Parquet has compression of its own and cannot be read from "
                f"{'Zstandard' if suffix == '.zst' else 'gzip'}; decompress the file first",
            )
        with _faults(self.path), pq.ParquetFile(self.path) as file:
            return file.schema_arrow

    def _binary_of(self, name: str) -> Convert:
        def binary(value: bytes) -> str | None:
            with suppress(UnicodeDecodeError):
                if 0 not in value:
                    return value.decode()
            self._binary[name] = self._binary.get(name, 0) + 1
            return None

        return binary


def _is_text(type_: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _unpacked_bytes(column: pa.Array) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.DictionaryArray) and _is_text(column.type.value_type):
        lengths = pc.binary_length(column.dictionary).cast(pa.int64()).take(column.indices)
        return int(pc.sum(lengths).as_py() or 0)
    return int(column.nbytes)


def _values(column: pa.Array, reading: _Reading) -> list[Any]:
    import pyarrow as pa

    convert = reading.convert
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if column.type != reading.type:
        column = column.cast(reading.type, safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        raw = column.cast(pa.binary()).to_pylist()
        values = [None if v is None else v.decode("utf-8", "surrogateescape") for v in raw]
    except (ValueError, OverflowError):  # a year outside the range of Python's dates
        values = column.cast(pa.string()).to_pylist()
        convert = None
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except pa.ArrowMemoryError as error:
        raise SourceError(path, _too_large("more memory than is available")) from error
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        # pyarrow raises plain OSErrors without an errno for faults of the content.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        first = str(error).partition("\n")[0].rstrip(".")
        reason = f"is not a Parquet file, or it is damaged ({first}); is it complete?"
        raise SourceError(path, reason) from error


def _too_large(size: str) -> str:
    return (
        f"{BATCH_ROWS:,} of its rows unpack to {size}, and at most {MAX_BATCH_BYTES >> 30} GB are "
        "read; leave out the column with the longest values, or shorten them"
    )


class _Reading(NamedTuple):
    """The type as which a column is read, and the conversion to plain values."""

    type: Any
    convert: Convert | None = None


def _reading(type_: Any, binary: Convert, depth: int = 0) -> _Reading | None:
    """How values of a type are read, or None if they cannot be."""
    import pyarrow as pa

    if depth > _DEEPEST:
        return None
    if pa.types.is_dictionary(type_):
        return _reading(type_.value_type, binary, depth + 1)
    if isinstance(type_, pa.BaseExtensionType):
        return _reading(type_.storage_type, binary, depth + 1)
    if pa.types.is_nested(type_):
        return _nested(type_, lambda part: _reading(part, binary, depth + 1))
    return _scalar(type_, binary)


def _nested(type_: Any, read: Callable[[Any], _Reading | None]) -> _Reading | None:
    import pyarrow as pa

    is_ = pa.types
    parts = [read(type_.field(number).type) for number in range(type_.num_fields)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or is_.is_union(type_):
        return None
    if is_.is_struct(type_):
        fields = {field.name: part for field, part in zip(type_, known, strict=True)}
        if len(fields) < len(known):
            return None
        types = pa.struct([(name, part.type) for name, part in fields.items()])
        return _Reading(types, _of_struct(fields))
    if is_.is_map(type_):
        key, item = read(type_.key_type), read(type_.item_type)
        if key is None or item is None:
            return None
        return _Reading(pa.map_(key.type, item.type), _of_map(key.convert, item.convert))
    return _Reading(pa.list_(known[0].type), _of_list(known[0].convert)) if known else None


def _scalar(type_: Any, binary: Convert) -> _Reading | None:
    import pyarrow as pa

    is_ = pa.types
    aware = is_.is_timestamp(type_) and type_.tz is not None
    utc = lambda value: iso_text(value.replace(tzinfo=dt.UTC))
    kinds: list[tuple[Callable[[Any], bool], Any, Convert | None]] = [
        (is_.is_timestamp, pa.timestamp("us"), utc if aware else iso_text),
        (is_.is_time, pa.time64("us"), iso_text),
        (is_.is_duration, pa.duration("us"), iso_text),
        (is_.is_date, type_, iso_text),
        (is_.is_decimal, type_, json_number),
        (is_.is_float16, pa.float32(), None),
        (is_.is_fixed_size_binary, pa.binary(), binary),
        (is_.is_binary, type_, binary),
        (is_.is_large_binary, type_, binary),
        (is_.is_binary_view, pa.binary(), binary),
        (is_.is_string_view, pa.string(), None),
    ]
    plain = (is_.is_null, is_.is_boolean, is_.is_integer, is_.is_floating, is_.is_string)
    kinds += [(of_kind, type_, None) for of_kind in (*plain, is_.is_large_string)]
    return next((_Reading(to, convert) for of_kind, to, convert in kinds if of_kind(type_)), None)


def _of_map(key: Convert | None, item: Convert | None) -> Convert:
    keys, items = _of_list(key) or list, _of_list(item) or list

    def mapping(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
        written = (str(key) for key in keys([key for key, _ in pairs]))
        return dict(zip(written, items([value for _, value in pairs]), strict=True))

    return mapping


def _of_list(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda values: [None if value is None else convert(value) for value in values]


def _of_struct(fields: dict[str, _Reading]) -> Convert | None:
    made = {key: part.convert for key, part in fields.items() if part.convert is not None}
    if not made:
        return None
    return lambda value: {
        key: item if item is None or key not in made else made[key](item)
        for key, item in value.items()
    }


# --- graphs ---


def open_parquet(
    path: Path, options: SourceOptions, account: SourceAccount
) -> ObjectTable | GraphStream:
    """The nodes or the edges of a Parquet table.

    If the options name the format, a table of GraphRAG is read like any other.

    Raises:
        SourceError: The library for Parquet is not installed; the file is not Parquet, lacks a
            required column, or is a GraphRAG table without nodes or edges.
    """
    table = ParquetTable(path, account)
    part = None if options.format is not None else graphrag_part(table.names)
    if part in _REQUIRED:
        account.note(f"read as the {part} of GraphRAG")
        return _GraphRag(options, account).records(part, table)
    if part is not None:
        raise SourceError(
            path,
            f"this is GraphRAG's table of {part}, which has no nodes or edges; name its folder, "
            "or use --format parquet to read it as an ordinary table",
        )
    columns = columns_of(path, table.names, options)
    return ObjectTable(path, columns, lambda: _rows(table), _RecordMaker(columns, account).record)


def graphrag_part(columns: Sequence[str]) -> str | None:
    """Which table of GraphRAG has such columns; None if none has."""
    have = {*columns}
    parts = (one for one, (there, no) in _PARTS.items() if there <= have and not no & have)
    return next(parts, None)


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
        files = (folder / f"{part}.parquet", folder / f"create_final_{part}.parquet")
        path = next((file for file in files if file.is_file()), None)
        if path is not None:
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
        """The nodes of the entities, or the edges and evidence of the relationships.

        Args:
            part: `entities` or `relationships`.
            table: The table.
            units: Whether the text units will be read.
        """
        named = replace(self._options, id_column=None)
        if part == "entities":
            title = "title" if "title" in table.names else "name"
            named = replace(
                self._options,
                id_column=self._options.id_column or title,
                name_column=self._options.name_column or title,
                subject_column=None,
                object_column=None,
            )
        prefix = f"{part}." if self._account.format == "graphrag" else ""
        maker = _RecordMaker(columns_of(table.path, table.names, named), self._account, prefix)
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
        """The record of a row; errors as with `NodeColumns.record`.

        Args:
            row: The relevant part of the row.
            written: The row as the file has it, if it has more.
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
