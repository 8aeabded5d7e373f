"""Nodes and edges, as they pass between backend and core.

The two that come in tens of thousands are tuples: a ring of edges is a flat
iterable of `(subject, predicate, object)`, whatever rows the driver gives, and
`Edge` is the same tuple with names. None of these reaches a JSON encoder as it
is: `bfsql.answers` writes the objects of the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

Triple: TypeAlias = tuple[str, str, str]
"""`(subject, predicate, object)`: the identity of an edge (`protocol.md` 7)."""

Metadata: TypeAlias = Mapping[str, Any]
"""What a store knows of a node or an edge beyond its identity."""

NO_METADATA: Metadata = MappingProxyType({})
"""The metadata of a record that brings none; read-only, so it can be shared."""


class Edge(NamedTuple):
    """A directed relationship between two entities."""

    subject: str
    """Canonical id of the node that the edge leaves."""
    predicate: str
    """What the relationship is, in the spelling that `describe_schema` lists."""
    object: str
    """Canonical id of the node that the edge enters."""


class EntityStub(NamedTuple):
    """Identity of an entity: a search candidate, or a node without detail."""

    id: str
    """Canonical id."""
    entity_type: str
    """The one type that filters and summaries use."""
    name: str | None = None
    """Display name; given by search, absent from the stubs of an answer."""
    score: float | None = None
    """Vector similarity, 0 to 1; None unless the match was made by vectors."""


class Node(NamedTuple):
    """An entity that exists, with whatever detail came along for nothing."""

    id: str
    """Canonical id: the spelling that core uses and echoes from here on."""
    entity_type: str
    """The one type that filters and summaries use."""
    metadata: Metadata = NO_METADATA
    """Often empty: `metadata_for_node` is the call that brings detail."""


@dataclass(frozen=True, slots=True)
class EdgeWithMetadata:
    """An edge with everything that the store knows of it."""

    subject: str
    predicate: str
    object: str
    metadata: Metadata = field(default_factory=dict)
