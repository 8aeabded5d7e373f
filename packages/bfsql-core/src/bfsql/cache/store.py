"""What the cache holds: entries by key, bounded by the records in them.

Two generations: new entries go to the young one; when it is half full, it
becomes the old one and what was old is let go. An entry that is used again
moves to the young one. So what is in use stays, an answer of 60,000 neighbours
costs one dictionary update, and no list of keys has to be kept in order.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from bfsql.models import Omission

K = TypeVar("K", bound=Hashable)


class Entry(NamedTuple):
    """One cached answer."""

    value: Any
    """The answer, or `ABSENT`."""
    expires: float
    """When it is no longer good, by the store's clock."""
    weight: int
    """Records in it."""
    omissions: tuple[Omission, ...]
    """What the backend left out of it; replayed to every reader."""


ABSENT = object()
"""The answer to a question about an id that the store does not have."""


@dataclass(slots=True)
class Generations:
    """The bound that all shelves of one cache share.

    Args:
        maxsize: Records to hold at the most.
    """

    maxsize: int
    young: int = 0
    """Records in the young generation."""
    number: int = 0
    """How many generations there have been."""

    def take(self, weight: int) -> bool:
        """Make room for an entry; False when it is too large to be held at all."""
        half = self.maxsize // 2
        if weight > half:
            return False
        if self.young + weight > half:
            self.number += 1
            self.young = 0
        self.young += weight
        return True


class Shelf(Generic[K]):
    """The entries of one method.

    Args:
        generations: The bound, shared with the other shelves.
    """

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._number = generations.number
        self._young: dict[K, Entry] = {}
        self._old: dict[K, Entry] = {}

    def get(self, key: K, now: float) -> Entry | None:
        """The entry, if it is held and still good."""
        self._turn()
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.pop(key, None)
            if entry is None:
                return None
            self.put({key: entry})
        if entry.expires <= now:
            self._young.pop(key, None)
            return None
        return entry

    def put(self, entries: dict[K, Entry]) -> None:
        """Hold entries, as far as there is room for them at all."""
        if self._generations.take(sum(entry.weight for entry in entries.values())):
            self._turn()
            self._young.update(entries)

    def __len__(self) -> int:
        """Number of entries held."""
        self._turn()
        return len(self._young) + len(self._old)

    def _turn(self) -> None:
        """Follow the shared count of generations."""
        passed = self._generations.number - self._number
        if passed:
            self._old = self._young if passed == 1 else {}
            self._young = {}
            self._number = self._generations.number
