"""Keys `subject:predicate:object` of kgraph evidence, taken apart.

Ids hold colons themselves (`RxNorm:3251:TREATS:DBPedia:Cushing's_disease`), and
predicates may. A known predicate between two colons is where a key parts; when
there are several such places, the one whose triple is a relationship is right,
and the relationships are read once more to find out. That is rare, so what it
needs is kept for the ambiguous keys alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bfsql.models.records import Triple
from bfsql.models.stream import EvidenceRecord
from bfsql.sources.fields import Unusable, shown
from bfsql.sources.jsonlines import objects

_WAITING = 10_000


class RelationshipKeys:
    """Takes keys apart by the predicates that occur.

    Args:
        relationships: The file that settles what can be read in several ways.
    """

    def __init__(self, relationships: Path) -> None:
        self._relationships = relationships
        self._predicates: set[str] = set()
        self._lengths: set[int] = set()
        self._waiting: list[tuple[str, list[Triple], dict[str, Any]]] = []

    def add(self, predicate: str) -> None:
        """Makes a predicate known."""
        if predicate not in self._predicates:
            self._predicates.add(predicate)
            self._lengths.add(predicate.count(":") + 1)

    def evidence(self, key: str, item: dict[str, Any]) -> Iterator[EvidenceRecord]:
        """The record of a passage, unless its key has to wait for `settled`.

        Args:
            key: `subject:predicate:object`.
            item: The passage.

        Raises:
            Unusable: No known predicate stands in the key.
        """
        ways = self.ways(key)
        if not ways:
            raise Unusable(
                f"relationship_key {shown(key)} is not subject:predicate:object with a predicate "
                "of the relationships"
            )
        if len(ways) == 1:
            yield EvidenceRecord(*ways[0], item)
            return
        self._waiting.append((key, ways, item))
        if len(self._waiting) >= _WAITING:
            yield from self.settled()

    def ways(self, key: str) -> list[Triple]:
        """Every triple that the key can mean, the shortest subject first."""
        parts = key.split(":")
        spans = (
            (start, start + length)
            for start in range(1, len(parts) - 1)
            for length in sorted(self._lengths)
            if start + length < len(parts)
        )
        triples = (
            (":".join(parts[:i]), ":".join(parts[i:j]), ":".join(parts[j:])) for i, j in spans
        )
        return [t for t in triples if t[0] and t[1] in self._predicates and t[2]]

    def settled(self) -> Iterator[EvidenceRecord]:
        """The passages that waited; one that fits no relationship takes its first reading."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        asked = {triple for _, ways, _ in waiting for triple in ways}
        lines = (line for _, line in objects(self._relationships) if isinstance(line, dict))
        fields = ("subject_id", "predicate", "object_id")
        there = asked.intersection(tuple(str(x.get(field)) for field in fields) for x in lines)
        for _, ways, item in waiting:
            right = next((triple for triple in ways if triple in there), ways[0])
            yield EvidenceRecord(*right, item)
