"""The answers to one method of a backend: held, under way, or asked for now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from bfsql import call
from bfsql.cache.flight import Flight, being_cancelled
from bfsql.cache.store import FOREVER, Room, Shelf
from bfsql.models import Omission

K = TypeVar("K", bound=Hashable)
Fetch: TypeAlias = Callable[[list[K]], Awaitable[dict[K, Any]]]
"""Asks the backend for these keys; those that it has nothing for are left out."""

UNKNOWN_SECONDS = 5.0
"""How long an unknown id is remembered as such."""


def count(values: Iterable[Any]) -> int:
    """Records in answers that are one record each."""
    return sum(1 for _ in values)


def as_it_is(value: Any) -> Any:
    """For answers that nobody can change."""
    return value


@dataclass(frozen=True, slots=True)
class Terms:
    """How long answers are good, and how much of them is held."""

    room: Room
    ttl: float = FOREVER
    """Seconds."""
    clock: Callable[[], float] = time.monotonic
    """Seconds, never going back."""


@dataclass(frozen=True, slots=True)
class _Landed(Generic[K]):
    """What a flight brought."""

    values: dict[K, Any]
    """As the backend gave it, for the caller that started the flight."""
    kept: dict[K, Any]
    """As it is held, for all others."""
    omissions: dict[K, tuple[Omission, ...]]
    asked: frozenset[K]

    @property
    def respelled(self) -> bool:
        """Whether answers came under keys that were not asked; whose they are is not told."""
        return not self.kept.keys() <= self.asked


class Asked(Generic[K]):
    """One method's answers by key.

    Args:
        terms: How long answers are good, and how much of them is held.
        keep: Makes of an answer what can be held: nothing that a caller can change.
        give: Makes of what is held an answer of the caller's own.
        weigh: Number of records in some answers, as they are held.
        ids: Whether the questions are about ids, so that KeyError is an answer.
    """

    def __init__(
        self,
        terms: Terms,
        *,
        keep: Callable[[Any], Any] = as_it_is,
        give: Callable[[Any], Any] = as_it_is,
        weigh: Callable[[Iterable[Any]], int] = count,
        ids: bool = True,
    ) -> None:
        self._absence: tuple[type[Exception], ...] = (KeyError,) if ids else ()
        self._terms = terms
        self._keep = keep
        self._give = give
        self._shelf: Shelf[K] = Shelf(terms.room, weigh)
        # The value tells whether that is certain: beside others that were found, an id may be
        # a second spelling of one of them, and only a question about it alone can tell.
        self._unknown: Shelf[K] = Shelf(terms.room, count)
        self._flights: dict[Flight[_Landed[K]], frozenset[K]] = {}

    async def one(self, key: K, ask: Callable[[], Awaitable[Any]]) -> Any:
        """The answer to a question about one thing.

        Raises:
            KeyError: The store does not have it; the backend said so now or just before.
        """

        async def fetch(_: list[K]) -> dict[K, Any]:
            try:
                return {key: await ask()}
            except self._absence:
                return {}

        answers = await self.many([key], fetch)
        if key not in answers:
            raise KeyError(key)
        return answers[key]

    async def many(self, keys: Iterable[K], fetch: Fetch[K]) -> dict[K, Any]:
        """The answers by key: held ones, those under way, and one batch for the rest.

        Keys that the store has nothing for are left out. What the backend left
        out of any answer is said again to this caller.
        """
        wanted = list(dict.fromkeys(keys))
        now = self._terms.clock()
        held = self._shelf.find(wanted, now)
        call.omitted(*self._shelf.omissions(held))
        answers = held if self._give is as_it_is else {k: self._give(v) for k, v in held.items()}
        missing = [key for key in wanted if key not in answers] if answers else wanted
        if missing:
            unknown = self._unknown.find(missing, now)
            alone = len(wanted) == 1
            missing = [k for k in missing if k not in unknown or (alone and not unknown[k])]
        under_way = self._under_way(missing)
        for shared in under_way.values():
            gone = frozenset(shared)
            missing = [key for key in missing if key not in gone]
        if missing:
            landed = await self._start(missing, fetch).join()
            _say(landed.omissions, missing)
            answers = answers | landed.values if answers else landed.values
        for flight, shared in under_way.items():
            answers = answers | await self._joined(flight, shared, fetch)
        return answers

    async def give_up(self) -> None:
        """End the calls under way."""
        for flight in list(self._flights):
            await flight.give_up()

    def _under_way(self, missing: list[K]) -> dict[Flight[_Landed[K]], list[K]]:
        """Which of the keys are being asked for already, by flight."""
        if not self._flights:
            return {}
        shared: dict[Flight[_Landed[K]], list[K]] = {}
        for flight, asked in self._flights.items():
            keys = [key for key in missing if key in asked]
            if keys:
                shared[flight] = keys
        return shared

    async def _joined(
        self, flight: Flight[_Landed[K]], keys: list[K], fetch: Fetch[K]
    ) -> dict[K, Any]:
        """What a flight of somebody else brings; if it is ended by them, one of our own."""
        try:
            landed = await flight.join()
        except TimeoutError:
            if call.remaining() == 0 or not flight.cut_short:
                raise
            return await self.many(keys, fetch)
        except asyncio.CancelledError:
            if not flight.ended or being_cancelled():
                raise
            return await self.many(keys, fetch)
        whole = len(keys) == len(landed.asked)
        if landed.respelled and not whole:
            return await self.many(keys, fetch)
        _say(landed.omissions, keys)
        mine = landed.kept if whole else {k: landed.kept[k] for k in keys if k in landed.kept}
        return {key: self._give(value) for key, value in mine.items()}

    def _start(self, missing: list[K], fetch: Fetch[K]) -> Flight[_Landed[K]]:
        asked = frozenset(missing)

        async def ask(scope: call.Scope) -> _Landed[K]:
            values = await fetch(missing)
            kept = values
            if self._keep is not as_it_is:
                kept = {key: self._keep(value) for key, value in values.items()}
            landed = _Landed(values, kept, _by_key(scope.omissions, missing), asked)
            if not any(omission.passing for omission in scope.omissions):
                self._hold(landed)
            return landed

        def forget() -> None:
            self._flights.pop(flight, None)

        flight: Flight[_Landed[K]] = Flight(ask, forget)
        self._flights[flight] = asked
        return flight

    def _hold(self, landed: _Landed[K]) -> None:
        now, ttl = self._terms.clock(), self._terms.ttl
        self._shelf.put(landed.kept, now + ttl, landed.omissions)
        if len(landed.kept) < len(landed.asked) and not landed.respelled:
            unknown = dict.fromkeys(landed.asked - landed.kept.keys(), not landed.kept)
            self._unknown.put(unknown, now + min(ttl, UNKNOWN_SECONDS), {})


def _by_key(omissions: tuple[Omission, ...], keys: list[K]) -> dict[K, tuple[Omission, ...]]:
    """What the reader of each key has to hear: its own omissions, and those of nobody here."""
    if not omissions:
        return {}
    own: dict[Any, tuple[Omission, ...]] = dict.fromkeys(keys, ())
    common: list[Omission] = []
    for omission in omissions:
        if omission.id in own:  # keys that are no ids match none
            own[omission.id] += (omission,)
        else:
            common.append(omission)
    return {key: said for key in keys if (said := (*own[key], *common))}


def _say(omissions: dict[K, tuple[Omission, ...]], keys: Iterable[K]) -> None:
    if omissions:
        call.omitted(*(omission for key in keys for omission in omissions.get(key, ())))
