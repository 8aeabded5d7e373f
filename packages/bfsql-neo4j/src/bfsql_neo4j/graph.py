"""A graph as it was seen last: its shape, its statements, and the indexes that search asks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bfsql_neo4j.identity import ELEMENT, candidates
from bfsql_neo4j.queries import Queries
from bfsql_neo4j.shape import Shape, type_of


@dataclass(frozen=True)
class Graph:
    """One look, and what follows from it; never changed, replaced by the next look."""

    shape: Shape
    queries: Queries
    fulltext: str | None = None
    """Name of the full-text index; None where search goes without one."""
    vector: str | None = None
    """Name of the vector index."""
    contains: bool = False
    """Whether search looks at every name."""
    evidence: bool = False
    """Whether there is an index that finds what a document supplied."""
    unsearched: tuple[str, ...] = ()
    """Labels whose nodes the full-text index does not hold."""

    @cached_property
    def rank(self) -> dict[str, int]:
        """Label to its place."""
        return self.shape.rank

    @cached_property
    def parameters(self) -> dict[str, list[str]]:
        """What statements about nodes need besides what they are asked."""
        return {"aliased": list(self.shape.aliased)} if self.shape.aliased else {}

    def asked(self, ids: Collection[str]) -> tuple[bool, dict[str, Any]]:
        """Whether a statement about these ids looks for elements, and its parameters."""
        elements = [i.removeprefix(ELEMENT) for i in ids if i.startswith(ELEMENT)]
        values = [value for entity_id in ids for value in candidates(entity_id)]
        return bool(elements), {"values": values, "elements": elements} | self.parameters

    def type_of(self, labels: Sequence[str]) -> str:
        """The type of a node."""
        return labels[0] if len(labels) == 1 else type_of(labels, self.rank)[0]
