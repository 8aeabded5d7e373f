"""Merging several records of one item (`protocol.md` 7), including evidence.

"Backends merge them, lists as a sorted union, differing scalars as a sorted
list, `confidence` as the largest with all of them in `confidences`;
`multiplicity`, in the metadata only, says how many records there were when
more than one." A record with the `multiplicity` 0 adds to another one, and does not count; a
negative one takes others back.

Evidence consists of the passages that support an edge, in its metadata under `provenance`: items
with `document_id`, `section`, `text_span`, `confidence` and any further fields of the store.
Extraction pipelines tend to write the same passage twice, with the relationship and in a separate
table; `combined` merges items that do not contradict each other.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain, islice
from operator import itemgetter
from typing import Any, TypeAlias

from bfsql.deadline import MANY, check, checked
from bfsql.models.characters import without_hidden
from bfsql.models.records import Metadata, NodeRecord, Triple

UNTYPED = "owl:Thing"
"""Type of a node whose records have none (`protocol.md` 8)."""

ITEM_FIELDS = ("document_id", "section", "text_span", "confidence")
"""The fields of an item that `describe_entity` shows after its triple (`protocol.md` 16)."""

Item = dict[str, Any]
EdgeMerge: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]
"""Makes one mapping of several that describe the same triple."""

_FEW = 32
"""Most items of one text that are compared one by one; and most fields of the further ones, and
different sets of fields, that are compared at all."""

_TOGETHER = frozenset({"confidence", "confidences", "multiplicity"})
"""Keys of an edge that depend on each other."""

_RANKS = {bool: 0, int: 1, float: 1, str: 2}
_OTHER = 3


def value_order(value: Any) -> tuple[int, Any]:
    """Sort key of a metadata value: by type, then by value.

    The order is booleans, numbers, text, then everything else by its JSON text, so that
    values of any mixture sort the same on every machine.
    """
    rank = _RANKS.get(type(value), _OTHER)
    if rank == _OTHER or (isinstance(value, float) and math.isnan(value)):
        return _OTHER, json.dumps(value, sort_keys=True, default=str)
    return rank, value


def sorted_union(values: Iterable[Any]) -> list[Any]:
    """Distinct values, sorted by type, then value. `1` and `true` are two values.

    `1` and `1.0` are one value; which of them is returned does not depend on the input order.
    """
    distinct: dict[tuple[int, Any], Any] = {}
    for value in checked(values):
        order = value_order(value)
        have = distinct.setdefault(order, value)
        if have is not value:
            distinct[order] = min(have, value, key=repr)
    return [value for _, value in sorted(distinct.items(), key=itemgetter(0))]


def merge_metadata(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One mapping from several that describe the same node.

    Args:
        records: At least one; a single one is returned unchanged, in a new dict.
    """
    if len(records) == 1:
        return dict(records[0])
    values: dict[str, list[Any]] = {}
    for record in checked(records):
        for key, value in record.items():
            values.setdefault(key, []).extend(() if value is None else (value,))
    return {key: _merged(values[key]) for key in sorted(values)}


def merge_node_records(
    records: Sequence[NodeRecord], default_type: str = UNTYPED
) -> tuple[str, dict[str, Any]]:
    """Type and metadata of the one node that these records describe.

    The first type is the `entity_type`; further types are listed in
    `other_types` (`protocol.md` 9). The first name is the `name`; further names
    are added to the `synonyms`. Everything else is merged by value. Merging
    already merged records with further ones has the same result as merging all at once.

    Args:
        records: At least one record, all with the same id, in the order of arrival. A record
            that says no more than `created_node` only counts if no other record says more.
        default_type: The type if the records have none.
    """
    records = [r for r in records if not is_created(r, default_type)] or records[:1]
    given_types = (r.entity_type for r in records)
    types = list(dict.fromkeys(t for t in given_types if t and t != default_type))
    merged = merge_metadata([r.metadata for r in records])
    if len(records) > 1:
        given = (text for r in records for text in _texts(r.metadata.get("name")))
        names = list(dict.fromkeys(given))
        merged |= {"name": names[0]} if names else {}
        if len(names) > 1:
            merged["synonyms"] = sorted_union([*_texts(merged.get("synonyms")), *names[1:]])
    if len(types) > 1:
        have = _texts(merged.get("other_types"))
        merged["other_types"] = sorted_union([*have, *types[1:]])
    return types[0] if types else default_type, merged


def add_other_types(metadata: dict[str, Any], others: Collection[str]) -> None:
    """Add types beside the `entity_type` of a node to the `other_types` of its metadata."""
    if others:
        have = metadata.get("other_types")
        listed = have if isinstance(have, list) else [] if have is None else [have]
        metadata["other_types"] = sorted_union([*listed, *others])


def created_node(entity_id: str, default_type: str) -> NodeRecord:
    """The node for an id that only occurs in edges."""
    return NodeRecord(entity_id, default_type, {"name": entity_id})


def is_created(record: NodeRecord, default_type: str = UNTYPED) -> bool:
    """Whether a record says no more than `created_node`."""
    return record.entity_type in {"", default_type} and record.metadata == {"name": record.id}


def merged_from(keys: Collection[str]) -> set[str]:
    """The keys of records on which these keys depend in the result of `merge_edges`."""
    read = set(keys)
    return read if _TOGETHER.isdisjoint(read) else read | _TOGETHER


def joined_synonyms(own: Iterable[str], others: Iterable[str]) -> list[str]:
    """The names of two lists in one, each once, in order."""
    return list(dict.fromkeys([*own, *others]))


def merge_edges(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One mapping from several that describe the same triple.

    Merging already merged records with further ones has the same result as merging all at once.

    Args:
        records: At least one; a single one is returned unchanged, in a new dict.
    """
    merged = merge_metadata(records)
    if len(records) == 1:
        return merged
    found = (value for record in records for value in _confidences(record))
    confidences = sorted(found, key=lambda value: (value, repr(value)))
    if confidences:
        merged["confidence"] = confidences[-1]
        merged["confidences"] = confidences
    number = sum(map(_multiplicity, records))
    merged["multiplicity"] = max(number, 1)
    if number <= 1 and all(record.get("multiplicity") != 1 for record in records):
        del merged["multiplicity"]
    return merged


def _confidences(record: Mapping[str, Any]) -> list[Any]:
    """All confidences behind a record; for one that was merged before, its listed confidences."""
    one, several = record.get("confidence"), record.get("confidences")
    if isinstance(several, list) and one in several and all(map(_is_number, several)):
        return several
    return [one] if _is_number(one) else []


def _multiplicity(record: Mapping[str, Any]) -> int:
    """The number of records that a record represents; less than 1 if it only adds to others."""
    number = record.get("multiplicity")
    return number if type(number) is int else 1


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(text for text in value if isinstance(text, str))
    return (value,) if isinstance(value, str) else ()


def _merged(values: Sequence[Any]) -> Any:
    if any(isinstance(value, list) for value in values):
        listed = (value if isinstance(value, list) else [value] for value in values)
        return sorted_union([*chain.from_iterable(listed)])
    distinct = sorted_union(values)
    if not distinct:
        return None
    return distinct[0] if len(distinct) == 1 else distinct


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


# --- text for comparison --------------------------------------------------------


def without_accents(text: str) -> str:
    """Text for display without accents, in compatible forms (NFKD)."""
    if text.isascii():
        return without_hidden(text)
    shown = without_hidden(text)
    if len(shown) <= 100 * MANY:
        return shown.translate(_PLAIN)
    return "".join(map(_PLAIN.__getitem__, checked(map(ord, shown))))


class _PlainLetters(dict[int, str]):
    """Characters without accents, for `str.translate`; those of the first two planes are kept.

    Each by itself: to order a run of marks, as `normalize` does, takes the square of its length.
    """

    def __missing__(self, code: int) -> str:
        decomposed = unicodedata.normalize("NFKD", chr(code))
        plain = "".join(one for one in decomposed if not unicodedata.combining(one))
        if code in range(0x20000):
            self[code] = plain
        return plain


_PLAIN = _PlainLetters()


def fold(text: str) -> str:
    """Text without accents, case and outer space, for comparison."""
    if text.isascii() and text.isprintable():  # as most texts are; the rest would not change it
        return text.lower().strip()
    return without_accents(text).casefold().strip()


# --- evidence -----------------------------------------------------------------


def combined(items: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Items of one edge, duplicates of a passage merged, in a stable order.

    Two items are the same passage if their `text_span` is the same text and no field
    that both fill differs; items without a text if they are equal. Items with more
    filled fields come first, so the result does not depend on the order of the input.
    """
    by_text: dict[str, _Passage] = {}
    alone: list[Item] = []
    for item in sorted(items, key=_order):
        text = item.get("text_span")
        if isinstance(text, str):
            by_text.setdefault(text, _Passage()).absorb(dict(item))
        else:
            alone.append(dict(item))
    found = [item for one in by_text.values() for item in one.items] + sorted_union(alone)
    return sorted(found, key=_order)


def with_evidence(metadata: dict[str, Any], items: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The edge's metadata, with these items added to its `provenance`.

    An existing value that is not an item becomes the text of one.
    """
    have = metadata.get("provenance")
    listed = have if isinstance(have, list) else [] if have is None else [have]
    own = [item if isinstance(item, Mapping) else {"text_span": str(item)} for item in listed]
    together = [*own, *items]
    return {**metadata, "provenance": combined(together)} if together else metadata


def evidence_items(edge: Triple, metadata: Metadata | None) -> list[Item]:
    """The items of an edge as `describe_entity` shows them: its triple, then the four fields."""
    have = (metadata or {}).get("provenance")
    if not isinstance(have, list):
        return []
    subject, predicate, object_ = edge
    return [
        {"subject": subject, "predicate": predicate, "object": object_}
        | {field: item.get(field) for field in ITEM_FIELDS}
        for item in have
        if isinstance(item, Mapping)
    ]


_Fields: TypeAlias = dict[str, tuple[int, Any]]
"""The filled fields of an item, as sort keys."""
_Shape: TypeAlias = frozenset[str]
"""Names of filled fields."""


class _Passage:
    """The items of one text, of which each differs from the others in a field that both fill.

    After the first few, items of one shape are found by the values of the fields that they share
    with another item: comparing each with all would take the square of their number.
    """

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._fields: list[_Fields] = []
        self._indexes: dict[_Shape, dict[_Shape, dict[frozenset[Any], list[int]]]] = {}
        """By shape and shared fields, the places of items by their values; as heaps."""

    def absorb(self, item: Item) -> None:
        """Merge an item with the first that it agrees with, or else add it."""
        check()
        fields = {k: value_order(v) for k, v in item.items() if not (v is None or v == [])}
        place = self._among_first(fields)
        if place is None:
            shapes = {*islice(self._indexes, _FEW), frozenset(fields)} & self._indexes.keys()
            others = (self._of_shape(shape, fields) for shape in shapes)
            place = min((at for at in others if at is not None), default=len(self.items))
        if place == len(self.items):
            self.items.append(item)
            self._fields.append({})
        else:
            self.items[place].update({key: item[key] for key in fields})
        if not fields.keys() <= self._fields[place].keys():
            self._fields[place].update(fields)
            if place >= _FEW and len(self._fields[place]) <= _FEW:
                shape = frozenset(self._fields[place])
                for shared, index in self._indexes.setdefault(shape, {shape: {}}).items():
                    self._enter(index, shared, place)

    def _among_first(self, fields: _Fields) -> int | None:
        for place, have in enumerate(self._fields[:_FEW]):
            if all(have.get(key, order) == order for key, order in fields.items()):
                return place
        return None

    def _of_shape(self, shape: _Shape, fields: _Fields) -> int | None:
        """The place of the first item of a shape that agrees with others, if one does."""
        shared, indexes = shape.intersection(fields), self._indexes[shape]
        if shared not in indexes:
            if len(indexes) > _FEW:
                return None
            indexes[shared] = {}
            for place in chain.from_iterable(indexes[shape].values()):
                self._enter(indexes[shared], shared, place)
        heap = indexes[shared].get(_values(fields, shared), [])
        while heap and self._fields[heap[0]].keys() != shape:  # it has more fields now
            heappop(heap)
        return heap[0] if heap else None

    def _enter(self, index: dict[frozenset[Any], list[int]], shared: _Shape, place: int) -> None:
        heappush(index.setdefault(_values(self._fields[place], shared), []), place)


def _values(fields: _Fields, shared: _Shape) -> frozenset[Any]:
    return frozenset((key, fields[key]) for key in shared)


def _order(item: Mapping[str, Any]) -> tuple[Any, ...]:
    check()
    shown = (value_order(item.get(field)) for field in ITEM_FIELDS)
    return (*shown, value_order(item))
