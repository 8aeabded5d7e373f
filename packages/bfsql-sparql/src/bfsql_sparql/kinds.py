"""Which of its types a node has: the most specific one, by a rule that never changes its mind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from bfsql_sparql.vocabulary import UNSPECIFIC


class Kinds:
    """The order of types.

    Types of the setting `type_priority` count first, in its order, then those of the wanted
    namespaces; those that say nothing count last. Of the others the one with the most
    classes above it counts, and of equals the first by code point.

    Args:
        priority: Types that count before all others, best first.
        namespaces: How the types begin that count next; none for no difference.
        above: Class to the classes right above it, as far as the store tells.
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
        """Number of classes above a type; those that contain each other count for each other."""
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
        """Types, the one that counts first, each once."""
        return sorted(set(types), key=self._rank)

    def _rank(self, type_: str) -> tuple[int, bool, bool, int, str]:
        at = self._priority.get(type_, len(self._priority))
        elsewhere = bool(self._namespaces) and not type_.startswith(self._namespaces)
        return at, type_ in UNSPECIFIC, elsewhere, -self.depth(type_), type_
