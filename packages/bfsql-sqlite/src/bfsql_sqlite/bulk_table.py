"""One table as DuckDB reads it: the rows that make a record, and the metadata of edges as JSON.

Each distinct metadata cell of a column passes through Python once, so that the functions of the
reader of records make the values.
"""
# ruff: noqa: S608 - what is put into these texts are numbers, and literals made by `_literal`

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
from pydantic_core import to_json

from bfsql.loading import KEPT, RefusalFilter
from bfsql.models.json_values import encode, is_text
from bfsql.models.records import NodeRecord, Refusal
from bfsql.sources.fields import Unusable
from bfsql.sources.headers import EdgeColumns, NodeColumns
from bfsql.sources.open import Source
from bfsql_sqlite.bulk_graph import EdgeTable, NodeTable
from bfsql_sqlite.csv_normalise import NeedsRecordReader, NormalisedCsv
from bfsql_sqlite.duckdb_tables import BATCH

_LONGEST_LINE = 1 << 24
"""Bytes."""


class BulkTable:
    """The copy of a table, as DuckDB sees it.

    Attributes:
        name: Name of its table in DuckDB, with which the names of its other tables begin.
        rows: Name of the view of its records: `id`, `r` and all cells for nodes, otherwise `s`,
            `p`, `o` and `metadata`.
        columns: The meaning of its columns.
        nodes: The table itself if it holds nodes.
        edges: The table itself if it holds edges.
        predicates: Name of the table of their predicates.
        has_metadata: Whether edges may have metadata.
        keys: The columns of metadata of an edge table, by their place.
        refused: Lines that make no record.
        headers: Lines that repeat the header.
    """

    def __init__(
        self, name: str, copy: NormalisedCsv, connection: duckdb.DuckDBPyConnection
    ) -> None:
        self.name = name
        self.rows = f"{name}_rows"
        self.predicates = f"{name}_predicate"
        self.columns = copy.table.columns
        self.width = len(copy.table.head.columns)
        self._maker = copy.table.maker()
        self.refused = copy.refused
        self.refusals = copy.refusals
        self.headers: list[int] = []
        self.count = 0
        self._copy = copy
        self._connection = connection
        self.keys: dict[int, tuple[str, Callable[[str], Any]]] = {}
        if isinstance(self.columns, EdgeColumns):
            converts = enumerate(copy.table.converts)
            self.keys = {at: (key, make) for at, (key, make) in converts if key is not None}
        self.has_metadata = bool(self.keys)
        is_nodes = isinstance(self.columns, NodeColumns)
        self.nodes: NodeTable | None = self if is_nodes else None
        self.edges: EdgeTable | None = None if is_nodes else self

    def padded(self, width: int) -> str:
        """The cells as this number of columns."""
        have = [f"c{at}" for at in range(self.width)]
        return ", ".join(have + ["NULL"] * (width - self.width))

    def record(self, cells: Sequence[str]) -> NodeRecord:
        """The record of a row of nodes."""
        record = self._maker(cells)
        assert isinstance(record, NodeRecord)
        return record

    def described(self, cells: Sequence[str]) -> tuple[str, str]:
        """The type, empty where the row has none, and the metadata as JSON text."""
        record = self.record(cells)
        return record.entity_type, to_json(record.metadata).decode()

    def read(self) -> None:
        """Make the view, and find the rows that make no record.

        Raises:
            NeedsRecordReader: The metadata of edges can only be merged record by record.
        """
        run, columns = self._connection.execute, self.columns
        # This null text occurs in no cell.
        texts = (text for text in columns.null_texts if is_text(text) and "\0" not in text)
        nulls = ", ".join(map(_literal, sorted(texts)))
        place = self._copy.table.place
        needed = (
            (columns.subject, columns.object) if isinstance(columns, EdgeColumns) else (columns.id,)
        )
        refused = " OR ".join(f"c{place(column)} IN ({nulls})" for column in needed)
        odd = f"({self._is_header()}) OR {refused}"
        source = self._source()
        if isinstance(columns, NodeColumns):
            # The number of a row is its place in a table; in a view it would cost another pass.
            run(f"CREATE TABLE {self.name} AS SELECT * FROM {source}")
            self._copy.path.unlink()
            source = f"(SELECT rowid AS r, * FROM {self.name})"
            id_ = f"{_literal(columns.group)} || c{place(columns.id)}"
            run(f"CREATE VIEW {self.rows} AS SELECT {id_} AS id, * FROM {source} WHERE NOT ({odd})")
            found = self._number(f"SELECT count(*) FROM {source} WHERE {odd}")
            numbered = source
        else:
            predicate = _literal(columns.default_predicate)
            if columns.predicate is not None:
                given = f"c{place(columns.predicate)}"
                predicate = f"CASE WHEN {given} IN ({nulls}) THEN {predicate} ELSE {given} END"
            run(
                f"CREATE TABLE {self.predicates} AS SELECT {predicate} AS name, "
                f"count(*) FILTER (WHERE {odd}) AS odd, count(*) AS everything "
                f"FROM {source} GROUP BY ALL"
            )
            found = self._number(f"SELECT coalesce(sum(odd), 0) FROM {self.predicates}")
            run(f"DELETE FROM {self.predicates} WHERE odd = everything")
            joins, metadata = self._metadata()
            run(
                f"CREATE VIEW {self.rows} AS SELECT "
                f"{_literal(columns.subject_group)} || c{place(columns.subject)} AS s, "
                f"{predicate} AS p, "
                f"{_literal(columns.object_group)} || c{place(columns.object)} AS o, "
                f"{metadata} AS metadata FROM {source} {joins} WHERE NOT ({odd})"
            )
            numbered = f"(SELECT row_number() OVER () - 1 AS r, * FROM {source})"
        self.count = self._copy.rows - found
        if found:
            self._refuse(numbered, odd)

    def _source(self) -> str:
        return read_csv(self._copy.path, self.width, self._copy.table.head.dialect.separator)

    def _is_header(self) -> str:
        header = self._copy.header
        if header is None:
            return "false"
        return " AND ".join(f"c{at} = {_literal(cell)}" for at, cell in enumerate(header))

    def _refuse(self, numbered: str, odd: str) -> None:
        """Note the rows that make no record."""
        have = ", ".join(f"c{at}" for at in range(self.width))
        rows = self._connection.execute(f"SELECT r, {have} FROM {numbered} WHERE {odd} ORDER BY r")
        refusals: list[Refusal] = []
        while batch := rows.fetchmany(BATCH):
            for row, *cells in batch:
                line = self._copy.line_of(row)
                if cells == self._copy.header:
                    self.headers.append(line)
                    continue
                self.refused += 1
                try:
                    self._maker(cells)
                except Unusable as reason:
                    refusals.append(Refusal(self._copy.table.path, line, str(reason)))
                    refusals = refusals[:KEPT]
        self.refusals = sorted([*self.refusals, *refusals], key=lambda refusal: refusal.line or 0)

    def _metadata(self) -> tuple[str, str]:
        """Joins, and the expression for the fields of a row's JSON metadata object."""
        keys = [key for key, _ in self.keys.values()]
        if len(set(keys)) < len(keys):
            raise NeedsRecordReader("several of its columns are the same key of metadata")
        if not keys:
            return "", "''"
        joins, fields = [], []
        for at, (key, make) in self.keys.items():
            cells = f"{self.name}_cell_{at}"
            self._convert(at, key, make, cells)
            joins.append(f"LEFT JOIN {cells} ON {cells}.cell = c{at}")
            fields.append(f"{cells}.field")
        return " ".join(joins), f"concat_ws(',', {', '.join(fields)})"

    def _convert(self, at: int, key: str, make: Callable[[str], Any], cells: str) -> None:
        """Make a table of the JSON field for every distinct cell of a column."""
        path = self._copy.path.with_name(f"{cells}.csv")
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
            f"CREATE TABLE {cells} AS SELECT c0 AS cell, c1 AS field FROM {read_csv(path, 2, ',')}"
        )
        path.unlink()

    def _number(self, query: str) -> int:
        found = self._connection.execute(query).fetchone()
        assert found is not None
        return int(found[0])

    def tell(self, source: Source, records: RefusalFilter) -> None:
        """Enter the refusals in the account, as the reader of records does."""
        table, account = self._copy.table, source.account
        for line in self.headers:
            table.tell_header(line)
        table.tell_short(self._copy.short)
        if isinstance(self.columns, NodeColumns):
            account.nodes += self.count
        else:
            account.edges += self.count
        account.refused += self.refused
        records.add_refusals(self.refusals, self.refused)


def read_csv(path: Path, width: int, separator: str) -> str:
    """The SQL expression that reads a plain copy, with all cells as text.

    Args:
        path: Path of the copy, never taken as a pattern.
        width: Number of columns.
        separator: The character between cells.
    """
    names = [f"c{at}" for at in range(width)]
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in names)
    # These characters form patterns in a path unless each is in brackets.
    exact = re.sub(r"[\[*?]", r"[\g<0>]", str(path))
    return (
        f"read_csv({_literal(exact)}, columns = {{{columns}}}, force_not_null = {names}, "
        f"delim = {_literal(separator)}, quote = '\"', escape = '\"', new_line = '\\n', "
        "header = false, auto_detect = false, strict_mode = true, hive_partitioning = false, "
        f"compression = 'none', max_line_size = {_LONGEST_LINE})"
    )


def _literal(text: str) -> str:
    """A text as an SQL literal.

    Raises:
        NeedsRecordReader: SQL cannot express it.
    """
    if "\0" in text or not is_text(text):
        raise NeedsRecordReader("its header contains characters that are no text")
    return "'" + text.replace("'", "''") + "'"


def quoted(cell: str) -> str:
    """A cell in quotes."""
    return '"' + cell.replace('"', '""') + '"'
