"""Metadata of nodes and edges, from rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bfsql.models.evidence import with_evidence
from bfsql.models.merge import merge_edges, merge_node_records
from bfsql.models.records import Metadata, Triple
from bfsql.models.stream import NodeRecord
from bfsql_postgres.decoding import decode, lift
from bfsql_postgres.layout import Layout
from bfsql_postgres.pool import Pool
from bfsql_postgres.queries.columns import Fetched
from bfsql_postgres.queries.metadata import Columns, EdgeRows, ItemRows, NodeRows

Item = dict[str, Any]
NodeRow = tuple[int, str, Item]
"""Number of the table, type, metadata."""

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
        self._items = ItemRows(layout)
        self._node_readers = readers(self._nodes.fields, 3)
        self._edge_readers = readers(self._edges.fields, 2)
        self._item_readers = readers(self._items.fields, 2)

    async def of_nodes(self, ids: Sequence[str], values: Sequence[Any]) -> dict[str, Metadata]:
        """Metadata by id.

        Args:
            ids: What is asked for.
            values: The same as they are sent.
        """
        told = self._node_readers
        rows = await self._pool.fetch(self._nodes.statement, values)
        if len({row[0] for row in rows}) == len(rows):
            return {ids[row[0] - 1]: told[row[1]](row) for row in rows}
        several: dict[int, list[NodeRow]] = defaultdict(list)
        for row in rows:
            several[row[0]].append((row[1], row[2] or "", told[row[1]](row)))
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
        rows: dict[int, list[Item]] = defaultdict(list)
        for row in await self._pool.fetch(self._edges.statement, *values):
            rows[row[0]].append(self._edge_readers[row[1]](row))
        if not rows:
            return {}
        items: dict[int, list[Item]] = defaultdict(list)
        if self._items.statement is not None:
            for row in await self._pool.fetch(self._items.statement, *values):
                items[row[0]].append(self._item_readers[row[1]](row))
        return {
            edges[position - 1]: edge(described, items.get(position, ()))
            for position, described in rows.items()
        }


# --- one row ----------------------------------------------------------------


def readers(fields: Columns, start: int) -> list[Callable[[Any], Item]]:
    """For each table of a union, what makes metadata of one of its rows.

    Args:
        fields: What is fetched from each table.
        start: Number of columns before the first field.
    """
    found = []
    for own in fields:
        found.append(_reader(own, slice(start, start + len(own))))
        start += len(own)
    return found


def _reader(fields: Sequence[Fetched], place: slice) -> Callable[[Any], Item]:
    own = [one for one in fields if one.role == "own"]
    assert list(fields[: len(own)]) == own, "a row's own values come first"
    keys = [one.key for one in own]
    converted = [(one.key, one.convert) for one in own if one.convert]
    weak, lifted = (
        [(number, one.key) for number, one in enumerate(fields) if one.role == role]
        for role in ("weak", "lifted")
    )

    def read(row: Any) -> Item:
        values = row[place]
        metadata = {
            key: value for key, value in zip(keys, values, strict=False) if value is not None
        }
        for key, convert in converted:
            if key in metadata:
                metadata[key] = convert(metadata[key])
        for number, key in lifted:
            lift(metadata, values[number], key)
        for number, key in weak:
            if values[number] is not None:
                metadata.setdefault(key, values[number])
        return metadata

    return read


# --- what belongs together ---------------------------------------------------


def edge(rows: Sequence[Item], items: Iterable[Item]) -> Item:
    """Metadata of one edge: its rows merged, the passages from everywhere in one list."""
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
