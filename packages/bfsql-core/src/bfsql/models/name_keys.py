"""The keys by which the data of a graph call what is `name` in metadata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from pydantic_core import from_json

NAME = "name"
ANY_TYPE = "*"
"""In place of a type: the key is the name of nodes of every type."""


class NameKeys:
    """The keys that mean `name`, such as the column that became the name of a table's nodes.

    Args:
        names: A type, or `ANY_TYPE`, and the key by which the data call the name of its nodes, in
            pairs.
        properties: A type and the key of a property of its nodes, in pairs; of keys in `names`.
    """

    def __init__(
        self, names: Iterable[tuple[str, str]] = (), properties: Iterable[tuple[str, str]] = ()
    ) -> None:
        every = set(properties)
        self.types: defaultdict[str, set[str]] = defaultdict(set)
        """The types of which a key is the name."""
        self._others: defaultdict[str, set[str]] = defaultdict(set)
        for kind, key in sorted(every.union(one for one in names if one[1] != NAME)):
            (self._others if (kind, key) in every else self.types)[key].add(kind)

    def types_of(self, key: str, types: Collection[str] | None = None) -> frozenset[str]:
        """Those of some types (None: all) of whose nodes a key is the name.

        Empty if the key is a property of one of them. Without types it may contain `ANY_TYPE`.
        """
        if key not in self.types:
            return frozenset()
        found, others = self.types[key], self._others.get(key, set())
        asked = found | others if types is None else set(types)
        if ANY_TYPE in others or others & asked:
            return frozenset()
        return frozenset(asked if ANY_TYPE in found else found & asked)

    def metadata_keys(self, keys: Iterable[str]) -> list[str]:
        """Keys of metadata to show: `name` for its keys, and beside those that mean more."""
        every = ((key, NAME) if key in self.types else (key,) for key in keys)
        return list(dict.fromkeys(one for own in every for one in own if not self.types_of(one)))

    def without(self, hides: Callable[[str], bool]) -> NameKeys:
        """Those of types that are not hidden."""
        every = (self.types, self._others)
        return NameKeys(*([(t, k) for k in of for t in of[k] if not hides(t)] for of in every))

    @staticmethod
    def pairs(text: str) -> list[list[tuple[str, str]]]:
        """The two arguments, as a loader wrote them; a ValueError or TypeError for other texts."""
        names, properties = from_json(text)
        return [[(str(kind), str(key)) for kind, key in some] for some in (names, properties)]


NO_NAME_KEYS = NameKeys()
