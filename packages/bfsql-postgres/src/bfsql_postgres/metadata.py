"""Metadata of nodes and edges, and the evidence behind an entity, from rows."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeVar

from bfsql import call, workers
from bfsql.abc import chunks
from bfsql.memory_account import COPIES
from bfsql.models.comparison import column_texts, key_texts
from bfsql.models.merge import (
    EdgeMerge,
    evidence_items,
    joined_synonyms,
    merge_node_records,
    merged_from,
    with_evidence,
)
from bfsql.models.parts import only
from bfsql.models.records import Metadata, NodeRecord, Triple, edge_label
from bfsql_postgres import queries
from bfsql_postgres.connection import Pool
from bfsql_postgres.schema import Edges, Layout, Nodes
from bfsql_postgres.sql import RowValue, decode, json_patterns, storable

T = TypeVar("T")
Item = dict[str, Any]
"""Metadata of one row."""
MOST_COLUMNS = 1_600
"""Most columns that one statement fetches from all its tables: Postgres takes 1,664, some of which
are not metadata.
"""
FEW_TABLES = 30
"""Most tables of ids with prefixes in one statement: each of its rows has a null for every column
of the other tables.
"""
RowsOf = Callable[[frozenset[str] | None], queries.Rows]
"""The statement for the values of some keys, or of all."""

_LIFTED = "properties."
"""Prefix of a key of JSON that conflicts with a column of the row."""


def with_texts(
    rows: Sequence[Any], fields: tuple[tuple[RowValue, ...], ...], keys: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Rows of a ring with `key_texts` in place of values; None if one is large."""
    if not rows:
        return []
    start, own = len(rows[0]) - sum(map(len, fields)), fields[0] if len(fields) == 1 else ()
    every = list(zip(*rows, strict=True))
    if columns := _columns(own, every[start:], keys):
        texts = column_texts(columns, keys, len(rows))
    else:
        items = items_of(rows, queries.Rows("", fields, start))
        texts = [key_texts(item, keys) for item in items]
    if (large := every[start - 2]).count(None) < len(rows):
        texts = [None if size else one for size, one in zip(large, texts, strict=True)]
    return list(zip(*every[: start - 2], texts, strict=True))


def _columns(
    fields: Sequence[RowValue], columns: Sequence[Sequence[Any]], keys: Sequence[str]
) -> dict[str, Sequence[Any]]:
    """The values of keys in columns, if no row decides what they are; empty otherwise."""
    if [one.role for one in fields] == ["lifted"]:
        objects = [{} if text is None else decode(text) for text in columns[0]]
        are_all = {dict}.issuperset(map(type, objects))
        return {key: [one.get(key) for one in objects] for key in keys} if are_all else {}
    own = {
        one.key: values
        for one, values in zip(fields, columns, strict=True)
        if one.role == "own" and one.convert is None
    }
    return own if len(own) == len(fields) else {}


class MetadataReader:
    """Fetches metadata, and merges the values that the tables have for one node or edge."""

    def __init__(self, pool: Pool, layout: Layout) -> None:
        self._pool, self._codec = pool, layout.codec
        self._nodes: RowsOf = lru_cache(50)(partial(queries.node_metadata, layout))
        self._edges: RowsOf = lru_cache(50)(partial(queries.edge_metadata, layout))
        self._provenance = queries.provenance(layout)
        self._edge_tables = len(layout.edges)
        self._merge_of = layout.time_keys.merge

    async def of_nodes(
        self, ids: Sequence[str], values: Sequence[Any], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Metadata by id; `values` are the ids as sent, `keys` the requested keys."""
        rows, source = await self._fetched(self._nodes, [values], keys, ids.__getitem__)
        read = await workers.off_loop(call.held_values(), partial(items_of, rows, source))
        positions = [row[0] for row in rows]
        if len(set(positions)) == len(rows):
            known: dict[str, Metadata] = {
                ids[p - 1]: metadata for p, metadata in zip(positions, read, strict=True)
            }
            return known if keys is None else only(known, keys)
        if keys is not None:  # the merging of rows of one node depends on their whole content
            return only(await self.of_nodes(ids, values), keys)
        several: dict[int, list[tuple[int, str, Item]]] = defaultdict(list)
        for row, metadata in zip(rows, read, strict=True):
            several[row[0]].append((row[source.start - 1], row[1] or "", metadata))
        found: dict[str, Metadata] = {}
        for position, described in several.items():
            described.sort(key=lambda row: (row[0], row[1], repr(row[2])))
            entity_id = ids[position - 1]
            records = [NodeRecord(entity_id, kind, metadata) for _, kind, metadata in described]
            found[entity_id] = merge_node_records(records)[1]
        return found

    async def of_edges(
        self, edges: Sequence[Triple], values: Sequence[Any], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata by triple; `values` are subjects, predicates and objects as sent."""
        if keys is not None and "provenance" in keys:  # made of the whole content
            return only(await self.of_edges(edges, values), keys)
        label = lambda place: edge_label(edges[place])
        rows, source = await self._fetched(self._edges, values, keys, label)
        triples = [edges[row[0] - 1] for row in rows]
        merge = partial(self._merged_edges, triples, rows, source)
        merged = await workers.off_loop(call.held_values(), merge)
        return merged if keys is None else only(merged, keys)

    async def _fetched(
        self,
        rows_of: RowsOf,
        values: Sequence[Any],
        keys: Collection[str] | None,
        label: Callable[[int], str],
    ) -> tuple[Sequence[Any], queries.Rows]:
        """The rows for some nodes or edges, possibly with values of other keys.

        Values that are larger than the share of a row in the room of the call come as sizes first:
        they are fetched again once the call holds them, or left out.
        """
        source, more = rows_of(None), list[list[str]]()
        if keys is not None:
            # A column and a key of JSON may each have the value, or a part of it.
            read = merged_from({key for one in keys for key in (one, one.removeprefix(_LIFTED))})
            source = rows_of(source.own_keys.intersection(read))
            # Those of JSON are the last value of a statement that reads any.
            if f"${len(values) + 2}::" in source.statement:
                more = [sorted(key for key in read if storable((key,), self._codec))]
        width, sizes = 1 + max(map(len, source.fields)), source.start - 2
        most = call.room(COPIES * width * max(1, len(values[0])), sys.maxsize)
        rows: list[Any] = await self._pool.fetch(source.statement, *values, most, *more)
        large = {row[0]: row for row in rows if row[sizes] is not None}
        if not large:
            return rows, source
        fits = call.largest_value() or sys.maxsize
        if sum(_fitting_sizes(row, source, fits, label(at - 1)) for at, row in large.items()):
            again = [[own[at - 1] for at in large] for own in values]
            rows = [row for row in rows if row[0] not in large]
            places = list(large)
            rows += [
                (places[row[0] - 1], *list(row)[1:])
                for row in await self._pool.fetch(source.statement, *again, fits, *more)
            ]
        return rows, source

    async def provenance(self, entity_id: str, value: Any, limit: int) -> dict[str, Any]:
        """The evidence that touches an entity, and items it supplied as a document.

        At most `limit` items are returned, and all are counted; `value` is the id as sent.
        """
        if self._provenance is None:
            return {"total": 0, "items": []}
        named = sorted(f'%"{one}"%' for one in json_patterns(entity_id))
        most = (call.largest_value() or sys.maxsize) // 64  # there may be many passages
        values = (value, entity_id, named, queries.EVIDENCE_KEYS, most)
        rows = await self._pool.fetch(self._provenance.statement, *values)
        triples: list[Triple] = [(subject, name, obj) for subject, name, obj, *_ in rows]
        for triple, row in zip(triples, rows, strict=True):
            if row[self._provenance.start - 2] is not None:
                _fitting_sizes(row, self._provenance, most, edge_label(triple))
        touching = dict(zip(triples, (row[3] for row in rows), strict=True))
        merged = self._merged_edges(triples, rows, self._provenance)
        items = [
            item
            for triple, metadata in sorted(merged.items())
            for item in evidence_items(triple, metadata)
            if touching[triple] or item["document_id"] == entity_id
        ]
        return {"total": len(items), "items": items[:limit]}

    def _merged_edges(
        self, triples: Sequence[Triple], rows: Sequence[Any], source: queries.Rows
    ) -> dict[Triple, Metadata]:
        """Metadata by triple, of rows of edges and of passages; `triples` has that of each row."""
        own: dict[Triple, list[Item]] = defaultdict(list)
        items: dict[Triple, list[Item]] = defaultdict(list)
        for triple, row, metadata in zip(triples, rows, items_of(rows, source), strict=True):
            of_edges = row[source.start - 1] < self._edge_tables
            (own if of_edges else items)[triple].append(metadata)
        return {
            triple: _merged_edge(some, items.get(triple, ()), self._merge_of(triple[1]))
            for triple, some in own.items()
        }


def _fitting_sizes(row: Sequence[Any], source: queries.Rows, most: int, label: str) -> int:
    """Bytes of the values of a row with sizes that fit, which the call holds; omits the others."""
    fields = source.fields[row[source.start - 1]]
    sizes = [(one.key, size or 0) for one, size in zip(fields, row[source.start - 2], strict=True)]
    call.omitted(*(call.Omission(label, "values", size, key) for key, size in sizes if size > most))
    total = sum(size for _, size in sizes if size <= most)
    call.hold_values(total)
    return total


Prefixes = tuple[str | None, ...]
"""The prefix of an id, or of both ends of an edge."""


class PartReaders:
    """Readers for the tables that some ids or edges name, if the ids of a graph have prefixes.

    A statement with all tables of a large database would have more columns than the server allows.
    """

    def __init__(self, pool: Pool, layout: Layout) -> None:
        self.whole = MetadataReader(pool, layout)
        self._is_prefixed = layout.key == "prefixed"
        tables: dict[Prefixes, list[Nodes | Edges]] = defaultdict(list)
        for nodes in layout.nodes:
            tables[nodes.id.prefix,].append(nodes)
        for edges in layout.edges:
            tables[edges.subject.prefix, edges.object.prefix].append(edges)
        widths = [sum(len(one.metadata) for one in own) for own in tables.values()]
        self._known = tables.keys()
        self._most = max(1, min(FEW_TABLES, MOST_COLUMNS // max(1, *widths)))

        @lru_cache(200)
        def reader(some: tuple[Prefixes, ...]) -> MetadataReader:
            own = [one for key in some for one in tables[key]]
            nodes = tuple(one for one in own if isinstance(one, Nodes))
            edges = tuple(one for one in own if isinstance(one, Edges))
            return MetadataReader(pool, replace(layout, nodes=nodes, edges=edges))

        self._reader = reader

    def of(
        self, items: Sequence[T], prefixes: Callable[[T], Prefixes]
    ) -> Iterator[tuple[MetadataReader, Sequence[T]]]:
        """Readers, each with the ids or edges that it reads, by their prefixes."""
        if not self._is_prefixed:
            yield self.whole, items
            return
        by_prefix: dict[Prefixes, list[T]] = defaultdict(list)
        for item in items:
            by_prefix[prefixes(item)].append(item)
        known = sorted(by_prefix.keys() & self._known, key=repr)
        for some in chunks(known, self._most):
            yield self._reader(tuple(some)), [item for key in some for item in by_prefix[key]]


# --- from rows to metadata ---------------------------------------------------


def items_of(rows: Sequence[Any], source: queries.Rows) -> list[Item]:
    """Metadata of each row of a union."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[row[source.start - 1]].append(place)
    found: list[Item] = [{} for _ in rows]
    start = source.start
    for table, fields in enumerate(source.fields):
        end = start + len(fields)
        if table in places:
            # Column by column, so that an empty column, as many are, costs nothing per row.
            columns = list(zip(*(rows[place] for place in places[table]), strict=True))[start:end]
            read = _items(fields, columns, len(places[table]))
            for place, metadata in zip(places[table], read, strict=True):
                found[place] = metadata
        start = end
    return found


def _items(fields: Sequence[RowValue], columns: Sequence[Sequence[Any]], count: int) -> list[Item]:
    """Metadata of the rows of one table, from its columns."""
    found = _own_values(fields, columns, count)
    for role in ("lifted", "weak"):
        for one, values in zip(fields, columns, strict=True):
            if one.role != role:
                continue
            for metadata, value in zip(found, values, strict=True):
                if value is not None and role == "lifted":
                    lift(metadata, value, one.key)
                elif value is not None:
                    metadata.setdefault(one.key, value)
    return found


def _own_values(
    fields: Sequence[RowValue], columns: Sequence[Sequence[Any]], count: int
) -> list[Item]:
    filled: dict[str, Sequence[Any]] = {}
    for one, values in zip(fields, columns, strict=True):
        if one.role == "own" and values.count(None) < count:
            convert, earlier = one.convert, filled.get(one.key)
            own = (
                [None if v is None else convert(v) for v in call.checked(values)]
                if convert
                else values
            )
            # Two columns of synonyms have one key.
            filled[one.key] = own if earlier is None else [*map(_joined, earlier, own)]
    if not filled:
        return [{} for _ in range(count)]
    return [
        {key: value for key, value in zip(filled, values, strict=True) if value is not None}
        for values in zip(*filled.values(), strict=True)
    ]


def _joined(own: Any, other: Any) -> Any:
    """Two values as one list; the only one unchanged if the other is None."""
    if own is None or other is None:
        return other if own is None else own
    first, second = (one if isinstance(one, list) else [one] for one in (own, other))
    texts = {one for one in first if isinstance(one, str)}
    known = (texts if isinstance(one, str) else first for one in second)
    return [*first, *(one for one, have in zip(second, known, strict=True) if one not in have)]


def lift(metadata: Item, text: str, under: str) -> None:
    """Merge the keys of a JSON column into the row's metadata, in place.

    If both have a key, the row's own value keeps it and the other becomes `properties.KEY`; two
    lists of `synonyms` become one. A value that is not an object is stored under the column's name.
    """
    value = decode(text)
    if isinstance(value, dict):
        if metadata.keys().isdisjoint(value):
            metadata.update(value)
            return
        for key, inner in value.items():
            if key == "synonyms" and _are_texts(inner) and _are_texts(metadata.get(key)):
                metadata[key] = joined_synonyms(metadata[key], inner)
            else:
                metadata[f"{under}.{key}" if key in metadata else key] = inner
    elif value is not None:
        metadata[under] = value


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# --- rows and passages of one edge ----------------------------------------------

_SENTENCE = "sentence"
"""Key of the text in the pipeline's own passages."""


def _merged_edge(rows: Sequence[Item], items: Sequence[Item], merge: EdgeMerge) -> Item:
    """Metadata of one edge: its rows merged, and the passages from all sources in one list."""
    if len(rows) == 1 and not items and "provenance" not in rows[0]:
        return rows[0]
    passages = list(items)
    for row in rows:
        if "provenance" in row:
            passages += _own_passages(row)
    merged = merge(rows) if len(rows) > 1 else rows[0]
    have = merged.get("provenance")
    if have is None and len(passages) == 1:
        return {**merged, "provenance": passages}
    return with_evidence(merged, passages) if passages or have is not None else merged


def _own_passages(row: Item) -> Iterator[Item]:
    """Take the pipeline's own passages out of a row's `provenance`; yield them with item keys."""
    listed = row["provenance"]
    if not isinstance(listed, list) or not any(map(_is_passage, listed)):
        return
    documents = row.get("source_documents")
    only = documents[0] if isinstance(documents, list) and len(documents) == 1 else None
    del row["provenance"]
    if others := [item for item in listed if not _is_passage(item)]:
        row["provenance"] = others
    for passage in filter(_is_passage, listed):
        rest = {key: value for key, value in passage.items() if value is not None}
        item = {"document_id": only, "text_span": rest.pop(_SENTENCE, None), **rest}
        yield {
            key: value
            for key, value in item.items()
            if value is not None and not (key == "citation_markers" and not value)
        }


def _is_passage(item: Any) -> bool:
    return isinstance(item, Mapping) and _SENTENCE in item and "text_span" not in item
