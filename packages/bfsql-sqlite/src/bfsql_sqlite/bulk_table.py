"""A CSV table as DuckDB reads it: its rows, and the metadata of edges as JSON.

Only a table of which DuckDB makes the same rows as the reader of records is read here: each row in
a line of its own with a cell for each column, and no row that is refused or left out. Each distinct
metadata cell of a column passes through Python once, so that the functions of the reader of records
make the values.
"""
# ruff: noqa: S608 - what is put into these texts are numbers, and literals made by `_literal`

from __future__ import annotations

import io
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
from pydantic_core import to_json

from bfsql.errors import SourceError
from bfsql.models.json_values import encode, is_text
from bfsql.models.records import GraphRecord, NodeRecord, Refusal
from bfsql.sources.files import check_unchanged, guarded, sql_path
from bfsql.sources.headers import EdgeColumns, NodeColumns
from bfsql.sources.id_columns import not_unique
from bfsql.sources.open import Source
from bfsql.sources.rows import rows_of
from bfsql.sources.tables import Table
from bfsql.sources.text import open_utf8
from bfsql_sqlite.bulk_graph import EdgeTable, NodeTable
from bfsql_sqlite.duckdb_tables import BATCH, Description, TextTable, number

_WIDEST = 500
"""Most columns; DuckDB's time grows with the square of their number."""
_BLOCK = 1 << 21
"""Bytes that are copied at a time."""
_LONGEST = 1 << 20
"""Most bytes of a line."""
_SEPARATORS = frozenset(",;\t|")


class NeedsRecordReader(Exception):
    """The table has to be read by the reader of records; the reason is a clause about it."""


class BulkTable:
    """The nodes or the edges of a CSV table, in the forms that `bulk_graph` describes.

    Args:
        name: Name of a schema in DuckDB and of a file, for what is made.
        source: The source of the table.
        table: The table.
        folder: Where the copy is put.
        connection: To DuckDB.

    Attributes:
        source: The source of the table.
        types: The types of the nodes that were read.
    """

    evidence: Sequence[EdgeTable] = ()

    def __init__(
        self,
        name: str,
        source: Source,
        table: Table,
        folder: Path,
        connection: duckdb.DuckDBPyConnection,
    ) -> None:
        self.source = source
        self.rows = ""
        self.width = len(table.head.columns)
        self.count = 0
        self.predicates = f"{name}.predicate"
        self.has_metadata = False
        self.types: set[str] = set()
        self._name = name
        self._table = table
        self._copy = folder / f"{name}.csv"
        self._has_quotes = False
        self._make = table.maker()
        self._connection = connection

    @property
    def nodes(self) -> list[NodeTable]:
        """The table itself if it has nodes."""
        return [self] if isinstance(self._table.columns, NodeColumns) else []

    @property
    def edges(self) -> list[EdgeTable]:
        """The table itself if it has edges."""
        return [self] if isinstance(self._table.columns, EdgeColumns) else []

    def padded(self, width: int) -> str:
        """The cells as this number of columns."""
        return ", ".join(self._cells() + ["NULL"] * (width - self.width))

    def record(self, cells: Sequence[str]) -> NodeRecord:
        """The record of a row of nodes."""
        record = self._make(cells)
        assert isinstance(record, NodeRecord)
        self.types.add(record.entity_type)
        return record

    def described(self, cells: Sequence[str]) -> Description:
        """The type, empty where the row has none, and the metadata."""
        record = self.record(cells)
        text = to_json(record.metadata).decode()
        return Description(record.entity_type, record.metadata, text)

    def read(self, stopped: Callable[[], bool], progress: Callable[[int], object]) -> None:
        """Copy the table, and read the copy.

        Raises:
            NeedsRecordReader: The table can only be read record by record.
            SourceError: The ids, in a fallback column, are not unique.
            InterruptedError: `stopped` returned true.
            OSError: The copy cannot be written.
        """
        columns, dialect = self._table.columns, self._table.head.dialect
        if isinstance(columns, EdgeColumns) and columns.nodes is not None:
            raise NeedsRecordReader("it has nodes as well as edges")
        if dialect.trim or dialect.separator not in _SEPARATORS:
            raise NeedsRecordReader(
                "its cells are separated by something other than , ; | or a tab alone"
            )
        if self.width > _WIDEST:
            raise NeedsRecordReader(f"it has more than {_WIDEST} columns")
        try:
            self._copy_table(stopped, progress)
            if self.source.stamp is not None:
                check_unchanged([(self._table.path, self.source.stamp)])
        except SourceError as error:
            raise NeedsRecordReader("it cannot be read to its end") from error
        self._connection.execute(f"CREATE SCHEMA {self._name}")
        # A null text with NUL occurs in no cell.
        texts = (text for text in columns.null_texts if is_text(text) and "\0" not in text)
        nulls = ", ".join(map(_literal, sorted(texts)))
        if isinstance(columns, NodeColumns):
            self._read_nodes(columns, nulls)
        else:
            self._read_edges(columns, nulls)

    def _copy_table(self, stopped: Callable[[], bool], progress: Callable[[int], object]) -> None:
        """Copy the lines after the skipped ones, in UTF-8 and with line feeds."""
        head, path, count = self._table.head, self._table.path, 0
        separator = re.escape(head.dialect.separator.encode())
        # DuckDB ignores blanks around quotes, where the reader of records keeps them.
        blank = re.compile(rb'" +(?:%b|$)|(?:^|%b) +"' % (separator, separator), re.MULTILINE)
        with open_utf8(path, head.encoding) as source, self._copy.open("wb") as target:
            target.write(BOM_UTF8)  # without it, DuckDB would strip one from the first cell
            for _ in range(head.dialect.skip):
                source.readline()
            for block in guarded(path, iter(lambda: _whole_lines(source), b"")):
                if stopped():
                    raise InterruptedError
                if b"\r" in block or b"\0" in block:
                    raise NeedsRecordReader("one of its lines has a carriage return or a NUL")
                if b'"' in block:
                    self._has_quotes = True
                    if blank.search(block):
                        raise NeedsRecordReader("there are blanks beside quotes")
                target.write(block)
                count += block.count(b"\n")
                progress(count)

    def _read_nodes(self, columns: NodeColumns, nulls: str) -> None:
        # The number of a row is its place in a table; counting it again would cost another pass.
        cells, id_ = f"{self._name}.cells", f"c{self._table.place(columns.id)}"
        self._connection.execute(f"CREATE TABLE {cells} AS SELECT * FROM {self._source()}")
        self._copy.unlink()
        odd = self._odd(f"{id_} IN ({nulls})")
        everything = number(self._connection, f"SELECT count(*) FROM {cells}")
        found = number(self._connection, f"SELECT count(*) FROM {cells} WHERE {odd}")
        self._check(everything, found)
        id_ = f"{_literal(columns.group)} || {id_}"
        self.rows = f"(SELECT {id_} AS id, rowid AS r, * FROM {cells} WHERE NOT ({odd}))"
        twice = f"SELECT id FROM {self.rows} GROUP BY id HAVING count(*) > 1 LIMIT 1"
        if columns.is_fallback and self._connection.execute(twice).fetchone():
            path = self._table.path
            raise not_unique(path, columns, guarded(path, self._table.rows()))

    def _read_edges(self, columns: EdgeColumns, nulls: str) -> None:
        source, place = self._source(), self._table.place
        subject, object_ = f"c{place(columns.subject)}", f"c{place(columns.object)}"
        predicate, empty = _literal(columns.default_predicate), "NULL"
        odd = self._odd(f"{subject} IN ({nulls})", f"{object_} IN ({nulls})")
        if columns.predicate is not None:
            cell = f"c{place(columns.predicate)}"
            predicate = f"CASE WHEN {cell} IN ({nulls}) THEN {predicate} ELSE {cell} END"
            is_empty = f"{cell} <> '' AND {cell} IN ({nulls}) AND NOT ({odd})"
            empty = f"histogram({cell}) FILTER (WHERE {is_empty})"
        self._connection.execute(
            f"CREATE TABLE {self.predicates} AS SELECT {predicate} AS name, "
            f"count(*) FILTER (WHERE {odd}) AS odd, count(*) AS everything, {empty} AS empty "
            f"FROM {source} GROUP BY ALL"
        )
        query = f"SELECT coalesce(sum({{}}), 0) FROM {self.predicates}"
        everything, found = (
            number(self._connection, query.format(one)) for one in ("everything", "odd")
        )
        self._check(everything, found)
        joins, metadata = self._metadata()
        query = f"SELECT empty FROM {self.predicates} WHERE empty IS NOT NULL"
        for (texts,) in self._connection.execute(query).fetchall():
            for text, count in texts.items():
                columns.empty_texts[columns.predicate or "", text] += count
        self._connection.execute(f"DELETE FROM {self.predicates} WHERE odd = everything")
        self.rows = (
            f"(SELECT {_literal(columns.subject_group)} || {subject} AS s, {predicate} AS p, "
            f"{_literal(columns.object_group)} || {object_} AS o, {metadata} AS metadata "
            f"FROM {source} {joins} WHERE NOT ({odd}))"
        )

    def _cells(self) -> list[str]:
        return [f"c{at}" for at in range(self.width)]

    def _source(self) -> str:
        """The SQL expression that reads the copy."""
        cells = self._cells()
        columns = ", ".join(f"{name}: 'VARCHAR'" for name in cells)
        return (
            f"read_csv({sql_path(self._copy)}, columns = {{{columns}}}, force_not_null = {cells}, "
            f"delim = {_literal(self._table.head.dialect.separator)}, quote = '\"', "
            "escape = '\"', new_line = '\\n', header = false, auto_detect = false, "
            "strict_mode = true, hive_partitioning = false, compression = 'none', "
            f"max_line_size = {2 * _LONGEST})"
        )

    def _odd(self, *conditions: str) -> str:
        """The condition that a row is the header, or one that only the reader of records reads."""
        odd = [*conditions]
        if self._table.has_header:
            head, table = self._table.head, self._table
            _, header = next(rows_of(table.path, head.encoding, head.dialect))
            assert isinstance(header, list)  # from which the columns were read
            named = zip(self._cells(), header, strict=False)
            odd.append(f"({' AND '.join(f'{cell} = {_literal(name)}' for cell, name in named)})")
        if self._has_quotes:
            odd += [f"contains({cell}, '\n')" for cell in self._cells()]
        return " OR ".join(odd)

    def _check(self, everything: int, odd: int) -> None:
        """Count the rows that make a record.

        Raises:
            NeedsRecordReader: A row other than the header is odd.
        """
        if odd != self._table.has_header:
            raise NeedsRecordReader(
                "one of its rows has no id, repeats the header or has several lines in a cell"
            )
        self.count = everything - odd

    def _metadata(self) -> tuple[str, str]:
        """Joins, and the expression for the fields of a row's JSON metadata object."""
        fields = self._table.fields
        if len({key for _, key, _ in fields}) < len(fields):
            raise NeedsRecordReader("several of its columns are the same key of metadata")
        self.has_metadata = bool(fields)
        if not fields:
            return "", "''"
        joins, cells = [], []
        for at, key, make in fields:
            table = self._convert(at, key, make)
            joins.append(
                f"LEFT JOIN (SELECT c0 AS cell, c1 AS field FROM {table}) AS cell_{at} "
                f"ON cell_{at}.cell = c{at}"
            )
            cells.append(f"cell_{at}.field")
        return " ".join(joins), f"concat_ws(',', {', '.join(cells)})"

    def _convert(self, at: int, key: str, make: Callable[[str], Any]) -> str:
        """Make a table of the JSON field for every distinct cell of a column; return its name."""
        fields = TextTable(f"{self._name}.cell_{at}", 2, self._connection)
        rows = self._connection.cursor().execute(
            f"SELECT DISTINCT c{at} FROM {self._source()} WHERE c{at} <> ''"
        )
        while batch := rows.fetchmany(BATCH):
            fields.fill((cell, encode({key: make(cell)})[1:-1]) for (cell,) in batch)
        return fields.name

    def records(self) -> Iterator[GraphRecord]:
        """The same records, one by one."""
        records = guarded(self._table.path, self._table.records())
        return (record for record in records if not isinstance(record, Refusal))

    def drop(self) -> None:
        """Remove everything that was made of the table."""
        self._connection.execute(f"DROP SCHEMA IF EXISTS {self._name} CASCADE")
        self._copy.unlink(missing_ok=True)


def _whole_lines(stream: io.BufferedIOBase) -> bytes:
    """The next lines, which end in line feeds; empty at the end."""
    block = stream.read(_BLOCK)
    more = stream.readline(_LONGEST)
    if len(more) == _LONGEST:
        raise NeedsRecordReader("one of its lines is very long")
    block = (block + more).replace(b"\r\n", b"\n")
    return block if block.endswith(b"\n") or not block else block + b"\n"


def _literal(text: str) -> str:
    """A text as an SQL literal.

    Raises:
        NeedsRecordReader: SQL cannot express it.
    """
    if "\0" in text or not is_text(text):
        raise NeedsRecordReader("its header contains characters that are not text")
    return "'" + text.replace("'", "''") + "'"
