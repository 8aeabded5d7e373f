"""How several records of one thing become one (`protocol.md` 7).

"Backends merge them, lists as a sorted union, differing scalars as a sorted
list, `confidence` as the largest with all of them in `confidences`;
`multiplicity`, in the metadata only, says how many records there were when
more than one."
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from bfsql.models.stream import NodeRecord

UNTYPED = "owl:Thing"
"""Type of a node whose records give none (`protocol.md` 8)."""

_RANKS = {bool: 0, int: 1, float: 1, str: 2}
_OTHER = 3


def value_order(value: Any) -> tuple[int, Any]:
    """Sort key of a metadata value: by type, then by value.

    Booleans, numbers, text, then everything else by its JSON text, so that
    values of any mixture sort the same on every machine.
    """
    rank = _RANKS.get(type(value), _OTHER)
    if rank == _OTHER or (isinstance(value, float) and math.isnan(value)):
        return _OTHER, json.dumps(value, sort_keys=True, default=str)
    return rank, value


def sorted_union(values: Iterable[Any]) -> list[Any]:
    """Distinct values, sorted by type, then value. `1` and `true` are two values.

    `1` and `1.0` are one; which of them stays does not depend on the order they came in.
    """
    distinct: dict[tuple[int, Any], Any] = {}
    for value in values:
        order = value_order(value)
        have = distinct.setdefault(order, value)
        if have is not value:
            distinct[order] = min(have, value, key=repr)
    return [value for _, value in sorted(distinct.items(), key=itemgetter(0))]


def merge_metadata(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One mapping from several that describe the same node.

    Args:
        records: At least one; a single one comes back as it is, in a new dict.
    """
    if len(records) == 1:
        return dict(records[0])
    keys = sorted({key for record in records for key in record})
    return {key: _merged([r[key] for r in records if r.get(key) is not None]) for key in keys}


def merge_node_records(records: Sequence[NodeRecord]) -> tuple[str, dict[str, Any]]:
    """Type and metadata of the one node that these records describe.

    The first type given is the `entity_type`; further ones stand in
    `other_types` (`protocol.md` 9). The first name given is the `name`;
    further ones join the `synonyms`. Everything else merges by value.

    Args:
        records: At least one, all of one id, in the order in which they came.
    """
    types = list(dict.fromkeys(r.entity_type for r in records if r.entity_type))
    merged = merge_metadata([r.metadata for r in records])
    if len(records) > 1:
        told = dict.fromkeys(text for r in records for text in _texts(r.metadata.get("name")))
        names = list(told)
        merged |= {"name": names[0]} if names else {}
        if len(names) > 1:
            merged["synonyms"] = sorted_union([*_texts(merged.get("synonyms")), *names[1:]])
    if len(types) > 1:
        have = _texts(merged.get("other_types"))
        merged["other_types"] = sorted_union([*have, *types[1:]])
    return types[0] if types else UNTYPED, merged


def merge_edges(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One mapping from several that describe the same triple.

    Args:
        records: At least one; a single one comes back as it is, in a new dict.
    """
    merged = merge_metadata(records)
    if len(records) == 1:
        return merged
    found = (r["confidence"] for r in records if _is_number(r.get("confidence")))
    confidences = sorted(found, key=lambda value: (value, repr(value)))
    if confidences:
        merged["confidence"] = confidences[-1]
        merged["confidences"] = confidences
    merged["multiplicity"] = len(records)
    return merged


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(text for text in value if isinstance(text, str))
    return (value,) if isinstance(value, str) else ()


def _merged(values: Sequence[Any]) -> Any:
    if any(isinstance(value, list) for value in values):
        return sorted_union(
            item for value in values for item in (value if isinstance(value, list) else [value])
        )
    distinct = sorted_union(values)
    if not distinct:
        return None
    return distinct[0] if len(distinct) == 1 else distinct


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)
