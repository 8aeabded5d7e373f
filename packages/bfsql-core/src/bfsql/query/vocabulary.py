"""The names that the arguments of a call may use: types, predicates, keys, relations."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bfsql.models import EdgeDirection, Outline
from bfsql.models.expression import Computed
from bfsql.models.name_keys import ANY_TYPE, NAME, NO_NAME_KEYS, NameKeys
from bfsql.models.quotation import excerpt, listed
from bfsql.models.spelling import KnownNames


@dataclass(frozen=True, slots=True)
class Schema:
    """The vocabulary of a graph."""

    entity_types: tuple[str, ...]
    predicates: tuple[str, ...]
    comprehensive: bool
    """Whether the two lists are complete."""
    name_keys: NameKeys = NO_NAME_KEYS
    is_timed: bool = False
    """Whether properties say when facts hold."""

    @property
    def empty(self) -> bool:
        """Whether both lists are empty."""
        return not self.entity_types and not self.predicates


NOTHING_COMPUTED: Mapping[str, Computed] = {}


class Names:
    """What a property may be called: types and predicates in front of it, and keys.

    Attributes:
        types: The types.
        predicates: The predicates.
        keys: The keys of nodes; None if they are not known.
        computed: The expressions that the call gives a name.
    """

    def __init__(
        self,
        types: Iterable[str],
        predicates: Iterable[str],
        name_keys: NameKeys = NO_NAME_KEYS,
        keys: Collection[str] | None = None,
        computed: Mapping[str, Computed] = NOTHING_COMPUTED,
    ) -> None:
        self.types, self.predicates = frozenset(types), frozenset(predicates)
        self.keys, self.computed = keys, computed
        self._name_keys = name_keys

    def union(self, types: Iterable[str], predicates: Iterable[str]) -> Names:
        """These names and others."""
        own = self.types, self.predicates
        others = self._name_keys, self.keys, self.computed
        return Names(own[0].union(types), own[1].union(predicates), *others)

    def key(self, key: str, scope: str | None, steps: int | None) -> tuple[str, str | None]:
        """The key of a property as metadata has it, and its scope.

        Without a path, a key that is the name of one type alone applies to that type.
        """
        if scope is not None and scope not in self.types:
            return key, scope
        named = self._name_keys.types_of(key, None if scope is None else (scope,))
        only = next(iter(named)) if len(named) == 1 and steps is None else scope
        return (NAME, None if only == ANY_TYPE else only) if named else (key, scope)

    @property
    def of_nodes(self) -> frozenset[str]:
        """What every node has, or what is read as it, beside the keys."""
        return frozenset((NAME, "id", *self._name_keys.types))

    @cached_property
    def known_names(self) -> KnownNames:
        """The types and predicates."""
        return KnownNames(self.types | self.predicates)


NO_NAMES = Names((), ())
UNCOUNTED = Outline(sampled=True)
"""The outline of a graph that is not counted."""


@dataclass(frozen=True)
class Vocabulary:
    """The names that a path may use."""

    schema: Schema
    """Types and predicates of the graph."""
    outline: Outline = UNCOUNTED
    """The outline of the graph, as far as it is known."""
    keys: Collection[str] | None = None
    """The keys of nodes; None if they are not known, or were not needed yet."""
    readings: dict[Hashable, Any] = field(default_factory=dict, compare=False)
    """What earlier calls read with these names, by their texts; see `EndResolver`."""

    @cached_property
    def types(self) -> KnownNames:
        """The types of the graph."""
        return KnownNames(self.schema.entity_types)

    @cached_property
    def predicates(self) -> KnownNames:
        """The predicates of the graph."""
        return KnownNames(self.schema.predicates)

    @cached_property
    def scopes(self) -> Names:
        """Both of them, as scopes of properties."""
        return Names(self.schema.entity_types, self.schema.predicates, keys=self.keys)

    def leaving(self, types: Collection[str] | None) -> list[str]:
        """The relations of some types, as steps that start there, the most frequent first."""
        steps: dict[str, None] = {}
        for subject, predicate, other, *_ in self.outline.relations:
            if types is None or subject in types:
                steps[f"-{predicate}-> {other}"] = None
            if types is None or other in types:
                steps[f"<-{predicate}- {subject}"] = None
        return list(steps)

    def directions(
        self, predicates: Collection[str], types: Collection[str] | None
    ) -> set[EdgeDirection]:
        """The directions in which edges of some predicates may leave some types (None: any)."""
        known = self.outline
        if known.sampled or known.relations_left_out or types is None:
            return {"out", "in"}
        own = [one for one in known.relations if one.predicate in predicates]
        found: set[EdgeDirection] = {"out"} if any(r.subject_type in types for r in own) else set()
        return found | ({"in"} if any(r.object_type in types for r in own) else set())


def nearest(known: KnownNames, name: str) -> str:
    """A sentence with the known names that are most like an unknown one; empty if none is."""
    near = [spellings[0] for spellings in known.nearest(name)]
    return f" The nearest: {listed(near)}." if near else ""


def read_as(argument: str, written: str, name: str) -> str:
    """A note on a name that was written in another case."""
    return f"{argument}: read {excerpt(written)} as {excerpt(name)}."
