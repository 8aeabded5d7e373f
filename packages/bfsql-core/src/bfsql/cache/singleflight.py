"""Single-flight: concurrent callers with the same request share one call and its answer.

The call runs in its own task and context, so no caller's cancellation or deadline ends it; it is
cancelled when the last caller leaves (`protocol.md` 25).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from bfsql import call, workers
from bfsql.cache.store import CacheBudget, GenerationalCache, sizes
from bfsql.errors import StoreUnavailable
from bfsql.models import Omission

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Fetch: TypeAlias = Callable[[list[K]], Awaitable[dict[K, Any]]]
"""Requests these keys from the backend; keys for which it has nothing are left out."""

UNKNOWN_SECONDS = 5.0
"""Seconds for which an unknown id, or a brief answer, is held."""
PIECE = workers.SMALL * 10
"""Keys that are looked up in 2 ms, between which the event loop goes on with other calls."""


class SharedCall(Generic[T]):
    """A call under way, which any number of callers can await.

    Args:
        ask: Makes the call; it runs inside the shared call's own scope, which is its argument.
        on_end: Called with this call when callers can no longer join it: after the last waiter has
            left, or after the call has ended. If both happen, it is called twice.
    """

    def __init__(
        self, ask: Callable[[call.Scope], Awaitable[T]], on_end: Callable[[SharedCall[T]], object]
    ) -> None:
        self._on_end = on_end
        self._waiters = 0
        self._closed = False
        self._scope = call.shared_scope()
        self._first_deadline = self._scope.deadline
        context = contextvars.Context()
        context.run(call.GRAPH.set, call.GRAPH.get())
        self._task = asyncio.get_running_loop().create_task(self._run(ask), context=context)
        self._task.add_done_callback(self._ended)

    async def join(self) -> T:
        """Wait for the answer.

        Raises:
            StoreUnavailable: `close` ended the call.
            BaseException: The backend's error, raised in every waiter.
        """
        self._waiters += 1
        mine, deadline = self._scope.deadline, _deadline()
        # The call may take as long as its most patient waiter allows.
        self._scope.deadline = None if mine is None or deadline is None else max(mine, deadline)
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._closed and not _being_cancelled():
                raise StoreUnavailable("The graph was closed during this call.") from None
            raise
        finally:
            self._waiters -= 1
            if not self._waiters and not self._task.done():
                self._on_end(self)
                self._task.cancel()

    async def close(self) -> None:
        """Cancel the call, whether or not callers are waiting for it."""
        self._closed = True
        self._task.cancel()
        await asyncio.wait([self._task])

    @property
    def done(self) -> bool:
        """Whether the call has returned, raised or been cancelled."""
        return self._task.done()

    @property
    def cut_short(self) -> bool:
        """Whether the current caller has more time than the one that began the call."""
        mine = _deadline()
        return self._first_deadline is not None and (mine is None or mine > self._first_deadline)

    async def _run(self, ask: Callable[[call.Scope], Awaitable[T]]) -> T:
        with call.entered(self._scope) as scope:
            try:
                return await ask(scope)
            finally:
                if scope.memory is not None:
                    scope.memory.end()

    def _ended(self, task: asyncio.Task[T]) -> None:
        self._on_end(self)
        if not task.cancelled():
            task.exception()  # read here, since the last waiter may have left before it was raised


@dataclass(frozen=True, slots=True)
class _Fetched(Generic[K]):
    """The result of a shared call."""

    values: dict[K, Any]
    """As the backend returned it, for the caller that started the call."""
    cached: dict[K, Any]
    """As it is cached, for all other callers."""
    omissions: dict[K, tuple[Omission, ...]]
    requested: frozenset[K]

    @property
    def respelled(self) -> bool:
        """Whether answers have keys that were not requested; their owners are unknown."""
        return not self.cached.keys() <= self.requested


class CachedMethod(Generic[K]):
    """One backend method and its answers by key: cached, under way, or requested now.

    Args:
        budget: How long answers are valid, and how many of them are held.
        keep: Converts answers to immutable values for the cache; None if they are
            immutable already.
        give: Converts cached values back to answers; None if no conversion is needed.
        weigh: Returns the number of records in some answers in their cached form.
        ids: Whether the keys are ids, so that KeyError is an answer.
        id_of: The id that a key is about; omissions reported for that id belong to the key.
        is_brief: Whether an answer is held only for `UNKNOWN_SECONDS`, because the store may
            soon have more: an empty list, for instance.

    Attributes:
        absence: The errors that say that the store does not have a key.
    """

    def __init__(
        self,
        budget: CacheBudget,
        *,
        keep: Callable[[dict[K, Any]], dict[K, Any]] | None = None,
        give: Callable[[dict[K, Any]], dict[K, Any]] | None = None,
        weigh: Callable[[Collection[Any]], int] = len,
        ids: bool = True,
        id_of: Callable[[K], Any] = lambda key: key,
        is_brief: Callable[[Any], bool] | None = None,
    ) -> None:
        self._id_of = id_of
        self._is_brief = is_brief
        self.absence: tuple[type[Exception], ...] = (KeyError,) if ids else ()
        self._budget = budget
        self._observers = budget.observers
        self._keep = keep
        self._give = give
        self._held: GenerationalCache[K] = GenerationalCache(budget, weigh)
        # The value: whether the absence is certain. In a batch that found other ids, a missing id
        # may be another spelling of one of them; only a request for just that id is proof.
        self._unknown: GenerationalCache[K] = GenerationalCache(budget, len)
        self._any_omission = False  # of an answer that is or was cached
        self._calls: dict[SharedCall[_Fetched[K]], frozenset[K]] = {}

    async def many(self, keys: Iterable[K], fetch: Fetch[K], method: str) -> dict[K, Any]:
        """The answers by key: cached answers, answers under way, and one batch for the rest.

        Keys for which the store has nothing are left out. Omissions that belong to any of the
        answers are reported again to the current call.
        """
        wanted = list(dict.fromkeys(keys))
        answers: dict[K, Any] = {}
        missing: list[K] = []
        for start in range(0, len(wanted), PIECE):
            piece = wanted[start : start + PIECE]
            found, unheld = self._look_up(piece, alone=len(wanted) == 1)
            answers |= found
            missing += unheld
            if len(wanted) > PIECE:
                await asyncio.sleep(0)
        if wanted and self._observers.watch_cache:
            self._observers.cache_asked(method, len(wanted) - len(missing), len(missing))
        if not missing:
            return answers
        joinable, missing = await self._joinable(missing)
        if missing:
            fetched = await self._start(missing, fetch, method).join()
            _report(fetched.omissions, missing)
            if self._give is not None:
                call.hold_values(sizes(fetched.cached.values()))
            answers = answers | fetched.values if answers else fetched.values
        for shared_call, shared in joinable.items():
            answers = answers | await self._join(shared_call, shared, fetch, method)
        return answers

    async def complete(self, keys: Sequence[K]) -> dict[K, Any]:
        """The cached answers without omissions, by key."""
        found: dict[K, Any] = {}
        for start in range(0, len(keys), PIECE):
            found |= self._held.find(keys[start : start + PIECE], self._budget.clock())
            if len(keys) > PIECE:
                await asyncio.sleep(0)
        if self._any_omission:
            found = {key: value for key, value in found.items() if not self._held.omissions([key])}
        return found if self._give is None else self._give(found)

    def forget(self) -> None:
        """Discard all cached answers."""
        for held in (self._held, self._unknown):
            held.turn()
            held.turn()

    def drop(self) -> None:
        """Leave the shared budget; the cached answers are freed together with this object."""
        self._budget.caches.remove(self._held)
        self._budget.caches.remove(self._unknown)

    async def close(self) -> None:
        """End the calls under way."""
        for shared_call in list(self._calls):
            await shared_call.close()

    def _look_up(self, keys: Sequence[K], *, alone: bool) -> tuple[dict[K, Any], list[K]]:
        """The cached answers for some keys, and the keys to request."""
        now = self._budget.clock()
        answers = self._held.find(keys, now)
        if self._any_omission:
            call.omitted(*self._held.omissions(answers))
        missing: list[K] = []
        if len(answers) < len(keys):
            missing = [key for key in keys if key not in answers]
            unknown = self._unknown.find(missing, now)
            missing = [k for k in missing if k not in unknown or (alone and not unknown[k])]
        return self._give(answers) if self._give is not None and answers else answers, missing

    async def _joinable(
        self, missing: list[K]
    ) -> tuple[dict[SharedCall[_Fetched[K]], list[K]], list[K]]:
        """The calls under way that request some of these keys, each with its keys, and the rest.

        A few keys do not wait for a call that requests many: they are requested again.
        """
        shared: dict[SharedCall[_Fetched[K]], list[K]] = {}
        few = len(missing) <= workers.SMALL
        for shared_call, requested in list(self._calls.items()):
            # A call that has just ended is still listed here: its result is cached, and whatever
            # ended it would end this caller at once, and again on the next attempt.
            if (
                shared_call.done
                or (few and len(requested) > workers.SMALL)
                or requested.isdisjoint(missing)
            ):
                continue
            shared[shared_call] = [key for key in missing if key in requested]
            missing = [key for key in missing if key not in requested]
            if not few:
                await asyncio.sleep(0)
        return shared, missing

    async def _join(
        self, shared_call: SharedCall[_Fetched[K]], keys: list[K], fetch: Fetch[K], method: str
    ) -> dict[K, Any]:
        """The answers of a call that another caller began; if it is ended, those of a new call."""
        try:
            fetched = await shared_call.join()
        except TimeoutError:
            if call.remaining() == 0 or not shared_call.cut_short:
                raise
            return await self.many(keys, fetch, method)
        except asyncio.CancelledError:
            if not shared_call.done or _being_cancelled():
                raise
            return await self.many(keys, fetch, method)
        whole = len(keys) == len(fetched.requested)
        if fetched.respelled and not whole:
            return await self.many(keys, fetch, method)
        _report(fetched.omissions, keys)
        cached = fetched.cached
        mine = dict(cached) if whole else {k: cached[k] for k in keys if k in cached}
        return mine if self._give is None else self._give(mine)

    def _start(self, missing: list[K], fetch: Fetch[K], method: str) -> SharedCall[_Fetched[K]]:
        requested = frozenset(missing)

        async def ask(scope: call.Scope) -> _Fetched[K]:
            values = await self._observers.store_call(method, fetch(missing))
            values, cached = self._received(values)
            omissions = _by_key(scope.omissions, missing, self._id_of)
            fetched = _Fetched(values, cached, omissions, requested)
            if not any(omission.passing for omission in scope.omissions):
                self._hold(fetched)
            return fetched

        # A function that refers to the call would keep it in a reference cycle.
        shared_call = SharedCall(ask, lambda ended: self._calls.pop(ended, None))
        self._calls[shared_call] = requested
        return shared_call

    def _received(self, values: dict[K, Any]) -> tuple[dict[K, Any], dict[K, Any]]:
        """Answers without values that are too large for a call, and as they are cached."""
        if self._keep is None:
            return values, values
        cached, own = self._keep(values), call.memory()
        size = sizes(cached.values())
        if own is not None and own.largest_value is not None and size > own.largest_value:
            values = call.receive(values, self._id_of)
            return values, self._keep(values)
        call.hold_values(size)
        return values, cached

    def _hold(self, fetched: _Fetched[K]) -> None:
        now, ttl = self._budget.clock(), self._budget.ttl
        brief = min(ttl, UNKNOWN_SECONDS)
        if self._is_brief is not None and any(map(self._is_brief, fetched.cached.values())):
            ttl = brief
        self._held.put(fetched.cached, now + ttl, fetched.omissions)
        self._any_omission = self._any_omission or bool(fetched.omissions)
        if len(fetched.cached) < len(fetched.requested) and not fetched.respelled:
            unknown = dict.fromkeys(fetched.requested - fetched.cached.keys(), not fetched.cached)
            self._unknown.put(unknown, now + brief, {})


class CachedParts(Generic[K]):
    """One backend method that returns whole answers by key, or a part of each.

    Args:
        budget: As in `CachedMethod`.
        **options: Further arguments of `CachedMethod`.

    Attributes:
        whole: Whole answers, by key.
        parts: Parts of answers, by key and part.
    """

    def __init__(self, budget: CacheBudget, **options: Any) -> None:
        id_of = options.pop("id_of", lambda key: key)
        self.whole: CachedMethod[K] = CachedMethod(budget, **options, id_of=id_of)
        self.parts: CachedMethod[tuple[K, Hashable]] = CachedMethod(
            budget, **options, id_of=lambda part: id_of(part[0])
        )

    async def part(
        self, keys: Iterable[K], part: Hashable, fetch: Fetch[K], method: str
    ) -> tuple[dict[K, Any], dict[K, Any]]:
        """Whole answers that are cached, and the part of the other answers.

        Args:
            keys: The requested keys.
            part: What is requested of each answer.
            fetch: Requests this part for some keys from the backend.
            method: The name of the method, for observers.
        """
        keys = list(keys)
        held = await self.whole.complete(keys)

        async def fetch_part(missing: list[tuple[K, Hashable]]) -> dict[tuple[K, Hashable], Any]:
            read = await fetch([key for key, _ in missing])
            return {(key, part): answer for key, answer in read.items()}

        rest = [(key, part) for key in keys if key not in held]
        read = await self.parts.many(rest, fetch_part, method)
        return held, {key: answer for (key, _), answer in read.items()}

    def drop(self) -> None:
        """Leave the shared budget."""
        self.whole.drop()
        self.parts.drop()

    async def close(self) -> None:
        """End the calls under way."""
        await self.whole.close()
        await self.parts.close()


def _by_key(
    omissions: tuple[Omission, ...], keys: list[K], id_of: Callable[[K], Any]
) -> dict[K, tuple[Omission, ...]]:
    """The omissions to report with each key: its own, and those that belong to no key."""
    if not omissions:
        return {}
    own: dict[Any, tuple[Omission, ...]] = dict.fromkeys(map(id_of, keys), ())
    common: list[Omission] = []
    for omission in omissions:
        if omission.id in own:  # keys that are not ids match none
            own[omission.id] += (omission,)
        else:
            common.append(omission)
    return {key: found for key in keys if (found := (*own[id_of(key)], *common))}


def _report(omissions: dict[K, tuple[Omission, ...]], keys: Iterable[K]) -> None:
    if omissions:
        call.omitted(*(omission for key in keys for omission in omissions.get(key, ())))


def _being_cancelled() -> bool:
    """Whether the current task itself is being cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _deadline() -> float | None:
    under_way = call.current()
    return None if under_way is None else under_way.deadline
