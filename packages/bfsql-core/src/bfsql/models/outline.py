"""The contents of a graph in counts: types, relations and properties (`protocol.md` 29).

A store counts its nodes and edges in its own way and passes on the metadata of all of
them or of a sample. `outline_of` computes the outline, so that it is the same for every
store that holds the same graph.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias

from bfsql.models.json_values import iso_text, json_number
from bfsql.models.merge import value_order
from bfsql.models.pattern import Step
from bfsql.models.records import Metadata

MOST_RELATIONS = 1_000
"""Maximum number of relations in an outline, the most frequent first."""
MOST_PROPERTIES = 40
"""Maximum number of properties of a type or predicate in an outline, the most frequent first."""
COMMON_VALUES = 8
"""Maximum number of values that an outline lists for a property."""

_DISTINCT = 32
"""Maximum number of different values of a property that is a choice between them, not free text."""
_VALUE_CHARACTERS = 40
"""Maximum length of a listed value."""
MOST_KEYS = 200
"""Maximum number of keys of a type or predicate that are examined."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.,+\-Z]*)?")

Kind: TypeAlias = Literal["text", "number", "date", "flag", "list", "object"]


class Relation(NamedTuple):
    """Edges of one predicate from nodes of one type to nodes of one type."""

    subject_type: str
    predicate: str
    object_type: str
    edges: int | None = None
    """Number of edges; None if it is not known, as in a sample."""
    ended: int | None = None
    """Number of edges that hold until some time; None if it is not known."""

    def fields(self) -> dict[str, Any]:
        """The fields by name, without numbers that are not known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


@dataclass(frozen=True, slots=True)
class Property:
    """A key of the metadata of a type's nodes or of a predicate's edges."""

    name: str
    kind: Kind
    minimum: int | float | str | None = None
    """Smallest value of numbers and ISO dates."""
    maximum: int | float | str | None = None
    """Largest value of numbers and ISO dates."""
    values: tuple[str, ...] = ()
    """The most frequent values, at most `COMMON_VALUES`, in their order; empty if values do
    not repeat.
    """
    further_values: int = 0
    """Number of values besides these."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The outline of a graph."""

    node_counts: Mapping[str, int] = field(default_factory=dict)
    """Number of nodes by type; empty if they are not counted."""
    relations: Sequence[Relation] = ()
    """The relations, the most frequent first, then by name; in a sample without numbers."""
    relations_left_out: int = 0
    """Number of relations beyond `MOST_RELATIONS`."""
    node_properties: Mapping[str, Sequence[Property]] = field(default_factory=dict)
    """Properties by type; sorted by name."""
    edge_properties: Mapping[str, Sequence[Property]] = field(default_factory=dict)
    """Properties by predicate; sorted by name."""
    sampled: bool = False
    """Whether the relations come from a part of the graph; properties always may."""
    tables: Sequence[tuple[str, ...]] = field(default_factory=list)
    """How a load read tables by their keys, as `bfsql.sources.keys.summary` has it."""

    def __post_init__(self) -> None:
        """Remove the numbers of edges in a sample, which nobody may take for counts."""
        if self.sampled:
            uncounted = [one._replace(edges=None, ended=None) for one in self.relations]
            object.__setattr__(self, "relations", uncounted)

    @property
    def without_ends(self) -> Outline:
        """The outline without the numbers of edges that end."""
        return replace(self, relations=[one._replace(ended=None) for one in self.relations])

    @property
    def relations_from(self) -> Literal["all", "sample"]:
        """Where the relations come from, in the words of answers."""
        return "sample" if self.sampled else "all"

    def has_edges(self, step: Step) -> bool | None:
        """Whether the graph has edges that a step may take; None if that is not known.

        Conditions on properties and relations are not considered. The graph has the predicates that
        a step names, so one without types has edges.
        """
        ends = step.types
        for subject, predicate, other, *_ in self.relations:
            out = step.direction != "in" and (ends is None or other in ends)
            into = step.direction != "out" and (ends is None or subject in ends)
            if (out or into) and (step.predicates is None or predicate in step.predicates):
                return True
        return (ends is None or None) if self.sampled or self.relations_left_out else False

    @property
    def edge_counts(self) -> dict[str, int]:
        """Number of edges by predicate, the most frequent first; empty in a sample."""
        edges: Counter[str] = Counter()
        for relation in self.relations:
            edges[relation.predicate] += relation.edges or 0
        return {} if self.sampled else dict(edges.most_common())

    @property
    def mean_degrees(self) -> dict[str, float] | None:
        """Mean number of edges per node by type, the largest first; None in a sample.

        A loop counts twice.
        """
        if self.sampled:
            return None
        ends: Counter[str] = Counter()
        for relation in self.relations:
            ends[relation.subject_type] += relation.edges or 0
            ends[relation.object_type] += relation.edges or 0
        means = {name: round(ends[name] / n, 2) for name, n in self.node_counts.items() if n}
        return dict(sorted(means.items(), key=lambda one: (-one[1], one[0])))


def outline_of(
    node_counts: Mapping[str, int],
    edge_counts: Mapping[tuple[str, str, str], int],
    nodes: Iterable[tuple[str, Metadata]] = (),
    edges: Iterable[tuple[str, Metadata]] = (),
    *,
    sampled: bool = False,
    ended: Mapping[tuple[str, str, str], int] | None = None,
) -> Outline:
    """The outline of a graph.

    Args:
        node_counts: Number of nodes by type; empty if only a part of the nodes was counted.
        edge_counts: Number of edges by type of the subject, predicate and type of the object.
            Edges with an end that is not a node are not counted. The numbers of a sample only
            determine the order of the relations.
        nodes: Type and metadata of nodes, or of a sample; read once, one at a time.
        edges: Predicate and metadata of edges, or of a sample; read in the same way.
        sampled: Whether `edge_counts` come from a part of the graph.
        ended: Number of edges that have an end, of the relations of which it is known.
    """
    of = ended or {}
    relations = [one._replace(ended=of.get(one[:3])) for one in ranked_relations(edge_counts)]
    return Outline(
        node_counts={t: count for t, count in sorted(node_counts.items()) if count},
        relations=relations[:MOST_RELATIONS],
        relations_left_out=len(relations[MOST_RELATIONS:]),
        node_properties=properties_of(nodes),
        edge_properties=properties_of(edges),
        sampled=sampled,
    )


def ranked_relations(edge_counts: Mapping[tuple[str, str, str], int]) -> list[Relation]:
    """The relations of some edges, the most frequent first, then by name."""
    every = sorted(edge_counts.items(), key=lambda one: (-one[1], one[0]))
    return [Relation(*ends, count) for ends, count in every if count]


def properties_of(records: Iterable[tuple[str, Metadata]]) -> dict[str, list[Property]]:
    """The properties in some metadata, by type or predicate.

    Args:
        records: A type or a predicate, and the metadata of one of its nodes or edges.
    """
    found: dict[str, dict[str, _Values]] = {}
    for owner, metadata in records:
        known = found.setdefault(owner, {})
        for key, value in metadata.items():
            if value is None:
                continue
            name = str(key)
            if name in known:
                known[name].add(value)
            elif len(known) < MOST_KEYS:
                known[name] = values = _Values()
                values.add(value)
    return {owner: _most_frequent(found[owner]) for owner in sorted(found) if found[owner]}


def _most_frequent(known: Mapping[str, _Values]) -> list[Property]:
    ranked = sorted(known.items(), key=lambda one: (-one[1].records, one[0]))
    return [values.described(name) for name, values in sorted(ranked[:MOST_PROPERTIES])]


class _Values:
    """The values of one property, counted while there are few."""

    def __init__(self) -> None:
        self.records = 0
        self._kinds: set[Kind] = set()
        self._counts: Counter[Any] | None = Counter()
        self._measured = False
        self._least: Any = None
        self._greatest: Any = None

    def add(self, value: Any) -> None:
        """Count the value of one record."""
        self.records += 1
        if isinstance(value, list | tuple | set | frozenset):
            self._kinds.add("list")
            for item in itertools.islice(value, 20):
                self._count(*_plain(item))
        else:
            kind, plain = _plain(value)
            self._kinds.add(kind)
            self._count(kind, plain)
            if kind in {"number", "date"}:
                self._extend(plain)

    def _count(self, kind: Kind, value: Any) -> None:
        self._measured = self._measured or isinstance(value, float)
        if self._counts is None:
            return
        if kind == "object" or (isinstance(value, str) and len(value) > _VALUE_CHARACTERS):
            self._counts = None
            return
        self._counts[kind, value] += 1
        if len(self._counts) > _DISTINCT:
            self._counts = None

    def _extend(self, value: Any) -> None:
        if len(self._kinds) > 1:  # a property of several kinds has no range
            return
        if self._least is None or value < self._least:
            self._least = value
        if self._greatest is None or value > self._greatest:
            self._greatest = value

    def described(self, name: str) -> Property:
        """The property with these values."""
        kind: Kind = next(iter(self._kinds)) if len(self._kinds) == 1 else "text"
        values, further = self._choice()
        if further and kind != "text":
            values, further = (), 0
        if kind not in {"number", "date"}:
            return Property(name, kind, values=values, further_values=further)
        if not self._measured:
            return Property(name, kind, self._least, self._greatest, values)
        return Property(name, kind, _measure(self._least), _measure(self._greatest))

    def _choice(self) -> tuple[tuple[str, ...], int]:
        """The most frequent values in order, and the number of the others."""
        counts = self._counts
        if not counts or counts.total() < 2 * len(counts):  # names seldom repeat
            return (), 0
        ranked = sorted(counts, key=lambda one: (-counts[one], value_order(one[1])))
        shown = sorted((value for _, value in ranked[:COMMON_VALUES]), key=value_order)
        texts = (_text(_measure(value) if self._measured else value) for value in shown)
        return tuple(dict.fromkeys(texts)), len(ranked[COMMON_VALUES:])


def _plain(value: Any) -> tuple[Kind, Any]:  # noqa: PLR0911 - one line a kind
    """The kind of a value, and the value in JSON form."""
    match value:
        case bool():
            return "flag", value
        case Decimal():
            return _plain(json_number(value))
        case int():
            return "number", value
        case float():
            return ("number", value) if math.isfinite(value) else ("text", str(value))
        case dt.date():  # a datetime is a date
            return "date", iso_text(value)
        case str():
            return ("date" if _DATE.fullmatch(value) else "text"), value
        case _:
            return "object", None


def _measure(value: Any) -> Any:
    """A whole number as a float if it is exact as one: 1 and 1.0 are the same value."""
    exact = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53
    return float(value) if exact else value


def _text(value: Any) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)
