"""Which of the types of an RDF node is its main one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from bfsql.models.rdf import WELL_KNOWN

UNTYPED = WELL_KNOWN["owl"] + "Thing"
"""Type of nodes that have none (`protocol.md` 8)."""

UNSPECIFIC = (UNTYPED, WELL_KNOWN["owl"] + "NamedIndividual", WELL_KNOWN["rdfs"] + "Resource")
"""Types that count only where a node has no other."""

MOST_SUBCLASSES = 50_000
"""Most pairs of classes that are read; types of a graph with more are ranked without them."""


class TypeRanking:
    """The order in which the types of a node count, the same for the same types.

    Types of the setting `type_priority` come first, in its order, then those of the wanted
    namespaces; unspecific ones come last. Other types are ordered by the number of classes above
    them, the most first, then by code point.

    Args:
        priority: Types that precede all others, best first.
        namespaces: Prefixes of the types that come next; none for no distinction.
        above: Pairs of a class and its direct superclass, as far as the store has them.
    """

    def __init__(
        self,
        priority: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        above: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._priority = {type_: at for at, type_ in enumerate(priority)}
        self._namespaces = tuple(namespaces)
        self._above: Mapping[str, set[str]] = defaultdict(set)
        for class_, other in above:
            self._above[class_].add(other)
        self._depths: dict[str, int] = {}

    def depth(self, type_: str) -> int:
        """Number of classes above a type; classes that contain each other count for each other."""
        known = self._depths.get(type_)
        if known is None:
            reached = {type_}
            waiting = [type_]
            while waiting:
                new = self._above.get(waiting.pop(), set()) - reached
                reached |= new
                waiting += new
            known = self._depths[type_] = len(reached) - 1
        return known

    def ranked(self, types: Iterable[str]) -> list[str]:
        """Types by rank, each once."""
        return sorted(set(types), key=self._rank)

    def of_node(self, marks: Collection[str], types: Iterable[str]) -> list[str]:
        """All types of a node, the main one first; `owl:Thing` if there is none.

        A type that the loader marked comes first.
        """
        types = tuple(types)
        if len(types) == 1 and not marks:  # most nodes
            return list(types)
        return list(dict.fromkeys([*sorted(marks), *self.ranked(types)])) or [UNTYPED]

    def _rank(self, type_: str) -> tuple[int, bool, bool, int, str]:
        at = self._priority.get(type_, len(self._priority))
        elsewhere = bool(self._namespaces) and not type_.startswith(self._namespaces)
        return at, type_ in UNSPECIFIC, elsewhere, -self.depth(type_), type_
