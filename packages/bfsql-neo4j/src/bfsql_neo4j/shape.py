"""What a graph looks like: labels and their rank, relationship types, what is indexed.

It is read when the graph is opened, and again when it has changed. The rank of
a label decides which label of a node is its type, and never changes for the
labels that were there: new ones come after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bfsql.models.merge import UNTYPED
from bfsql_neo4j.settings import Neo4jSettings


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server that speaks Bolt understands."""

    element: str = "elementId"
    """The function that gives a node's own identifier."""
    text: str = "toStringOrNull"
    """The function that makes text of a value."""
    scoped: bool = True
    """Whether a subquery says what it takes from outside: `CALL () {...}`."""
    procedures: bool = True
    """Whether it has Neo4j's procedures and `SHOW INDEXES`."""

    def given(self, text: str) -> str:
        """An element id given as text, as the function `element` gives it: `id` numbers."""
        return text if self.element == "elementId" else f"toInteger({text})"

    @classmethod
    def of(cls, agent: str) -> Dialect:
        """The dialect of a server, by what it calls itself."""
        name, _, version = agent.partition("/")
        if name != "Neo4j" or "compatible" in version:  # Memgraph says that it is compatible
            return cls(element="id", text="toString", scoped=False, procedures=False)
        numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
        return cls(scoped=numbers >= [5, 23])


@dataclass(frozen=True, slots=True)
class Identity:
    """Which properties hold the id of a node."""

    by_label: Mapping[str, Sequence[str]]
    """For some labels, theirs, best first."""
    common: Sequence[str]
    """For all other nodes."""

    def properties(self, labels: Iterable[str]) -> Sequence[str]:
        """Those of a node with these labels; of two labels with own ones, the first in settings."""
        have = set(labels)
        return next((own for label, own in self.by_label.items() if label in have), self.common)

    def bearer(self, labels: Iterable[str], properties: Mapping[str, Any]) -> str | None:
        """The property that holds a node's id; None where no one does."""
        return next((name for name in self.properties(labels) if name in properties), None)


@dataclass(frozen=True, slots=True)
class Shape:
    """One look at a graph."""

    identity: Identity
    labels: Mapping[str, int] = field(default_factory=dict)
    """Labels of nodes in the order of their rank, with how many nodes bear them."""
    excluded: tuple[str, ...] = ()
    """Labels that are there and should not be."""
    types: Mapping[str, int | None] = field(default_factory=dict)
    """What occurs as `entity_type`, with how many nodes are of it, where that was counted."""
    relationships: tuple[str, ...] = ()
    """Relationship types that are followed."""
    followed: tuple[str, ...] | None = None
    """The same where others are not followed; None where all are."""
    predicates: Mapping[str, str] = field(default_factory=dict)
    """Relationship type to predicate."""
    seeks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id property to the labels that have an index for it."""
    scans: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id property to the labels that have none."""
    unlabelled: int = 0
    """Nodes without a label."""
    without_id: int | None = 0
    """Nodes with a label and without an id property; None where nobody counted."""
    aliased: tuple[str, ...] = ()
    """Element ids of the nodes whose id another node bears, too."""
    doubled: tuple[str, ...] = ()
    """Such ids, a few."""

    @classmethod
    def empty(cls) -> Shape:
        """Of a graph with nothing in it."""
        return cls(Identity({}, ()))

    @property
    def rank(self) -> dict[str, int]:
        """Label to its place: the smallest of a node's labels is its type."""
        return {label: place for place, label in enumerate(self.labels)}


def ranked(
    counts: Mapping[str, int], settings: Neo4jSettings, before: Iterable[str] = ()
) -> dict[str, int]:
    """Labels in the order of their rank: as before, by the settings, the rarest first, by name.

    Args:
        counts: Labels with how many nodes bear them.
        settings: `type_priority`.
        before: The order that holds already.
    """
    by_rarity = sorted(counts, key=lambda label: (counts[label], label))
    order = dict.fromkeys([*before, *settings.type_priority, *by_rarity])
    return {label: counts[label] for label in order if label in counts}


def folded(types: Iterable[str], *, preserve_case: bool) -> dict[str, str]:
    """Relationship type to predicate: in lower case, unless two would be the same then."""
    names = list(types)
    if preserve_case:
        return {name: name for name in names}
    alike: dict[str, int] = {}
    for name in names:
        alike[name.lower()] = alike.get(name.lower(), 0) + 1
    return {name: name.lower() if alike[name.lower()] == 1 else name for name in names}


def type_of(labels: Sequence[str], rank: Mapping[str, int]) -> tuple[str, list[str]]:
    """A node's type, and its other labels sorted.

    Args:
        labels: In any order.
        rank: Label to place; a label that is not in it comes last, by name.
    """
    if len(labels) == 1:
        return labels[0], []
    if not labels:
        return UNTYPED, []
    last = len(rank)
    first = min(labels, key=lambda label: (rank.get(label, last), label))
    return first, sorted(label for label in labels if label != first)
