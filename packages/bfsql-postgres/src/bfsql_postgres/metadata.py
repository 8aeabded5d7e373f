"""Metadata of nodes and edges, from rows."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bfsql.models.merge import evidence_items, merge_edges, merge_node_records, with_evidence
from bfsql.models.records import Metadata, NodeRecord, Triple
from bfsql_postgres.connection import Pool
from bfsql_postgres.queries import OWN, Columns, EdgeRows, NodeRows, Provenance
from bfsql_postgres.schema import Layout
from bfsql_postgres.sql import Fetched, decode, lift

Item = dict[str, Any]
NodeRow = tuple[int, str, Item]
"""Number of the table, type, metadata."""
Reader = Callable[[Sequence[Any]], list[Item]]
"""Makes metadata of rows of one table, at least one."""

SENTENCE = "sentence"
"""Where the pipeline's own passages have their text."""


class Details:
    """Asks for metadata, and puts together what the tables say of one thing.

    Args:
        pool: Where statements run.
        layout: Where the graph is.
    """

    def __init__(self, pool: Pool, layout: Layout) -> None:
        self._pool = pool
        self._nodes, self._edges = NodeRows(layout), EdgeRows(layout)
        self._node_readers = readers(self._nodes.fields, 3)
        self._edge_readers = readers(self._edges.fields, 2)
        self._edge_tables = len(layout.edges)

    async def of_nodes(self, ids: Sequence[str], values: Sequence[Any]) -> dict[str, Metadata]:
        """Metadata by id.

        Args:
            ids: What is asked for.
            values: The same as they are sent.
        """
        rows = await self._pool.fetch(self._nodes.statement, values)
        told = metadata_of(rows, 1, self._node_readers)
        positions = [row[0] for row in rows]
        if len(set(positions)) == len(rows):
            return {ids[p - 1]: metadata for p, metadata in zip(positions, told, strict=True)}
        several: dict[int, list[NodeRow]] = defaultdict(list)
        for row, metadata in zip(rows, told, strict=True):
            several[row[0]].append((row[1], row[2] or "", metadata))
        return {
            ids[position - 1]: _merged_node(ids[position - 1], described)
            for position, described in several.items()
        }

    async def of_edges(
        self, edges: Sequence[Triple], values: Sequence[Any]
    ) -> dict[Triple, Metadata]:
        """Metadata by triple.

        Args:
            edges: What is asked for.
            values: Their subjects, predicates and objects as they are sent.
        """
        fetched = await self._pool.fetch(self._edges.statement, *values)
        tables = self._edge_tables
        rows: dict[int, list[Item]] = defaultdict(list)
        items: dict[int, list[Item]] = defaultdict(list)
        for row, told in zip(fetched, metadata_of(fetched, 1, self._edge_readers), strict=True):
            (rows if row[1] < tables else items)[row[0]].append(told)
        return {
            edges[position - 1]: edge(described, items.get(position, ()))
            for position, described in rows.items()
        }


# --- rows -------------------------------------------------------------------


def readers(fields: Columns, start: int) -> list[Reader]:
    """For each table of a union, what makes metadata of its rows.

    Args:
        fields: What is fetched from each table.
        start: Number of columns before the first field.
    """
    found = []
    for own in fields:
        found.append(_reader(own, slice(start, start + len(own))))
        start += len(own)
    return found


def metadata_of(rows: Sequence[Any], at: int, told: Sequence[Reader]) -> list[Item]:
    """Metadata of each row of a union; empty for rows of no table.

    Args:
        rows: In any order.
        at: Which of their columns is the number of their table.
        told: The readers of the tables.
    """
    tables: set[int] = {row[at] for row in rows}
    if len(tables) == 1 and min(tables) >= 0:
        return told[min(tables)](rows)
    found: list[Item] = [{} for _ in rows]
    for table in tables:
        if table >= 0:
            places = [place for place, row in enumerate(rows) if row[at] == table]
            read = told[table]([rows[place] for place in places])
            for place, metadata in zip(places, read, strict=True):
                found[place] = metadata
    return found


def _reader(fields: Sequence[Fetched], place: slice) -> Reader:
    own = [one for one in fields if one.role == "own"]
    assert list(fields[: len(own)]) == own, "a row's own values come first"
    weak, lifted = (
        [(number, one.key) for number, one in enumerate(fields) if one.role == role]
        for role in ("weak", "lifted")
    )

    def read(rows: Sequence[Any]) -> list[Item]:
        # Column by column: one that is empty, as many are, then costs nothing for a row.
        columns = list(zip(*rows, strict=True))[place]
        told = _told(own, columns, len(rows))
        for number, key in lifted:
            for metadata, text in zip(told, columns[number], strict=True):
                if text is not None:
                    lift(metadata, text, key)
        for number, key in weak:
            for metadata, value in zip(told, columns[number], strict=True):
                if value is not None:
                    metadata.setdefault(key, value)
        return told

    return read


def _told(fields: Sequence[Fetched], columns: Sequence[Sequence[Any]], count: int) -> list[Item]:
    """The rows' own values, by their keys."""
    keys: list[str] = []
    filled: list[Sequence[Any]] = []
    for one, values in zip(fields, columns, strict=False):
        if values.count(None) < count:
            keys.append(one.key)
            convert = one.convert
            filled.append(
                [None if value is None else convert(value) for value in values]
                if convert
                else values
            )
    if not keys:
        return [{} for _ in range(count)]
    return [
        {key: value for key, value in zip(keys, values, strict=True) if value is not None}
        for values in zip(*filled, strict=True)
    ]


# --- what belongs together ---------------------------------------------------


def edge(rows: Sequence[Item], items: Sequence[Item]) -> Item:
    """Metadata of one edge: its rows merged, the passages from everywhere in one list."""
    if len(rows) == 1 and not items and "provenance" not in rows[0]:
        return rows[0]
    passages = list(items)
    for row in rows:
        if "provenance" in row:
            passages += own_passages(row)
    merged = merge_edges(rows) if len(rows) > 1 else rows[0]
    have = merged.get("provenance")
    if have is None and len(passages) == 1:
        return {**merged, "provenance": passages}
    return with_evidence(merged, passages) if passages or have is not None else merged


def own_passages(row: Item) -> Iterator[Item]:
    """Take the pipeline's own passages out of a row's `provenance`, in the words of an item."""
    listed = row["provenance"]
    if not isinstance(listed, list) or not any(map(_is_passage, listed)):
        return
    documents = row.get("source_documents")
    only = documents[0] if isinstance(documents, list) and len(documents) == 1 else None
    del row["provenance"]
    if others := [item for item in listed if not _is_passage(item)]:
        row["provenance"] = others
    for passage in listed:
        if _is_passage(passage):
            rest = {key: value for key, value in passage.items() if value is not None}
            item = {"document_id": only, "text_span": rest.pop(SENTENCE, None), **rest}
            yield {
                key: value
                for key, value in item.items()
                if value is not None and not (key == "citation_markers" and not value)
            }


def _is_passage(item: Any) -> bool:
    return isinstance(item, Mapping) and SENTENCE in item and "text_span" not in item


def _merged_node(entity_id: str, rows: list[NodeRow]) -> Item:
    """One node from its rows, the first table's first."""
    rows.sort(key=lambda row: (row[0], row[1], repr(row[2])))
    records = [NodeRecord(entity_id, kind, metadata) for _, kind, metadata in rows]
    return merge_node_records(records)[1]


def as_json(text: str | None) -> Any:
    """What a JSON text says; None for none."""
    return None if text is None else decode(text)


@dataclass(slots=True)
class _Edge:
    touching: bool
    rows: list[Item] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)


class Passages:
    """Asks for evidence, and counts all of it.

    Args:
        pool: Where statements run.
        layout: Where the graph is.
    """

    def __init__(self, pool: Pool, layout: Layout) -> None:
        self._pool = pool
        self._query = Provenance(layout)
        self._readers = readers(self._query.fields, 7)

    async def of_node(self, entity_id: str, value: Any, limit: int) -> dict[str, Any]:
        """What `provenance_for_node` answers.

        Args:
            entity_id: An entity.
            value: The same as it is sent.
            limit: Items to give at the most.
        """
        if self._query.statement is None:
            return {"total": 0, "items": []}
        found: dict[Triple, _Edge] = {}
        rows = await self._pool.fetch(self._query.statement, value, entity_id, _patterns(entity_id))
        for row, told in zip(rows, metadata_of(rows, 4, self._readers), strict=True):
            subject, predicate, obj, touching, number, text, documents = row[:7]
            one = found.setdefault((subject, predicate, obj), _Edge(touching))
            if number >= 0:
                one.items.append(told)
            else:
                one.rows.append(_row(as_json(text), number == OWN, documents))
        items = [
            item
            for triple in sorted(found)
            for item in evidence_items(triple, edge(found[triple].rows, found[triple].items))
            if found[triple].touching or item["document_id"] == entity_id
        ]
        return {"total": len(items), "items": items[:limit]}


def _row(said: Any, own: bool, documents: str | None) -> Item:  # noqa: FBT001
    """What of an edge's row matters for its evidence."""
    provenance = said if own else said.get("provenance") if isinstance(said, Mapping) else None
    row = {} if provenance is None else {"provenance": provenance}
    listed = as_json(documents)
    return row if listed is None else {**row, "source_documents": listed}


def _patterns(entity_id: str) -> list[str]:
    """JSON text that names the entity, as patterns."""
    spellings = {json.dumps(entity_id, ensure_ascii=False), json.dumps(entity_id)}
    escaped = (re.sub(r"([\\%_])", r"\\\1", spelling) for spelling in spellings)
    return sorted(f"%{spelling}%" for spelling in escaped)
