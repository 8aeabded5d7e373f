"""Changes to nodes, metadata, values and evidence that take more than an expression."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord, Triple


async def nodes_one_by_one(_: Any, db: Any, ids: Sequence[str]) -> Any:
    """The nodes that exist, each by the single method."""
    return [await db.get_node(i) for i in ids if i in db._types]


async def nodes_one_by_one_known_or_not(_: Any, db: Any, ids: Sequence[str]) -> Any:
    """All nodes, each by the single method."""
    return [await db.get_node(i) for i in ids]


def as_number(_: Any, text: str) -> str:
    """The text as the number that it looks like."""
    try:
        return str(float(text)).removesuffix(".0")
    except ValueError:
        return text


def number_as_text(_: Any, value: Any) -> Any:
    """The value, as text if it is a number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def in_four_bytes(value: float) -> float:
    """The value in single precision."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def flattened(db: Any, metadata: Any) -> dict[str, Any]:
    """The metadata with the keys of maps joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in metadata.items():
        inner = flattened(db, value) if isinstance(value, dict) else None
        flat |= {key: value} if inner is None else {f"{key}.{k}": v for k, v in inner.items()}
    return flat


async def as_text(right: Any, _: Any, edges: Any, keys: Any = None) -> Any:
    """The metadata, as text if only some keys are requested."""
    found = await right(edges, keys)
    if keys is None:
        return found
    return {edge: {k: str(v) for k, v in m.items()} for edge, m in found.items()}


def emptied(found: Any, _: Any, ids: Any) -> Any:
    """The nodes, after the caller's list was cleared."""
    if isinstance(ids, list):
        ids.clear()
    return found


async def without_documents(right: Any, _: Any, entity_id: str, limit: int) -> Any:
    """The evidence of a node's edges."""
    every = await right(entity_id, 1_000_000)
    own = [i for i in every["items"] if entity_id in (i["subject"], i["object"])]
    return {"total": len(own), "items": own[:limit]}


def last_record_of_each_edge(records: Sequence[GraphRecord]) -> list[GraphRecord]:
    """The records without those of an edge that are followed by another one."""
    edges = {_triple(record): record for record in records if isinstance(record, EdgeRecord)}
    return [*(r for r in records if not isinstance(r, EdgeRecord)), *edges.values()]


def first_record_of_each_node(records: Sequence[GraphRecord]) -> list[GraphRecord]:
    """The records without further ones of a node."""
    nodes = {record.id: record for record in reversed(records) if isinstance(record, NodeRecord)}
    return [*nodes.values(), *(r for r in records if not isinstance(r, NodeRecord))]


def without_early_evidence(records: Sequence[GraphRecord]) -> list[GraphRecord]:
    """The records without the evidence that comes before its edge."""
    known: set[Triple] = set()
    kept: list[GraphRecord] = []
    for record in records:
        if isinstance(record, EdgeRecord):
            known.add(_triple(record))
        if isinstance(record, NodeRecord) or _triple(record) in known:
            kept.append(record)
    return kept


def _triple(record: EdgeRecord | EvidenceRecord) -> Triple:
    return record.subject, record.predicate, record.object
