"""The schema of a graph: labels and their rank, relationship types, id properties, indexes.

The schema is read when the graph is opened, and again when it has changed (`discovery`).
The rank of a label decides which label of a node is its type. The rank of
known labels never changes: new ones come after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bfsql.models.merge import UNTYPED
from bfsql_neo4j.id_templates import IdTemplate, id_template
from bfsql_neo4j.settings import Neo4jSettings, for_all


@dataclass(frozen=True, slots=True)
class Dialect:
    """The Cypher dialect of one server."""

    element: str = "elementId"
    """The function that returns a node's own identifier."""
    text: str = "toStringOrNull"
    """The function that converts a value to text."""
    scoped: bool = True
    """Whether a subquery lists the variables that it imports: `CALL () {...}`."""
    procedures: bool = True
    """Whether it has Neo4j's procedures and `SHOW INDEXES`."""

    def element_id(self, text: str) -> str:
        """An element id given as text, as the function `element` returns it: `id` uses numbers."""
        return text if self.element == "elementId" else f"toInteger({text})"

    def count(self, pattern: str) -> str:
        """The number of matches of a pattern; of relationships, Neo4j reads it in one step."""
        return f"COUNT {{ {pattern} }}" if self.procedures else f"size([{pattern} | 1])"

    @classmethod
    def of(cls, agent: str) -> Dialect:
        """The dialect of a server, by its name and version."""
        name, _, version = agent.partition("/")
        if name != "Neo4j" or "compatible" in version:  # Memgraph claims to be compatible
            return cls(element="id", text="toString", scoped=False, procedures=False)
        numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
        return cls(scoped=numbers >= [5, 23])


@dataclass(frozen=True)
class GraphSchema:
    """The result of one reading of the graph; immutable, but replaced by the next reading."""

    dialect: Dialect
    common_ids: Sequence[str]
    """Properties that hold the id of a node, best first."""
    names: Sequence[str]
    """Properties that hold the display name, best first."""
    aliases: Sequence[str]
    """Properties that hold further names."""
    label_ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Id properties and templates of labels that have their own, in the order of the settings."""
    label_names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Name properties of labels that have their own."""
    labels: Mapping[str, int] = field(default_factory=dict)
    """Labels of nodes in the order of their rank, with their node counts."""
    excluded: tuple[str, ...] = ()
    """Labels that occur and whose nodes are left out."""
    types: Mapping[str, int | None] = field(default_factory=dict)
    """Every `entity_type`, with its number of nodes if that was counted."""
    followed: tuple[str, ...] | None = None
    """Relationship types that are followed; None for all."""
    predicates: Mapping[str, str] = field(default_factory=dict)
    """Relationship type to predicate, for those that are followed."""
    seeks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id property to the labels that have an index for it."""
    scans: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id property to the labels that have no index for it."""
    unlabelled: int = 0
    """Nodes without a label."""
    without_id: int | None = 0
    """Nodes with a label but without an id property; None if they were not counted."""
    aliased: tuple[str, ...] = ()
    """Element ids of the nodes that share their id with another node."""
    shared_ids: tuple[str, ...] = ()
    """Some of the ids that several nodes have."""
    fulltext: str | None = None
    """Name of the full-text index; None if search does without one."""
    vector: str | None = None
    """Name of the vector index."""
    evidence: bool = False
    """Whether there is an index that finds the items a document supplied."""
    unsearched: tuple[str, ...] = ()
    """Labels whose nodes are not in the full-text index."""
    name_indexes: Mapping[str, tuple[str, ...]] | None = None
    """Name property to the labels with an index on it, if search is bounded: without a full-text
    index, and without the setting to compare every name.
    """

    @classmethod
    def empty(cls, dialect: Dialect, settings: Neo4jSettings) -> GraphSchema:
        """The schema of a graph without nodes."""
        ids, names = for_all(settings.id_property), for_all(settings.name_property)
        return cls(dialect, ids, names, settings.alias_property)

    @cached_property
    def rank(self) -> dict[str, int]:
        """Label to rank: the label of a node with the smallest rank is its type."""
        return {label: place for place, label in enumerate(self.labels)}

    @cached_property
    def templates(self) -> dict[str, IdTemplate]:
        """The templates of ids by their text, which takes the place of a property's name."""
        every = {name: id_template(name) for name in sorted(self.every_id_property)}
        return {text: template for text, template in every.items() if not template.is_property}

    @cached_property
    def parameters(self) -> dict[str, list[str]]:
        """Parameters for every statement about nodes."""
        given = {"aliased": list(self.aliased)} if self.aliased else {}
        if self.templates:
            given["prefixes"] = [template.prefix for template in self.templates.values()]
        return given

    @cached_property
    def searched(self) -> list[str]:
        """Every property that may hold a name of a node."""
        own = [name for names in self.label_names.values() for name in names]
        return list(dict.fromkeys([*self.names, *own, *self.aliases]))

    def relationship_types(self, predicates: Collection[str]) -> tuple[str, ...]:
        """The relationship types of some predicates, sorted."""
        wanted = frozenset(predicates)
        return tuple(sorted(name for name, one in self.predicates.items() if one in wanted))

    @cached_property
    def every_id_property(self) -> frozenset[str]:
        """The properties that may hold the id of a node with any labels."""
        return frozenset(self.common_ids).union(*self.label_ids.values())

    def id_properties(self, labels: Collection[str]) -> Sequence[str]:
        """Properties that may hold the id of a node with these labels, best first."""
        own = (names for label, names in self.label_ids.items() if label in labels)
        return next(own, self.common_ids)

    def count_types(self, label_sets: Iterable[tuple[Sequence[str], int]]) -> Counter[str]:
        """The number of nodes by type, from that of each set of labels that occurs."""
        excluded = set(self.excluded)
        counts: Counter[str] = Counter()
        for labels, number in label_sets:
            if excluded.isdisjoint(labels):
                counts[self.type_of(labels)] += number
        return counts

    def type_of(self, labels: Sequence[str]) -> str:
        """The type of a node: its first label by rank, with unknown labels last, by name."""
        if len(labels) == 1:
            return labels[0]
        if not labels:
            return UNTYPED
        rank, last = self.rank, len(self.rank)
        return min(labels, key=lambda label: (rank.get(label, last), label))


def ranked(
    counts: Mapping[str, int], settings: Neo4jSettings, before: Iterable[str] = ()
) -> dict[str, int]:
    """Labels with their counts, by rank: as before, by the settings, the rarest first, by name."""
    by_rarity = sorted(counts, key=lambda label: (counts[label], label))
    order = dict.fromkeys([*before, *settings.type_priority, *by_rarity])
    return {label: counts[label] for label in order if label in counts}


def predicates(types: Iterable[str], *, preserve_case: bool) -> dict[str, str]:
    """Relationship type to predicate: in lower case, unless two would then be equal."""
    names = list(types)
    if preserve_case:
        return {name: name for name in names}
    alike = Counter(name.lower() for name in names)
    return {name: name.lower() if alike[name.lower()] == 1 else name for name in names}
