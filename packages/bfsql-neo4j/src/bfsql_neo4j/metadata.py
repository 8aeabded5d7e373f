"""Properties of nodes and relationships as metadata."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bfsql.models.merge import merge_edges, sorted_union, with_evidence
from bfsql_neo4j.identity import ELEMENT
from bfsql_neo4j.shape import Shape, type_of
from bfsql_neo4j.stored import from_properties
from bfsql_neo4j.values import plain


def node_metadata(
    entity_id: str,
    labels: Sequence[str],
    properties: Mapping[str, Any],
    shape: Shape,
    shown: Collection[str],
) -> dict[str, Any]:
    """What a node's properties say, without the id, which the answer has anyway.

    Args:
        entity_id: The node's id.
        labels: All of its labels; those that are not its type are its `other_types`.
        properties: As the driver gives them.
        shape: How labels rank, and which properties hold ids.
        shown: Properties that stay, though they hold the id: names, above all.
    """
    bearer = None if entity_id.startswith(ELEMENT) else shape.identity.bearer(labels, properties)
    kept = {key: plain(value) for key, value in properties.items() if key != bearer or key in shown}
    metadata = from_properties(kept, shape.identity.properties(labels))
    _, others = type_of(labels, shape.rank)
    if others:
        have = metadata.get("other_types")
        listed = have if isinstance(have, list) else [] if have is None else [have]
        metadata["other_types"] = sorted_union([*listed, *others])
    return metadata


def edge_metadata(relationships: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the properties of the relationships of one triple say, evidence under `provenance`."""
    records = [
        from_properties({key: plain(value) for key, value in properties.items()})
        for properties in relationships
    ]
    return with_evidence(merge_edges(records), ())
