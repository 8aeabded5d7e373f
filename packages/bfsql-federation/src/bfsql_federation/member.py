"""One graph of a federation: its own words turned into common ones, and its failures into gaps."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.cache import CircuitBreakerBackend
from bfsql.errors import BfsqlError, ConfigurationError, StoreError
from bfsql.models import Omission, PropertyCondition
from bfsql.models.valid_time import TimeKeys

SILENT_SECONDS = 1.0
"""After so long without a response to any call, other calls wait for a probe of the graph alone."""
T = TypeVar("T")


class Names:
    """The types or the predicates of one graph.

    Args:
        common: A common name and its spellings, of all graphs.
        renamed: A name in this graph, and the common one.
    """

    def __init__(
        self,
        common: Mapping[str, Collection[str]] | None = None,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        spelt = {one: name for name, some in (common or {}).items() for one in some}
        self._common = {**spelt, **(renamed or {})}
        self._own: defaultdict[str, list[str]] = defaultdict(list)
        for one, name in self._common.items():
            self._own[name].append(one)

    def common(self, own: str) -> str:
        """The common name."""
        return self._common.get(own, own)

    def own(self, names: Collection[str] | None) -> list[str] | None:
        """All names that this graph may have for common ones; None for all."""
        if names is None:
            return None
        plain = [one for one in names if one not in self._common]
        return list(dict.fromkeys([*plain, *(own for name in names for own in self._own[name])]))


class Member:
    """A graph of the federation.

    Args:
        name: Its name, which answers show.
        backend: The open backend.
        types: Its types.
        predicates: Its predicates.
        begins: Beginnings of the ids that it may have, in its own spelling; empty for any.
        seconds: How long it may take for a request, or for a part of a stream.
    """

    def __init__(
        self,
        name: str,
        backend: GraphDbInterface,
        *,
        types: Names | None = None,
        predicates: Names | None = None,
        begins: Collection[str] = (),
        seconds: float = 10.0,
    ) -> None:
        self.name = name
        self.backend = backend
        self.db = CircuitBreakerBackend(backend, max_pause=30.0, patience=0.25)
        self.types = types or Names()
        self.predicates = predicates or Names()
        self._begins = tuple(begins)
        self._seconds = seconds

    def may_have(self, own: str) -> bool:
        """Whether it may have an entity with this id, in its own spelling."""
        return not self._begins or own.startswith(self._begins)

    def first_known(self, conditions: Iterable[PropertyCondition]) -> list[PropertyCondition]:
        """The first of the conditions whose operator its store knows; empty if it knows none."""
        return [one for one in conditions if self.db.knows_operator(one.operator)][:1]

    async def ask(self, request: Callable[[], Awaitable[T]]) -> T | None:
        """The answer to a request; None if it does not answer, which the call then reports.

        Raises:
            BfsqlError: What does not concern this graph alone, such as a limit of the call.
        """
        breaker, loop = self.db.breaker, asyncio.get_running_loop()
        # A graph that hangs leaves half of the time for the rest of the call.
        seconds = call.seconds_left(self._seconds, 0.5)
        silent = loop.call_later(min(seconds, SILENT_SECONDS), breaker.silent, time.monotonic())
        breaker.waiting.add(limit := asyncio.timeout(seconds))
        try:
            async with limit:
                return await request()
        except (StoreError, TimeoutError, OSError) as failure:
            self.report(failure)
        except (BfsqlError, KeyError):
            raise
        except Exception as failure:  # noqa: BLE001 - a driver's own: the other graphs answer
            self.report(failure)
        finally:
            silent.cancel()
            breaker.waiting.discard(limit)
        return None

    async def read(self, stream: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
        """The batches of a stream; it ends where the graph does not answer."""
        async with aclosing(stream):
            while (
                batch := await self.ask(lambda: anext(stream, _END))
            ) is not None and batch is not _END:
                yield batch

    def report(self, failure: Exception) -> None:
        """Report that this graph is missing from the answer."""
        late = isinstance(failure, TimeoutError)
        reason = "it took too long" if late else str(failure) or type(failure).__name__
        call.omitted(Omission(self.name, "graph", reason=reason.rstrip(".")))


_END: Any = object()


async def each(
    members: Iterable[Member], request: Callable[[Member], Awaitable[T]]
) -> list[tuple[Member, T]]:
    """The answers of several graphs, which are asked at the same time, in their order."""
    asked = list(members)
    answers = await asyncio.gather(*(one.ask(partial(request, one)) for one in asked))
    return [(one, got) for one, got in zip(asked, answers, strict=True) if got is not None]


def joined_time_keys(members: Sequence[Member]) -> TimeKeys:
    """The properties that say when facts hold, of all graphs.

    Raises:
        ConfigurationError: Two graphs mean different things by the end of a fact.
    """
    dated = [(one.name, one.backend.time_keys) for one in members if one.backend.time_keys]
    for name, keys in dated[1:]:
        if keys.until_included != dated[0][1].until_included:
            raise ConfigurationError(
                f"The facts of {dated[0][0]} and of {name} differ in until_included. Give "
                "valid_from, valid_until and until_included of the federation instead."
            )
    every = [keys for _, keys in dated]
    return TimeKeys(
        [*dict.fromkeys(one for keys in every for one in keys.valid_from)],
        [*dict.fromkeys(one for keys in every for one in keys.valid_until)],
        any(keys.until_included for keys in every),
    )


async def together(streams: Mapping[Member, AsyncGenerator[T]]) -> AsyncGenerator[tuple[Member, T]]:
    """The batches of several graphs as they arrive; of each, at most one is read ahead.

    Args:
        streams: The stream of each graph, which ends where the graph does not answer.

    Raises:
        BfsqlError: What does not concern one graph alone.
    """
    arrived: asyncio.Queue[tuple[Member, T] | Exception | None] = asyncio.Queue(len(streams))

    async def read(member: Member, stream: AsyncGenerator[T]) -> None:
        try:
            async with aclosing(member.read(stream)) as batches:
                async for batch in batches:
                    await arrived.put((member, batch))
        except Exception as error:  # noqa: BLE001 - raised where the batches are read
            await arrived.put(error)
        else:
            await arrived.put(None)

    tasks = [asyncio.create_task(read(*one)) for one in streams.items()]
    try:
        left = len(tasks)
        while left:
            match await arrived.get():
                case Exception() as error:
                    raise error
                case None:
                    left -= 1
                case batch:
                    yield batch
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
