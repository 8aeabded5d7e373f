"""What the cache holds: answers by key, bounded by the records in them.

Two generations: what is new goes to the young one; when that has half of the
room, it becomes the old one, and what was old is let go. An answer that is used
again moves to the young one. So what is in use stays, 60,000 neighbours cost a
dictionary update, and no list of keys has to be kept in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from bfsql.models import Omission

K = TypeVar("K", bound=Hashable)

FOREVER = float("inf")
"""When an answer expires that is good for the life of the cache."""


@dataclass(slots=True)
class Room:
    """The bound on records, shared by the shelves of one cache.

    Args:
        maxsize: Records to hold at the most.
    """

    maxsize: int
    shelves: list[Shelf[Any]] = field(default_factory=list)
    young: int = 0
    """Records in the young generation."""

    def take(self, records: int) -> bool:
        """Make room; False for what is too large to be held at all."""
        half = self.maxsize // 2
        if records > half:
            return False
        if self.young + records > half:
            for shelf in self.shelves:  # those that nobody asks any more, too
                shelf.turn()
            self.young = 0
        self.young += records
        return True


@dataclass(slots=True)
class _Generation(Generic[K]):
    values: dict[K, Any] = field(default_factory=dict)
    expiry: dict[K, float] = field(default_factory=dict)
    """Only for answers that expire."""
    omissions: dict[K, tuple[Omission, ...]] = field(default_factory=dict)
    """Only for answers that something was left out of."""

    def find(self, keys: Sequence[K], now: float) -> dict[K, Any]:
        """The answers that are held and still good; those that are not are let go."""
        values = self.values
        if not values:
            return {}
        found = {key: values[key] for key in keys if key in values}
        if self.expiry:
            for key in [key for key in found if self.expiry.get(key, FOREVER) <= now]:
                del found[key]
                self.drop(key)
        return found

    def drop(self, key: K) -> None:
        """Let go of one answer."""
        for part in self.parts:
            part.pop(key, None)

    def give(self, keys: Collection[K], other: _Generation[K]) -> None:
        """Let another generation have these answers, with all that is known of them."""
        for mine, others in zip(self.parts, other.parts, strict=True):
            if mine:
                others.update((key, mine.pop(key)) for key in keys if key in mine)

    @property
    def parts(self) -> tuple[dict[K, Any], ...]:
        """What is known of the answers, each by key."""
        return self.values, self.expiry, self.omissions


class Shelf(Generic[K]):
    """The answers of one method.

    Args:
        room: The bound, shared with the other shelves.
        weigh: Number of records in some answers.
    """

    def __init__(self, room: Room, weigh: Callable[[Iterable[Any]], int]) -> None:
        self._room = room
        self._weigh = weigh
        self._young: _Generation[K] = _Generation()
        self._old: _Generation[K] = _Generation()
        room.shelves.append(self)

    def find(self, keys: Sequence[K], now: float) -> dict[K, Any]:
        """The answers that are held and still good, by key."""
        found = self._young.find(keys, now)
        if self._old.values:
            again = self._old.find([key for key in keys if key not in found], now)
            found |= again
            self._renew(again)
        return found

    def omissions(self, keys: Iterable[K]) -> list[Omission]:
        """What was left out of the held answers of these keys."""
        young, old = self._young.omissions, self._old.omissions
        if not young and not old:
            return []
        return [o for key in keys for o in young.get(key) or old.get(key, ())]

    def put(
        self, values: dict[K, Any], expires: float, omissions: dict[K, tuple[Omission, ...]]
    ) -> None:
        """Hold answers, as far as there is room for them at all."""
        if not values or not self._room.take(self._weigh(values.values())):
            return
        young = self._young
        young.values.update(values)
        if expires < FOREVER:
            young.expiry.update(dict.fromkeys(values, expires))
        young.omissions.update(omissions)

    def turn(self) -> None:
        """Let go of what is old; what is young becomes old."""
        self._old = self._young
        self._young = _Generation()

    def _renew(self, answers: dict[K, Any]) -> None:
        """Move answers that are used again to the young generation."""
        old = self._old  # making room may let go of it
        if not answers or not self._room.take(self._weigh(answers.values())):
            return
        old.give(answers.keys(), self._young)
