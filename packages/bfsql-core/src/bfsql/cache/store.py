"""What the cache holds: answers by key, bounded by the records in them.

Two generations: what is new goes to the young one; when that has half of the
room, it becomes the old one, and what was old is let go. An answer that is used
again moves to the young one. So what is in use stays, 60,000 neighbours cost a
dictionary update, and no list of keys has to be kept in order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
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
    young: int = 0
    """Records in the young generation."""
    generation: int = 0
    """Number of the young generation."""

    def take(self, records: int) -> bool:
        """Make room; False for what is too large to be held at all."""
        half = self.maxsize // 2
        if records > half:
            return False
        if self.young + records > half:
            self.generation += 1
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


class Shelf(Generic[K]):
    """The answers of one method.

    Args:
        room: The bound, shared with the other shelves.
        weigh: Number of records in some answers.
    """

    def __init__(self, room: Room, weigh: Callable[[Iterable[Any]], int]) -> None:
        self._room = room
        self._weigh = weigh
        self._generation = room.generation
        self._young: _Generation[K] = _Generation()
        self._old: _Generation[K] = _Generation()

    def find(self, keys: Sequence[K], now: float) -> dict[K, Any]:
        """The answers that are held and still good, by key."""
        self._turn()
        if self._old.values:
            self._renew([key for key in keys if key in self._old.values])
        young = self._young.values
        if not young:
            return {}
        found = {key: young[key] for key in keys if key in young}
        if self._young.expiry:
            for key in [k for k in found if self._young.expiry.get(k, FOREVER) <= now]:
                del found[key], young[key], self._young.expiry[key]
                self._young.omissions.pop(key, None)
        return found

    def omissions(self, keys: Iterable[K]) -> list[Omission]:
        """What was left out of the held answers of these keys."""
        said = self._young.omissions
        return [omission for key in keys for omission in said.get(key, ())] if said else []

    def put(
        self, values: dict[K, Any], expires: float, omissions: dict[K, tuple[Omission, ...]]
    ) -> None:
        """Hold answers, as far as there is room for them at all."""
        if not values or not self._room.take(self._weigh(values.values())):
            return
        self._turn()
        young = self._young
        young.values.update(values)
        if expires < FOREVER:
            young.expiry.update(dict.fromkeys(values, expires))
        young.omissions.update(omissions)

    def _renew(self, keys: Sequence[K]) -> None:
        """Move answers that are used again to the young generation."""
        old = self._old
        for key in keys:
            value = old.values.pop(key, None)
            if value is None:
                continue  # the generation turned while this loop was at it
            expires = old.expiry.pop(key, FOREVER)
            omitted = old.omissions.pop(key, None)
            self.put({key: value}, expires, {key: omitted} if omitted else {})
            old = self._old

    def _turn(self) -> None:
        """Follow the shared number of the generation."""
        passed = self._room.generation - self._generation
        if passed:
            self._old = self._young if passed == 1 else _Generation()
            self._young = _Generation()
            self._generation = self._room.generation
