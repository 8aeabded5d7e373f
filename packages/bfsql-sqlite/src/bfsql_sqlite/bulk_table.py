"""A CSV table as DuckDB reads it: the rows that make a record, and the metadata of edges as JSON.

Each distinct metadata cell of a column passes through Python once, so that the functions of the
reader of records make the values.
"""
# ruff: noqa: S608 - what is put into these texts are numbers, and literals made by `_literal`

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
from pydantic_core import to_json

from bfsql.loading import RefusalFilter
from bfsql.loading.intake import MAX_REFUSALS
from bfsql.models.json_values import encode, is_text
from bfsql.models.records import GraphRecord, NodeRecord, Refusal
from bfsql.sources.fields import Skipped, Unusable
from bfsql.sources.files import guarded
from bfsql.sources.headers import EdgeColumns, NodeColumns
from bfsql.sources.id_columns import not_unique
from bfsql.sources.open import Source
from bfsql.sources.tables import Table
from bfsql_sqlite.bulk_graph import EdgeTable, NodeTable
from bfsql_sqlite.csv_normalise import NeedsRecordReader, NormalisedCsv, copy, quoted
from bfsql_sqlite.duckdb_tables import BATCH, Description, number


class BulkTable:
    """The nodes or the edges of a CSV table, in the forms that `bulk_graph` describes.

    Args:
        name: Name of a schema in DuckDB and of a file, for what is made.
        source: The source of the table.
        table: The table.
        folder: Where the plain copy is put.
        connection: To DuckDB.

    Attributes:
        source: The source of the table.
        refused: Number of rows that make no record.
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
        self.refused = 0
        self.types: set[str] = set()
        self._name = name
        self._table = table
        self._copy = NormalisedCsv(table, folder / f"{name}.csv")
        self._make = table.maker()
        self._headers: list[int] = []
        self._refusals: list[Refusal] = []
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
        have = [f"c{at}" for at in range(self.width)]
        return ", ".join(have + ["NULL"] * (width - self.width))

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
        """Copy the table, and find the rows that make no record.

        Raises:
            NeedsRecordReader: The table can only be read record by record.
            SourceError: The ids, in a fallback column, are not unique.
            InterruptedError: `stopped` returned true.
            OSError: The copy cannot be written.
        """
        columns = self._table.columns
        if isinstance(columns, EdgeColumns) and columns.nodes is not None:
            raise NeedsRecordReader("it has nodes as well as edges")
        copy(self._copy, self.source.stamp, stopped, progress)
        self._connection.execute(f"CREATE SCHEMA {self._name}")
        # This null text occurs in no cell.
        texts = (text for text in columns.null_texts if is_text(text) and "\0" not in text)
        nulls = ", ".join(map(_literal, sorted(texts)))
        if isinstance(columns, NodeColumns):
            self._read_nodes(columns, nulls)
        else:
            self._read_edges(columns, nulls)

    def _read_nodes(self, columns: NodeColumns, nulls: str) -> None:
        # The number of a row is its place in a table; counting it again would cost another pass.
        cells, id_ = f"{self._name}.cells", f"c{self._table.place(columns.id)}"
        self._connection.execute(f"CREATE TABLE {cells} AS SELECT * FROM {self._source()}")
        self._copy.path.unlink()
        odd = f"({self._is_header()}) OR {id_} IN ({nulls})"
        numbered = f"(SELECT rowid AS r, * FROM {cells})"
        id_ = f"{_literal(columns.group)} || {id_}"
        self.rows = f"(SELECT {id_} AS id, * FROM {numbered} WHERE NOT ({odd}))"
        found = number(self._connection, f"SELECT count(*) FROM {cells} WHERE {odd}")
        self._refuse(numbered, odd, found)
        twice = f"SELECT id FROM {self.rows} GROUP BY id HAVING count(*) > 1 LIMIT 1"
        if columns.is_fallback and self._connection.execute(twice).fetchone():
            path = self._table.path
            raise not_unique(path, columns, guarded(path, self._table.rows()))

    def _read_edges(self, columns: EdgeColumns, nulls: str) -> None:
        source, place = self._source(), self._table.place
        subject, object_ = f"c{place(columns.subject)}", f"c{place(columns.object)}"
        predicate, empty = _literal(columns.default_predicate), "NULL"
        odd = f"({self._is_header()}) OR {subject} IN ({nulls}) OR {object_} IN ({nulls})"
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
        query = f"SELECT empty FROM {self.predicates} WHERE empty IS NOT NULL"
        for (texts,) in self._connection.execute(query).fetchall():
            for text, count in texts.items():
                columns.empty_texts[columns.predicate or "", text] += count
        query = f"SELECT coalesce(sum(odd), 0) FROM {self.predicates}"
        found = number(self._connection, query)
        self._connection.execute(f"DELETE FROM {self.predicates} WHERE odd = everything")
        joins, metadata = self._metadata()
        self.rows = (
            f"(SELECT {_literal(columns.subject_group)} || {subject} AS s, {predicate} AS p, "
            f"{_literal(columns.object_group)} || {object_} AS o, {metadata} AS metadata "
            f"FROM {source} {joins} WHERE NOT ({odd}))"
        )
        numbered = f"(SELECT row_number() OVER () - 1 AS r, * FROM {source})"
        self._refuse(numbered, odd, found)

    def _source(self) -> str:
        return _read_csv(self._copy.path, self.width, self._table.head.dialect.separator)

    def _is_header(self) -> str:
        header = self._copy.header
        if header is None:
            return "false"
        return " AND ".join(f"c{at} = {_literal(cell)}" for at, cell in enumerate(header))

    def _refuse(self, numbered: str, odd: str, count: int) -> None:
        """Note the rows that make no record, and those that the copy does not have."""
        self.count = self._copy.rows - count
        self.refused = self._copy.refused
        refusals: list[Refusal] = []
        have = ", ".join(f"c{at}" for at in range(self.width)) if count else ""
        query = f"SELECT r, {have} FROM {numbered} WHERE {odd} ORDER BY r"
        rows = self._connection.execute(query) if count else None
        while rows and (batch := rows.fetchmany(BATCH)):
            for row, *cells in batch:
                line = self._copy.line_of(row)
                if cells == self._copy.header:
                    self._headers.append(line)
                    continue
                try:
                    self._make(cells)
                except Skipped:
                    continue
                except Unusable as reason:
                    self.refused += 1
                    refusals.append(Refusal(self._table.path, line, str(reason)))
                    refusals = refusals[:MAX_REFUSALS]
        refusals += self._copy.refusals
        self._refusals = sorted(refusals, key=lambda refusal: refusal.line or 0)

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
            self._convert(at, key, make)
            joins.append(f"LEFT JOIN {self._name}.cell_{at} AS cell_{at} ON cell_{at}.cell = c{at}")
            cells.append(f"cell_{at}.field")
        return " ".join(joins), f"concat_ws(',', {', '.join(cells)})"

    def _convert(self, at: int, key: str, make: Callable[[str], Any]) -> None:
        """Make a table of the JSON field for every distinct cell of a column."""
        path = self._copy.path.with_name(f"{self._name}_cell_{at}.csv")
        rows = self._connection.execute(
            f"SELECT DISTINCT c{at} FROM {self._source()} WHERE c{at} <> ''"
        )
        with path.open("w", encoding="utf-8", newline="") as target:
            while batch := rows.fetchmany(BATCH):
                target.writelines(
                    f"{quoted(cell)},{quoted(encode({key: make(cell)})[1:-1])}\n"
                    for (cell,) in batch
                )
        self._connection.execute(
            f"CREATE TABLE {self._name}.cell_{at} AS "
            f"SELECT c0 AS cell, c1 AS field FROM {_read_csv(path, 2, ',')}"
        )
        path.unlink()

    def records(self) -> Iterator[GraphRecord]:
        """The same records, one by one."""
        records = guarded(self._table.path, self._table.records())
        return (record for record in records if not isinstance(record, Refusal))

    def drop(self) -> None:
        """Remove everything that was made of the table."""
        self._connection.execute(f"DROP SCHEMA IF EXISTS {self._name} CASCADE")
        self._copy.path.unlink(missing_ok=True)

    def tell(self, records: RefusalFilter) -> None:
        """Enter the table in its account, as the reader of records does."""
        account = self.source.account
        for line in self._headers:
            self._table.tell_header(line)
        self._table.tell_short(self._copy.short)
        account.nodes += sum(table.count for table in self.nodes)
        account.edges += sum(table.count for table in self.edges)
        account.refused += self.refused
        records.add_table(self.count, self._refusals, self.refused)


def _read_csv(path: Path, width: int, separator: str) -> str:
    """The SQL expression that reads a plain copy, with `width` columns of text."""
    names = [f"c{at}" for at in range(width)]
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in names)
    # These characters form patterns in a path unless each is in brackets.
    exact = re.sub(r"[\[*?]", r"[\g<0>]", str(path))
    return (
        f"read_csv({_literal(exact)}, columns = {{{columns}}}, force_not_null = {names}, "
        f"delim = {_literal(separator)}, quote = '\"', escape = '\"', new_line = '\\n', "
        "header = false, auto_detect = false, strict_mode = true, hive_partitioning = false, "
        f"compression = 'none', max_line_size = {1 << 24})"
    )


def _literal(text: str) -> str:
    """A text as an SQL literal.

    Raises:
        NeedsRecordReader: SQL cannot express it.
    """
    if "\0" in text or not is_text(text):
        raise NeedsRecordReader("its header contains characters that are not text")
    return "'" + text.replace("'", "''") + "'"
