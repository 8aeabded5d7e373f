"""What several graphs say of one entity or one edge becomes one record, which says who said it.

The rules are those of `bfsql.models.merge`, as if the graphs had been loaded one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bfsql.models import Metadata, NodeRecord, PropertyCondition, merge_node_records, with_evidence
from bfsql.models.load import MADE_TYPE
from bfsql.models.merge import UNTYPED, EdgeMerge, is_created, sorted_union

GRAPHS, SAME_AS, DIFFERENT = "graphs", "same_as", "differs"
ORIGINS = frozenset({GRAPHS, SAME_AS, DIFFERENT})
"""The keys that say where a record is from: the graphs; the other spellings of its id, each with
its graph and the rule; and by key, what each graph says where they differ."""

_OF_ORDER = frozenset({"name", "synonyms", "other_types", "confidence", "confidences"})
"""Keys whose values are chosen or collected by rules of their own."""
_UNSURE = frozenset({"!=", "lacks"})
"""Operators that hold for an entity although they do not for what one graph says of it."""
_COLLECTED = frozenset({"synonyms", "other_types"}) | ORIGINS
"""Keys whose values come from more than one graph's values of them."""
GENERIC_TYPES = frozenset({"", UNTYPED, MADE_TYPE})
"""Types of nodes that a load made for the ends of edges; any other type says more."""


def better_type(have: str | None, other: str) -> str:
    """The first type that is not generic; the first one if all are."""
    is_better = have in GENERIC_TYPES and other not in GENERIC_TYPES
    return other if have is None or is_better else have


def conditions_of_one(conditions: Sequence[PropertyCondition]) -> list[PropertyCondition]:
    """The conditions that an entity meets only if what one graph says of it meets them."""
    return [c for c in conditions if c.operator not in _UNSURE and c.key not in _COLLECTED]


class Description(NamedTuple):
    """What one graph says of an entity or an edge."""

    graph: str
    """The name of the graph."""
    own_id: str
    """The id of the entity there; empty for an edge."""
    entity_type: str
    """The common name of its type there; empty for an edge, or if it is not needed."""
    metadata: Metadata


def merged_node(
    entity_id: str, described: Sequence[Description], reasons: Mapping[str, str] | None
) -> dict[str, Any]:
    """The metadata of an entity.

    Args:
        entity_id: Its canonical id.
        described: What the graphs say, in the order of the graphs; at least one.
        reasons: By spelling, the rule that makes it this id; None to leave the origins out.
    """
    records = [
        NodeRecord(
            entity_id,
            "" if one.entity_type in GENERIC_TYPES else one.entity_type,
            _with_own_name(one, entity_id),
        )
        for one in described
    ]
    records = [one for one in records if not is_created(one)] or records[:1]
    merged = merge_node_records(records)[1]
    _keep_order(merged, [one.metadata for one in records])
    if reasons is None:
        return merged
    respelt = (one for one in described if one.own_id != entity_id)
    same = [f"{one.own_id} ({one.graph}: {reasons[one.own_id]})" for one in respelt]
    return merged | _origins(described) | ({SAME_AS: same} if same else {})


def merged_edge(
    described: Sequence[Description],
    merge: EdgeMerge,
    canonical: Callable[[str], str],
    *,
    origins: bool,
) -> dict[str, Any]:
    """The metadata of an edge, its evidence united.

    Args:
        described: What the graphs say; at least one.
        merge: Merges the metadata of an edge.
        canonical: Turns the id of a document into the canonical one.
        origins: Whether the metadata say where they are from.
    """
    parts = [dict(one.metadata) for one in described]
    items = [one.pop("provenance") for one in parts if isinstance(one.get("provenance"), list)]
    merged = merge(parts)
    _keep_order(merged, parts)
    if items:
        merged = with_evidence(merged, [_item(item, canonical) for some in items for item in some])
    return merged | _origins(described) if origins else merged


def _keep_order(merged: dict[str, Any], parts: Sequence[Mapping[str, Any]]) -> None:
    """Leave a list that one graph alone has as it is there; merging sorts it."""
    for key, value in merged.items():
        if isinstance(value, list):
            lists = [part[key] for part in parts if part.get(key) is not None]
            if len(lists) == 1 and isinstance(lists[0], list) and value == sorted_union(lists[0]):
                merged[key] = lists[0]


def _item(item: Any, canonical: Callable[[str], str]) -> dict[str, Any]:
    """An item of evidence by the canonical id of its document."""
    if not isinstance(item, Mapping):
        return {"text_span": str(item)}
    document = item.get("document_id")
    return {**item, **({"document_id": canonical(document)} if isinstance(document, str) else {})}


def _with_own_name(one: Description, entity_id: str) -> dict[str, Any]:
    """Its metadata; a name that only repeats the id there is the id here."""
    metadata = dict(one.metadata)
    if metadata.get("name") == one.own_id:
        metadata["name"] = entity_id
    return metadata


def _origins(described: Sequence[Description]) -> dict[str, Any]:
    graphs = list(dict.fromkeys(one.graph for one in described))
    differing: dict[str, dict[str, Any]] = {}
    for key in {key for one in described for key in one.metadata} - _OF_ORDER:
        values = {one.graph: v for one in described if (v := one.metadata.get(key)) is not None}
        first = next(iter(values.values()), None)
        if any(value != first for value in values.values()) and not isinstance(first, list):
            differing[key] = values
    return {GRAPHS: graphs} | ({DIFFERENT: differing} if differing else {})
