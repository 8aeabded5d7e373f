"""Changes to the outline of the graph that take more than an expression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bfsql.models import Outline, outline_of


def with_dangling_edges(right: Outline, db: Any) -> Outline:
    """The outline in which ends that are not nodes have a type."""
    types = db._types
    counts = {one[:3]: one.edges for one in right.relations}
    for s, p, o in db._edge_metadata:
        if s not in types or o not in types:
            ends = types.get(s, "Thing"), p, types.get(o, "Thing")
            counts[ends] = (counts.get(ends) or 0) + 1
    return outline_of(right.node_counts, counts)


def of_all_types(right: Outline, _: Any) -> Outline:
    """The outline with the properties of all types under every type."""
    every = {one.name: one for of in right.node_properties.values() for one in of}
    described = [every[name] for name in sorted(every)]
    return replace(right, node_properties=dict.fromkeys(right.node_counts, described))


def rounded(right: Outline, _: Any) -> Outline:
    """The outline with larger bounds."""

    def more(one: Any) -> Any:
        number = isinstance(one.maximum, int | float)
        return replace(one, maximum=one.maximum + 10) if number else one

    described = {owner: list(map(more, of)) for owner, of in right.node_properties.items()}
    return replace(right, node_properties=described)
