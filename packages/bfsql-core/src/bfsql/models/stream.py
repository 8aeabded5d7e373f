"""The stream that graph files give and loaders take.

A source is an iterator of these records in any order: an edge may come before
its nodes, evidence before its edge. Records are merged by the loader, by the
rules of `bfsql.models.merge`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One description of an entity; several of one id are merged.

    An empty `entity_type` means that this record does not tell the type: the
    first record that does wins, further types become `other_types` in the
    metadata, and a node of which no record tells one is an `owl:Thing`.
    """

    id: str
    entity_type: str
    metadata: dict[str, Any] = field(default_factory=dict)
    """`name` and `synonyms` (a list) are what search looks at; the rest is detail."""


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
    """`document_id`, `section`, `text_span`, `confidence`, and whatever else is known."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that could not be used, and why; the import goes on without it."""

    path: Path | str
    line: int | None
    """1-based, or None in formats without lines."""
    reason: str

    def __str__(self) -> str:
        where = f"{self.path}" if self.line is None else f"{self.path}, line {self.line}"
        return f"{where}: {self.reason}"


GraphRecord: TypeAlias = NodeRecord | EdgeRecord | EvidenceRecord
"""What a loader takes."""

GraphStream: TypeAlias = Iterator[NodeRecord | EdgeRecord | EvidenceRecord | Refusal]
"""What a source gives."""


@dataclass(slots=True)
class LoadReport:
    """What an import did, in numbers of distinct things."""

    nodes: int = 0
    """Nodes now in the store."""
    edges: int = 0
    """Triples now in the store."""
    evidence: int = 0
    """Passages now in the store."""
    duplicate_nodes: int = 0
    """Further records of a node that was there, merged into it."""
    duplicate_edges: int = 0
    """Further records of a triple that was there, merged into it."""
    dangling_edges: int = 0
    """Triples with an end that no node record describes."""
    dangling_examples: list[str] = field(default_factory=list)
    """Ids of such ends, a few."""
    unattached_evidence: int = 0
    """Passages whose edge no record describes; they are kept out."""
    refusals: list[Refusal] = field(default_factory=list)
    """Lines refused; the first hundred are kept."""
    refused: int = 0
    """Number of all lines refused."""
