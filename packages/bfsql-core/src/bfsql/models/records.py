"""Nodes and edges, as they pass between backend and core and from sources to loaders.

The two that occur in tens of thousands are tuples: a ring of edges is a flat
iterable of `(subject, predicate, object)`, whatever rows the driver returns, and
`Edge` is the same tuple with names. None of these is passed to a JSON encoder:
`bfsql.answers` writes the objects of the protocol.

A source is an iterator of `NodeRecord`, `EdgeRecord`, `EvidenceRecord` and
`Refusal` in any order: an edge may precede its nodes, evidence may precede its
edge. The loader merges records of one item by the rules of `bfsql.models.merge`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

Triple: TypeAlias = tuple[str, str, str]
"""`(subject, predicate, object)`: the identity of an edge (`protocol.md` 7)."""

Metadata: TypeAlias = Mapping[str, Any]
"""The store's data about a node or an edge beyond its identity."""

NO_METADATA: Metadata = MappingProxyType({})
"""The metadata of a record without any; read-only, so it can be shared."""


class Snapshot(bytes):
    """A record of metadata as a cache holds it, pickled as the store returned it."""

    shown: bytes | None = None
    """As answers show it in JSON, without some keys; None until one from the cache has shown it."""
    without: Collection[str] = ()
    """These keys."""


class HeldMetadata(dict[str, Any]):
    """Metadata from a cache, in a new mapping that knows what it was made from.

    Nothing in core changes it; what a hook may change is a copy, which is a plain dictionary.
    """

    __slots__ = ("snapshot",)
    snapshot: Snapshot

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        """A pickled or a deep copy is a plain dictionary, too."""
        return dict, (dict(self),)


class Edge(NamedTuple):
    """A directed relationship between two entities."""

    subject: str
    """Canonical id of the node that the edge leaves."""
    predicate: str
    """The kind of relationship, in the spelling that `describe_schema` lists."""
    object: str
    """Canonical id of the node that the edge enters."""


class EntityStub(NamedTuple):
    """Identity of an entity: a search candidate, or a node without detail."""

    id: str
    """Canonical id."""
    entity_type: str
    """The one type that filters and summaries use."""
    name: str | None = None
    """Display name; set in search results, absent from the stubs of an answer."""
    score: float | None = None
    """Vector similarity, 0 to 1; None unless the match was made by vectors."""


class Node(NamedTuple):
    """An entity that exists, with the detail that the same call returned."""

    id: str
    """Canonical id: the spelling that core uses and echoes from here on."""
    entity_type: str
    """The one type that filters and summaries use."""
    metadata: Metadata = NO_METADATA
    """Often empty: `metadata_for_node` is the call that returns detail."""


@dataclass(frozen=True, slots=True)
class EdgeWithMetadata:
    """An edge with all its metadata in the store."""

    subject: str
    predicate: str
    object: str
    metadata: Metadata = field(default_factory=dict)


# --- what a backend left out --------------------------------------------------

EdgeDirection: TypeAlias = Literal["out", "in"]
"""Edges that leave the requested nodes, or that enter them."""

Direction = Literal["out", "in", "both", "search", "metadata", "nodes", "values", "graph"]


@dataclass(frozen=True, slots=True)
class Omission:
    """Data of the store missing from an answer: edges of a node, search hits, values of metadata.

    Only `bfsql.answers` turns it into a sentence (`protocol.md` 11).
    """

    id: str
    """Canonical id of the node whose edges are incomplete, or the text that was searched for."""
    direction: Direction = "both"
    """Which of its edges: leaving it, entering it, or both. `search` for a text that was searched
    only in names, because it could not be compared by meaning, or, if there is a reason, for a
    search that was incomplete. `metadata` for a record whose redaction failed on the server behind
    this one. `nodes` for entities that `nodes_stream` did not return; `id` is then a type, or `*`.
    `values` for a value that is larger than a call may read: `id` is its node, or its edge as
    `edge_label` writes it, `at_least` its size in bytes, and `reason` its key; None for all values.
    `graph` for one of several graphs that did not answer: `id` is its name.
    """
    at_least: int | None = None
    """Minimum number of missing edges or bytes, or None if that is unknown."""
    reason: str | None = None
    """The reason, in a few words for the model: `the endpoint's row limit`."""
    lasting: bool = False
    """Whether no call can show it, because no tool could name it: a node without an id."""

    @property
    def passing(self) -> bool:
        """Whether a later request may return the data, so that no cache holds the answer."""
        return self.direction in {"search", "metadata", "graph"}


def edge_label(edge: Triple) -> str:
    """An edge as an omission names it."""
    return f"{edge[0]} -{edge[1]}-> {edge[2]}"


# --- what sources give and loaders take ---------------------------------------


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One description of an entity; several with one id are merged.

    An empty `entity_type` means that this record has no type: the first type of
    another record is used, further types become `other_types` in the metadata, and
    a node without any is an `owl:Thing`.
    """

    id: str
    entity_type: str
    metadata: dict[str, Any] = field(default_factory=dict)
    """Search uses `name` and `synonyms` (a list); the rest is detail."""


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    """One description of a relationship; several of one triple are merged."""

    subject: str
    predicate: str
    object: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """A passage that supports an edge; it becomes an item of the edge's `provenance`."""

    subject: str
    predicate: str
    object: str
    item: dict[str, Any]
    """`document_id`, `section`, `text_span`, `confidence`, and any further fields."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that could not be used, and the reason; the import continues without it."""

    path: Path | str
    line: int | None
    """1-based, or None in formats without lines."""
    reason: str

    def __str__(self) -> str:
        where = f"{self.path}" if self.line is None else f"{self.path}, line {self.line}"
        return f"{where}: {self.reason}"


GraphRecord: TypeAlias = NodeRecord | EdgeRecord | EvidenceRecord
"""The records that a loader takes."""

GraphStream: TypeAlias = Iterator[NodeRecord | EdgeRecord | EvidenceRecord | Refusal]
"""The records that a source yields."""
