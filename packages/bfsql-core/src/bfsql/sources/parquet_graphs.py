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
from typing import Any

from bfsql.errors import SourceError
from bfsql.models.load import ColumnAccount, SourceAccount
from bfsql.models.records import EvidenceRecord, GraphStream, NodeRecord, Triple
from bfsql.sources.fields import records
from bfsql.sources.headers import Columns, Row, columns_of
from bfsql.sources.options import SourceOptions
from bfsql.sources.parquet import ParquetTable
from bfsql.sources.tables import ObjectTable

_REQUIRED = ("entities", "relationships")
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
    part = None if options.format is not None else _part(table.names)
    if part in _REQUIRED:
        account.note(f"read as the {part} of GraphRAG")
        return _Reading(options, account).records(part, table)
    if part is not None:
        raise SourceError(
            path,
            f"this is GraphRAG's table of {part}, which has no nodes or edges; name its folder, "
            "or use --format parquet to read it as an ordinary table",
        )
    columns = columns_of(path, table.names, options)
    return ObjectTable(path, columns, lambda: _rows(table), _RecordMaker(columns, account).record)


def open_graphrag(folder: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The nodes, edges and evidence of a GraphRAG output folder.

    Raises:
        SourceError: The library for Parquet is not installed; a table is missing, or damaged.
    """
    tables = {}
    for part in (*_REQUIRED, *_OPTIONAL):
        files = (folder / f"{part}.parquet", folder / f"{_OLD}{part}.parquet")
        path = next((file for file in files if file.is_file()), None)
        if path is not None:
            tables[part] = ParquetTable(path, account)
        elif part in _REQUIRED:
            raise SourceError(folder, f"there is no {part}.parquet in this output of GraphRAG")
    account.note(f"the tables are {', '.join(t.path.name for t in tables.values())}")
    return _Reading(options, account).folder(tables)


def _part(names: Sequence[str]) -> str | None:
    have = set(names)
    return next(
        (part for part, (there, absent) in _PARTS.items() if there <= have and not absent & have),
        None,
    )


def _rows(table: ParquetTable) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows, each with its place."""
    return ((f"row {number}", row) for number, row in enumerate(table.rows(), 1))


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
        nodes = part == "entities"
        columns = self._entity_columns(table) if nodes else self._relationship_columns(table)
        prefix = f"{part}." if self._account.format == "graphrag" else ""
        maker = _RecordMaker(columns, self._account, prefix)
        if nodes:
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
            yield from self._passages(units, self._titles(tables.get("documents")))

    def _entity_columns(self, table: ParquetTable) -> Columns:
        title = "title" if "title" in table.names else "name"
        named = replace(
            self._options,
            id_column=self._options.id_column or title,
            name_column=self._options.name_column or title,
            subject_column=None,
            object_column=None,
        )
        return columns_of(table.path, table.names, named)

    def _relationship_columns(self, table: ParquetTable) -> Columns:
        return columns_of(table.path, table.names, replace(self._options, id_column=None))

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
        triple = (record.subject, record.predicate, record.object)
        item: dict[str, Any] = {}
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
        self._columns = columns
        account.empty_texts.append(columns.empty_texts)
        self._account = account
        self._table = table
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
