"""What a graph is made of, in counts: types, relations and properties (`asking.md` 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

MOST_RELATIONS = 1_000
"""Relations that an outline holds, the most frequent first."""
COMMON_VALUES = 8
"""Values of a property that an outline names at the most."""


class Relation(NamedTuple):
    """Edges of one predicate from nodes of one type to nodes of one type."""

    subject_type: str
    predicate: str
    object_type: str
    edges: int


@dataclass(frozen=True, slots=True)
class Property:
    """A key of the metadata of a type's nodes or of a predicate's edges."""

    name: str
    kind: Literal["text", "number", "date", "flag", "list", "object"]
    minimum: int | float | str | None = None
    """Of numbers and ISO dates."""
    maximum: int | float | str | None = None
    """Likewise."""
    values: tuple[str, ...] = ()
    """The values that occur, the most frequent first, where they are `COMMON_VALUES` or fewer."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The graph as a picture."""

    node_counts: Mapping[str, int] = field(default_factory=dict)
    """Nodes by type."""
    relations: Sequence[Relation] = ()
    """The most frequent first."""
    relations_left_out: int = 0
    """Relations beyond `MOST_RELATIONS`."""
    node_properties: Mapping[str, Sequence[Property]] = field(default_factory=dict)
    """By type."""
    edge_properties: Mapping[str, Sequence[Property]] = field(default_factory=dict)
    """By predicate."""
    sampled: bool = False
    """Whether counts and properties come from a part of the graph."""
