"""Evidence: the passages behind an edge, in its metadata under `provenance`.

An item is a mapping with `document_id`, `section`, `text_span`, `confidence`
and whatever else the store knows. Extraction pipelines tend to write the same
passage twice, once beside the relationship and once in a table of its own;
`combined` makes one item of what does not contradict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bfsql.models.merge import value_order
from bfsql.models.records import Metadata, Triple

ITEM_FIELDS = ("document_id", "section", "text_span", "confidence")
"""What `describe_entity` shows of an item, after its triple (`protocol.md` 16)."""

Item = dict[str, Any]


def combined(items: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Items of one edge, those that tell the same passage made one, in a stable order.

    Two items tell the same passage when their `text_span` is the same text and
    no field that both fill differs. Those that fill more come first, so that the
    order in which the items came makes no difference.
    """
    by_text: dict[str, list[Item]] = {}
    alone: list[Item] = []
    for item in sorted(items, key=_order):
        text = item.get("text_span")
        if isinstance(text, str):
            _absorb(by_text.setdefault(text, []), dict(item))
        else:
            alone.append(dict(item))
    found = [item for group in by_text.values() for item in group] + alone
    return sorted(found, key=_order)


def with_evidence(metadata: dict[str, Any], items: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The edge's metadata, with these items added to its `provenance`.

    Whatever stands there already that is no item becomes the text of one.
    """
    have = metadata.get("provenance")
    listed = have if isinstance(have, list) else [] if have is None else [have]
    own = [item if isinstance(item, Mapping) else {"text_span": str(item)} for item in listed]
    together = combined([*own, *items])
    return {**metadata, "provenance": together} if together else metadata


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


def _absorb(group: list[Item], item: Item) -> None:
    for other in group:
        if all(_agree(other.get(key), value) for key, value in item.items()):
            other.update({k: v for k, v in item.items() if not _is_empty(v)})
            return
    group.append(item)


def _agree(one: Any, other: Any) -> bool:
    return _is_empty(one) or _is_empty(other) or value_order(one) == value_order(other)


def _is_empty(value: Any) -> bool:
    return value is None or value == []


def _order(item: Mapping[str, Any]) -> tuple[Any, ...]:
    shown = (value_order(item.get(field)) for field in ITEM_FIELDS)
    return (*shown, value_order(item))
