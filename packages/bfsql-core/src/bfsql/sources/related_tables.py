"""The nodes and edges of tables that refer to each other, as their reading has it.

The id of a node is its table and its key, `orders:17`, so that equal keys of different tables stay
apart, and tables that are added later change no id. A CSV table is read like any other, so that a
store may read it in bulk; its references, and the nodes that they lack, come from a second pass.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from bfsql.errors import SourceError
from bfsql.models.json_values import iso_text, json_number
from bfsql.models.load import ColumnAccount, SourceAccount
from bfsql.models.records import EdgeRecord, GraphStream, NodeRecord
from bfsql.sources.fields import Unusable, iso_moment, value_of
from bfsql.sources.headerless import EDGE_LISTS
from bfsql.sources.headers import (
    Columns,
    EdgeColumns,
    NodeColumns,
    ObjectTable,
    columns_of,
    listed,
    neo4j_columns,
)
from bfsql.sources.keys import Reference, TableReading, counts_rows, read_keys
from bfsql.sources.options import EDGE_OPTIONS, NO_OPTIONS, NODE_OPTIONS, SourceOptions
from bfsql.sources.profiles import (
    MISSING,
    blocks_of,
    encoded,
    key_text,
    key_texts,
    parts_of,
    row_hash,
    text_of,
)
from bfsql.sources.reading_file import is_reading, read_reading
from bfsql.sources.registry import FORMATS, format_by_content, is_bundle, known_formats
from bfsql.sources.relational import (
    OPENERS,
    DelimitedTable,
    FileTables,
    RelationalTable,
    files_in,
    open_relational,
    opener_of,
)
from bfsql.sources.tables import AnyTable, Table

_COLUMN_OPTIONS = (
    *(*NODE_OPTIONS, *EDGE_OPTIONS, "subject_type", "object_type", "default_type", "of_files"),
    *("default_predicate", "edge_columns", "id_prefixes", "columns", "no_header", "format"),
)
"""Options by which the caller says what the tables are."""
_TABLES = frozenset(("csv", "tsv", "parquet"))
_DELIMITED, _PARQUET = OPENERS[0].suffixes, FORMATS["parquet"].suffixes
_NO_ID = re.compile(r"\d{4}-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|-?\d+\.\d")
"""Dates and decimals, which are no ends of edges, but columns may be named `start` and `end`."""

Row = tuple[Any, ...]


@dataclass(slots=True)
class Unknown:
    """The values of a reference that are the key of no row."""

    rows: int = 0
    values: dict[str, None] = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)
    """Texts that stand for no value, with their rows."""


class RelatedTables:
    """Tables that are read together.

    Args:
        readings: Their readings.
        nulls: Texts that count as empty.
        sources: The open files, which are closed with them.
    """

    def __init__(
        self,
        readings: Sequence[TableReading],
        nulls: Sequence[str],
        sources: Sequence[FileTables] = (),
    ) -> None:
        self.readings = readings
        self._sources = sources
        self._nulls = frozenset(("", *nulls))
        self._by_name = {one.name: one for one in readings}
        self._known: dict[str, set[int]] = {}
        self._none: dict[tuple[str, ...], frozenset[str]] = {}
        self._made: set[str] = set()

    def close(self) -> None:
        """Close their files."""
        for source in self._sources:
            source.close()

    def table(self, reading: TableReading, account: SourceAccount) -> AnyTable:
        """The table of nodes or of edges, and its columns in the account."""
        table, columns = reading.table, self._columns(reading)
        account.notes += table.notes
        refer = {column for one in reading.references for column in one.columns}
        names = [one.name for one in table.columns if one.name not in refer - {*columns.meanings}]
        if isinstance(table, DelimitedTable):
            account.separator, account.encoding = table.head.dialect.separator, table.head.encoding
            if columns.meanings.keys() <= {*table.head.columns}:
                return Table(table.path, table.head, names, columns, account)
        account.empty_texts.append(columns.empty_texts)
        for name in dict.fromkeys((*names, *columns.meanings)):
            account.columns.append(ColumnAccount(name, columns.meanings.get(name, "metadata")))
        items = partial(self._items, reading, names, columns, account)
        return ObjectTable(table.path, columns, items, columns.record)

    def _columns(self, reading: TableReading) -> Columns:
        if reading.kind == "edges":
            (subject, *_), (object_, *_) = (one.columns for one in reading.references)
            first, second = (prefix(one.to[0]) for one in reading.references)
            nulls = frozenset().union(*map(self._empty, reading.references))
            return EdgeColumns(
                *(subject, None, object_, reading.type, first, second), null_texts=nulls, skips=True
            )
        name, group = reading.name_column, prefix(reading.name)
        nulls = self._nulls.union(reading.table.footers)
        return NodeColumns(
            *(", ".join(reading.key), None, name, None, reading.type),
            group=group,
            null_texts=nulls,
            skips=True,
        )

    def _items(
        self, reading: TableReading, names: Sequence[str], columns: Columns, account: SourceAccount
    ) -> Iterator[tuple[int | str, dict[str, Any] | Unusable]]:
        """The rows as objects; with a made id, those that are equal to an earlier one only once."""
        places = [*zip(names, reading.places(names), strict=True)]
        convert = value_of if isinstance(reading.table, DelimitedTable) else _value
        for number, id_, row in self._identified(reading, account):
            if isinstance(row, Unusable):
                yield number, row
                continue
            item = {name: convert(row[at]) for name, at in places if row[at] not in (None, "")}
            ids = {name: text_of(row[at]) for name, at in places if name in columns.meanings}
            ids |= {columns.id: id_} if isinstance(columns, NodeColumns) else {}
            yield number, item | ids

    def _identified(
        self, reading: TableReading, account: SourceAccount | None = None
    ) -> Iterator[tuple[int | str, str, Row | Any]]:
        """The rows with their places and keys; without keys, their numbers."""
        table, places = reading.table, reading.places(reading.key)
        rows = table.lines() if isinstance(table, DelimitedTable) else enumerate(table.rows(), 1)
        makes = reading.kind == "nodes" and not places
        seen, number, equal = set[int](), 0, 0
        for place, row in rows:
            if isinstance(row, Unusable):
                yield place, "", row
                continue
            number += 1
            if makes:
                if (hashed := row_hash(row)) in seen:
                    equal += 1
                    continue
                seen.add(hashed)
            at = place if isinstance(table, DelimitedTable) else f"row {place}"
            yield at, str(number) if makes else key_text(row, places) if places else "", row
        if account is None:
            return
        for text in table.footers:
            account.note(f"left out below the rows: {text}")
        if equal:
            are = "1 row is" if equal == 1 else f"{equal:,} rows are"
            account.note(f"{are} equal to an earlier one, and left out")

    # --- references -----------------------------------------------------------------

    def references(self, reading: TableReading, account: SourceAccount) -> GraphStream:
        """The edges of the references of a table of nodes; and nodes for what no row describes."""
        if reading.kind == "edges" and all(one.is_complete for one in reading.references):
            return
        own = prefix(reading.name)
        places = [reading.places(one.columns) for one in reading.references]
        unknown = [Unknown() for _ in places]
        targets: list[dict[str, list[tuple[str, bool]]]] = [{} for _ in places]
        rows, keys = self._keyed(reading)
        for block in blocks_of(rows):
            ids = key_texts(block, keys) if keys else []
            for one, at, lacks, known in zip(
                reading.references, places, unknown, targets, strict=True
            ):
                texts = key_texts(block, at)
                if len(known) > 200_000:
                    known.clear()
                known |= {text: self._targets(one, text) for text in {*texts} - known.keys()}
                for node in self._new(one, Counter(texts), known, lacks):
                    account.nodes += 1
                    yield node
                if reading.kind == "edges":
                    lacks.missing.clear()  # the rows without an end are counted
                    continue
                for id_, text in zip(ids, texts, strict=True):
                    for target, _ in known[text] if id_ not in self._nulls else ():
                        account.edges += 1
                        yield EdgeRecord(own + id_, one.predicate, target, {})
        for one, lacks in zip(reading.references, unknown, strict=True):
            self._note(one, lacks, account)

    def _keyed(self, reading: TableReading) -> tuple[Iterator[Row], list[int]]:
        """The rows, and the places of their keys; a made key is the last cell."""
        if reading.key or reading.kind == "edges":
            return reading.table.rows(), reading.places(reading.key)
        made = self._identified(reading)
        return ((*row, id_) for _, id_, row in made if isinstance(row, tuple)), [-1]

    def _targets(self, one: Reference, cell: str) -> list[tuple[str, bool]]:
        """The ids that a cell refers to, and whether no row has them."""
        if (known := self._id_of(one, cell)) is not None:
            return [(known, False)]
        empty, first = self._empty(one), prefix(one.to[0])
        parts = parts_of(cell) if one.several and cell not in empty else [cell]
        found = dict.fromkeys((self._id_of(one, part), part) for part in parts if part not in empty)
        return [(id_ or first + part, id_ is None) for id_, part in found]

    def _id_of(self, one: Reference, text: str) -> str | None:
        hashed = hash(text)
        for to in one.to:
            if hashed in self._keys(to):
                return f"{prefix(to)}{text}"
        return None

    def _keys(self, name: str) -> set[int]:
        if name not in self._known:
            self._known[name] = set(self._by_name[name].keys.tolist())
        return self._known[name]

    def _empty(self, one: Reference) -> frozenset[str]:
        """The texts that are no value of a reference."""
        if one.to not in self._none:
            missing = (text for text in MISSING if self._id_of(one, text) is None)
            self._none[one.to] = self._nulls.union(missing)
        return self._none[one.to]

    def _new(
        self,
        one: Reference,
        cells: Counter[str],
        targets: Mapping[str, list[tuple[str, bool]]],
        unknown: Unknown,
    ) -> Iterator[NodeRecord]:
        """The nodes that references name first, with the type of the column's other targets."""
        type_, start = self._by_name[one.to[0]].type, len(prefix(one.to[0]))
        for cell, count in cells.items():
            lacking = [id_ for id_, is_new in targets[cell] if is_new]
            unknown.rows += count if lacking else 0
            if cell and not targets[cell]:
                unknown.missing[cell] += count
            for id_ in lacking:
                unknown.values[id_[start:]] = None
                if id_ not in self._made:
                    self._made.add(id_)
                    yield NodeRecord(id_, type_, {"name": id_[start:]})

    def _note(self, one: Reference, unknown: Unknown, account: SourceAccount) -> None:
        if unknown.missing:
            found = ", ".join(f"{text} {n:,}" for text, n in unknown.missing.most_common(5))
            account.note(f"{', '.join(one.columns)}: read as missing: {found}")
        if not unknown.rows:
            return
        number, values = unknown.rows, [*unknown.values]
        rows = "1 row refers" if number == 1 else f"{number:,} rows refer"
        made = "it became a node" if len(values) == 1 else f"these {len(values):,} became nodes"
        account.note(
            f"{', '.join(one.columns)}: {rows} to no key of {' or '.join(one.to)}, for instance "
            f"{', '.join(values[:5])}; {made} of the type {self._by_name[one.to[0]].type}"
        )


def prefix(table: str) -> str:
    """The beginning of the ids of a table."""
    return f"{encoded(table)}:"


def _value(value: Any) -> Any:
    if isinstance(value, str | Decimal):
        return iso_moment(value) if isinstance(value, str) else json_number(value)
    return iso_text(value) if isinstance(value, dt.date | dt.time | dt.timedelta) else value


# --- which tables are read by their keys ----------------------------------------------


def related_tables(paths: Sequence[Path], options: SourceOptions) -> RelatedTables | None:
    """The tables at some paths, if they are to be read by their keys.

    They are not if options say what their columns are, or if they have a form of their own, such
    as edge lists or a bundle; nor is a single table whose columns have usual names.

    Raises:
        SourceError: One of the files cannot be read.
    """
    file = read_reading(paths[0]) if len(paths) == 1 and is_reading(paths[0]) else None
    if file is not None:
        paths, options = file.sources, file.options(options)
    elif any(getattr(options, one) != getattr(NO_OPTIONS, one) for one in _COLUMN_OPTIONS):
        return None
    files, others = _table_files(paths)
    opened = {file: open_relational(file, options) for file in files}
    sources = [one for one in opened.values() if one is not None]
    others += [file for file, one in opened.items() if one is None]
    tables = [table for source in sources for table in source.tables]
    if file is not None:
        others = [one for one in others if one not in (file.file, file.target)]
    if others and tables:
        tables[0].notes.append(f"not read from its folder: {listed([one.name for one in others])}")
    if file is not None:
        if not tables:
            missing = ", ".join(map(str, file.sources))
            raise SourceError(file.file, f"its sources have no tables, or are not there: {missing}")
        return RelatedTables(file.readings(tables, options), options.null_texts, sources)
    if not tables or _has_own_form(tables, options):
        return None
    readings = read_keys(tables, options.null_texts)
    says_more = any(one.references or one.candidates for one in readings)
    given = {*paths, *(one.parent for one in paths if not one.is_dir())}
    says_more |= any(one.path.parent not in given for one in tables)  # of a folder in a folder
    if paths[0].is_dir() and not says_more:  # equal ids of other rows
        says_more = sum(map(counts_rows, readings)) > 1
    says_more |= len(tables) == 1 and readings[0].key_reason.startswith("name")
    if not says_more and {one.path.suffix.lower() for one in tables} <= {*_DELIMITED, *_PARQUET}:
        return None  # the usual names of columns decide, and an error proposes options
    return RelatedTables(readings, options.null_texts, sources)


def _table_files(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The files with tables at some paths, none if there are graphs among them; and the others."""
    files, others, graphs = dict[Path, Path](), list[Path](), set[str]()
    for name, one in known_formats().items():
        graphs |= {*one.suffixes} if name not in _TABLES else set()
    for path in paths:
        if not (path.is_file() or path.is_dir()) or (path.is_dir() and is_bundle(path)):
            return [], []
        for file in files_in(path) if path.is_dir() else [path]:
            ends = {end.lower() for end in file.suffixes}
            if not ends & graphs and opener_of(file) is not None and _is_table(file):
                files.setdefault(file.resolve(), file)
            elif file == path or ends & (graphs - {".json"}) or not _is_table(file):
                return [], []
            else:
                others.append(file)
    return [*files.values()], others


def _is_table(file: Path) -> bool:
    """Whether the content of a file is not that of a graph, although it is named like a table."""
    return file.suffix.lower() not in _DELIMITED or format_by_content(file, "csv") == "csv"


def _has_own_form(tables: Sequence[RelationalTable], options: SourceOptions) -> bool:
    """Whether tables, without their keys, are already nodes and edges, or a single one nodes."""
    heads = [table.head for table in tables if isinstance(table, DelimitedTable)]
    if any(neo4j_columns(head.columns) for head in heads):
        return True
    if len(tables) == 1:
        return any(head.is_suspect for head in heads) or bool(_form(tables[0], options))
    forms = [_form(table, options, beside=True) for table in tables]
    return EdgeColumns in forms and None not in forms


def _form(
    table: RelationalTable, options: SourceOptions, *, beside: bool = False
) -> type[Columns] | None:
    """What a table is by the usual names of its columns, or by their number without a header.

    It is `beside` others if there are tables to whose rows its own may refer.
    """
    head = table.head if isinstance(table, DelimitedTable) else None
    if head is None and table.path.suffix.lower() not in _PARQUET:
        return None
    if head is not None and head.path != table.path:
        first = [row.get(head.columns[0]) for row in head.sample]
        is_list = len(head.columns) in EDGE_LISTS and not (beside and len({*first}) == len(first))
        return EdgeColumns if is_list else None
    names = [column.name.lstrip("@") for column in table.columns]  # graph databases have @from
    try:
        columns = columns_of(table.path, names, options)
    except SourceError:
        return None
    if beside and head is not None and isinstance(columns, EdgeColumns):
        ends = [
            row.get(end, "") for row in head.sample for end in (columns.subject, columns.object)
        ]
        if 2 * sum(_NO_ID.match(end) is not None for end in ends) > len(ends):
            return None
    return type(columns)
