"""Graphs in Parquet: tables of nodes or of edges, and the output of Microsoft GraphRAG.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bfsql.errors import SourceError
from bfsql.models.load import ColumnAccount, SourceAccount
from bfsql.models.records import EvidenceRecord, GraphStream, NodeRecord, Refusal, Triple
from bfsql.sources.fields import Unusable
from bfsql.sources.formats import SourceOptions
from bfsql.sources.headers import EdgeColumns, NodeColumns, columns_of
from bfsql.sources.parquet import ParquetTable

_WANTED = ("entities", "relationships")
_OPTIONAL = ("text_units", "documents")
_OLD = "create_final_"

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

Row = dict[str, Any]


class ParquetGraph(NamedTuple):
    """The table in a Parquet file, and its records."""

    path: Path
    columns: NodeColumns | EdgeColumns
    """The meaning of the columns."""
    table: ParquetTable
    account: SourceAccount

    def records(self) -> GraphStream:
        """The records, and refusals of rows that cannot be used."""
        told, columns = _RecordMaker(self.account), self.columns
        return _rows(self.table, lambda row: [told.record(columns, row)])

    def rows(self) -> Iterator[Row]:
        """The values of every row, by column."""
        return self.table.rows()


def open_parquet(
    path: Path, options: SourceOptions, account: SourceAccount
) -> ParquetGraph | GraphStream:
    """The nodes or the edges of a Parquet table.

    If the options name the format, a table of GraphRAG is read like any other.

    Raises:
        SourceError: The library for Parquet is not installed; the file is not Parquet, lacks a
            required column, or is a GraphRAG table without nodes or edges.
    """
    table = ParquetTable(path, account)
    part = None if options.format is not None else _part(table.names)
    if part in _WANTED:
        account.note(f"read as the {part} of GraphRAG")
        return _Reading(options, account).records(part, table)
    if part is not None:
        raise SourceError(
            path,
            f"this is GraphRAG's table of {part}, which has no nodes or edges; name its folder, "
            "or use --format parquet to read it as an ordinary table",
        )
    return ParquetGraph(path, columns_of(path, table.names, options), table, account)


def open_graphrag(folder: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The nodes, edges and evidence of a GraphRAG output folder.

    Raises:
        SourceError: The library for Parquet is not installed; a table is missing, or damaged.
    """
    tables = {}
    for part in (*_WANTED, *_OPTIONAL):
        files = (folder / f"{part}.parquet", folder / f"{_OLD}{part}.parquet")
        path = next((file for file in files if file.is_file()), None)
        if path is not None:
            tables[part] = ParquetTable(path, account)
        elif part in _WANTED:
            raise SourceError(folder, f"there is no {part}.parquet in this output of GraphRAG")
    account.note(f"the tables are {', '.join(t.path.name for t in tables.values())}")
    return _Reading(options, account).folder(tables)


def _part(names: Sequence[str]) -> str | None:
    have = set(names)
    return next(
        (part for part, (there, absent) in _PARTS.items() if there <= have and not absent & have),
        None,
    )


def _rows(table: ParquetTable, make: Any) -> GraphStream:
    for number, row in enumerate(table.rows(), 1):
        try:
            yield from make(row)
        except Unusable as reason:
            yield Refusal(table.path, None, f"row {number}: {reason}")


class _Reading:
    """Creates records from GraphRAG's tables."""

    def __init__(self, options: SourceOptions, account: SourceAccount) -> None:
        self._options = options
        self._account = account
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
        told = _RecordMaker(self._account, f"{part}." if self._account.format == "graphrag" else "")
        if part == "entities":
            columns = self._entity_columns(table)
            return _rows(table, lambda row: [self._entity(row, columns, told)])
        edges = columns_of(table.path, table.names, replace(self._options, id_column=None))
        return _rows(table, lambda row: self._relationship(row, edges, told, units=units))

    def folder(self, tables: Mapping[str, ParquetTable]) -> GraphStream:
        """The records of all tables."""
        units = tables.get("text_units")
        yield from self.records("entities", tables["entities"])
        yield from self.records("relationships", tables["relationships"], units=units is not None)
        if units is not None:
            yield from self._passages(units, self._titles(tables.get("documents")))

    def _entity_columns(self, table: ParquetTable) -> NodeColumns | EdgeColumns:
        title = "title" if "title" in table.names else "name"
        named = replace(
            self._options,
            id_column=self._options.id_column or title,
            name_column=self._options.name_column or title,
            subject_column=None,
            object_column=None,
        )
        return columns_of(table.path, table.names, named)

    def _entity(self, row: Row, columns: NodeColumns | EdgeColumns, told: _RecordMaker) -> Any:
        written = dict(row)
        units = _items(row.pop(_UNITS, None))
        frequency = row.pop("frequency", None)
        mentions = len(units) if frequency is None else frequency
        record = told.record(columns, _without(row), written)
        told.note(written, "frequency" if frequency is not None else _UNITS, "metadata")
        if mentions:
            record.metadata["total_mentions"] = mentions
        return record

    def _relationship(
        self, row: Row, columns: NodeColumns | EdgeColumns, told: _RecordMaker, *, units: bool
    ) -> Iterator[Any]:
        written = dict(row)
        ids = _items(row.pop(_UNITS, None))
        record = told.record(columns, _without(row), written)
        for column in ("description", _UNITS):
            told.note(written, column, "evidence")
        yield record
        if isinstance(record, NodeRecord):
            return
        triple = (record.subject, record.predicate, record.object)
        item: Row = {}
        if text := row.get("description"):
            item = {"section": "description", "text_span": text}
        if ids and not units:
            item["text_unit_ids"] = ids
        if item:
            yield EvidenceRecord(*triple, item)
        if ids and units:
            for id_ in ids:
                self._waiting.setdefault(id_, []).append(len(self._triples))
            self._triples.append(triple)

    def _titles(self, documents: ParquetTable | None) -> dict[str, str]:
        if documents is None:
            return {}
        rows = documents.rows(["id", "title"])
        return {str(row["id"]): row["title"] for row in rows if "id" in row and row.get("title")}

    def _passages(self, units: ParquetTable, titles: Mapping[str, str]) -> GraphStream:
        wanted = ("id", "text", "document_id", "document_ids")
        for row in units.rows(wanted):
            places = self._waiting.pop(str(row.get("id")), ())
            if not places:
                continue
            ids = _items(row.get("document_ids")) or _items([row.get("document_id")])
            documents = [titles.get(id_, id_) for id_ in ids]
            item: Row = {"text_unit_id": str(row["id"]), "text_span": row.get("text")}
            if len(documents) == 1:
                item["document_id"] = documents[0]
            elif documents:
                item["document_ids"] = documents
            for place in places:
                yield EvidenceRecord(*self._triples[place], dict(item))
        if self._waiting:
            missing = f"text units that are referred to but missing: {len(self._waiting):,}"
            self._account.note(missing)


class _RecordMaker:
    """Creates the records of one table, and enters its columns into the account.

    The name of the table precedes that of its columns if there are several tables.
    """

    def __init__(self, account: SourceAccount, table: str = "") -> None:
        self._account = account
        self._table = table
        self._columns: dict[str, ColumnAccount] = {}

    def record(
        self, columns: NodeColumns | EdgeColumns, row: Row, written: Row | None = None
    ) -> Any:
        """The record of a row; errors as with `NodeColumns.record`.

        Args:
            columns: The meaning of the columns.
            row: The relevant part of the row.
            written: The row as the file has it, if it has more.
        """
        record = columns.record(row)
        for column in written or row:
            if column not in self._columns:
                meaning = columns.meanings.get(column, "metadata" if column in row else "ignored")
                self.note(written or row, column, meaning)
        return record

    def note(self, row: Row, column: str, meaning: str) -> None:
        """Enter the meaning of a column, with its value as the example."""
        if column not in row:
            return
        told = self._columns.get(column)
        if told is None:
            told = self._account.add_column(self._table + column, meaning, row[column])
            self._columns[column] = told
        told.meaning = meaning


def _items(value: Any) -> list[str]:
    """The ids of a list, without missing ids and duplicates."""
    items = value if isinstance(value, list) else []
    return list(dict.fromkeys(str(item) for item in items if item is not None))


def _without(row: Row) -> Row:
    return {k: v for k, v in row.items() if k not in _LEFT_OUT and not k.endswith("_embedding")}
