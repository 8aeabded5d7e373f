"""The answers to one method of a backend: held, under way, or asked for now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from bfsql import call
from bfsql.cache.flight import Flight
from bfsql.cache.store import ABSENT, Entry, Generations, Shelf
from bfsql.models import Omission

K = TypeVar("K", bound=Hashable)
Fetch: TypeAlias = Callable[[list[K]], Awaitable[dict[K, Any]]]
"""Asks the backend for these keys; `ABSENT` where it has nothing."""

UNKNOWN_SECONDS = 5.0
"""How long an unknown id is remembered as such."""


def _as_it_is(value: Any) -> Any:
    return value


def _one_record(value: Any) -> int:
    del value
    return 1


@dataclass(frozen=True, slots=True)
class Terms:
    """How long an answer is good, and by which clock."""

    ttl: float
    """Seconds; infinite for the life of the cache."""
    clock: Callable[[], float]
    """Seconds, never going back."""


class Asked(Generic[K]):
    """One method's answers by key.

    Args:
        generations: The bound on records that several methods share.
        terms: How long an answer is good.
        keep: Makes of an answer what can be held: nothing that a caller can change.
        weigh: Number of records in an answer.
    """

    def __init__(
        self,
        generations: Generations,
        terms: Terms,
        *,
        keep: Callable[[Any], Any] = _as_it_is,
        weigh: Callable[[Any], int] = _one_record,
    ) -> None:
        self._shelf: Shelf[K] = Shelf(generations)
        self._flights: dict[K, Flight[dict[K, Entry]]] = {}
        self._terms = terms
        self._keep = keep
        self._weigh = weigh

    async def one(self, key: K, ask: Callable[[], Awaitable[Any]]) -> Any:
        """The answer to a question about one thing.

        Raises:
            KeyError: The store does not have it; the backend said so now or just before.
        """

        async def fetch(_: list[K]) -> dict[K, Any]:
            try:
                return {key: await ask()}
            except KeyError:
                return {key: ABSENT}

        entry = (await self.entries([key], fetch))[key]
        if entry.value is ABSENT:
            raise KeyError(key)
        return entry.value

    async def entries(self, keys: Iterable[K], fetch: Fetch[K]) -> dict[K, Entry]:
        """The entries of these keys: held ones, those under way, one batch for the rest.

        What the backend left out of any of them is said again to this caller.
        """
        found, under_way, missing = self._sorted_out(keys)
        own = self._start(missing, fetch) if missing else None
        if own is not None:
            landed = await own.join()
            found = found | landed if found else landed
        for flight, wanted in under_way.items():
            found = found | await self._shared(flight, wanted, fetch)
        for entry in found.values():
            if entry.omissions:
                call.omitted(*entry.omissions)
        return found

    async def give_up(self) -> None:
        """End the calls under way."""
        for flight in set(self._flights.values()):
            await flight.give_up()

    def _sorted_out(
        self, keys: Iterable[K]
    ) -> tuple[dict[K, Entry], dict[Flight[dict[K, Entry]], list[K]], list[K]]:
        now = self._terms.clock()
        found: dict[K, Entry] = {}
        under_way: dict[Flight[dict[K, Entry]], list[K]] = {}
        missing: list[K] = []
        for key in dict.fromkeys(keys):
            entry = self._shelf.get(key, now)
            if entry is not None:
                found[key] = entry
            elif key in self._flights:
                under_way.setdefault(self._flights[key], []).append(key)
            else:
                missing.append(key)
        return found, under_way, missing

    async def _shared(
        self, flight: Flight[dict[K, Entry]], wanted: list[K], fetch: Fetch[K]
    ) -> dict[K, Entry]:
        """What a flight of somebody else brings; if it is ended by them, one of our own."""
        try:
            landed = await flight.join()
        except TimeoutError:
            if call.remaining() == 0:
                raise
            return await self.entries(wanted, fetch)
        except asyncio.CancelledError:
            if not flight.ended or _being_cancelled():
                raise
            return await self.entries(wanted, fetch)
        return {key: landed[key] for key in wanted if key in landed}

    def _start(self, missing: list[K], fetch: Fetch[K]) -> Flight[dict[K, Entry]]:
        async def ask() -> dict[K, Entry]:
            entries = self._made(await fetch(missing), flight.omissions)
            self._shelf.put(entries)
            return entries

        def forget() -> None:
            for key in missing:
                if self._flights.get(key) is flight:
                    del self._flights[key]

        flight: Flight[dict[K, Entry]] = Flight(ask, forget)
        self._flights.update(dict.fromkeys(missing, flight))
        return flight

    def _made(self, values: dict[K, Any], omissions: tuple[Omission, ...]) -> dict[K, Entry]:
        now = self._terms.clock()
        good = now + self._terms.ttl
        unknown = now + min(self._terms.ttl, UNKNOWN_SECONDS)
        keep, weigh = self._keep, self._weigh
        if not omissions:
            return {
                key: Entry(keep(value), good, weigh(value), ())
                if value is not ABSENT
                else Entry(ABSENT, unknown, 1, ())
                for key, value in values.items()
            }
        return {
            key: Entry(keep(value), good, weigh(value), _about(key, values, omissions))
            if value is not ABSENT
            else Entry(ABSENT, unknown, 1, _about(key, values, omissions))
            for key, value in values.items()
        }


def _about(
    key: Hashable, values: dict[Any, Any], omissions: tuple[Omission, ...]
) -> tuple[Omission, ...]:
    """The omissions that a reader of this key has to hear: its own, and those of nobody here."""
    return tuple(o for o in omissions if o.id == key or o.id not in values)


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
