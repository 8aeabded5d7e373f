"""Observers: notifications of calls to a graph, for metrics, logs, audits and traces.

    class Slow(Observer):
        def call_ended(self, seen):
            if seen.seconds > 1:
                print(seen.tool, seen.request_id)

    async with bfsql.open_graph("sqlite", path="graph.db", observers=[Slow()]) as graph:
        ...

Observers run in the event loop, between a call and its answer, so they must not wait. Their
exceptions do not break a call; the first is logged. Without observers nothing is measured.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from bfsql.call import Caller, Scope
from bfsql.errors import ToolError

T = TypeVar("T")

log = logging.getLogger("bfsql.observer")


@dataclass(slots=True)
class ObservedCall:
    """A call, as far as it is known; complete once it has ended."""

    request_id: str
    """The call's id, as the client sent it or as it was generated here."""
    tool: str
    """The name of the tool, as the client sent it; for the web API, verb and path of the route."""
    sent: Mapping[str, Any]
    """The arguments as the client sent them."""
    caller: Caller | None
    """The caller, as far as the transport knows it."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The arguments with defaults filled in if they were accepted; otherwise as the client sent
    them.
    """
    seconds: float = 0.0
    """The duration of the call in seconds."""
    error: str | None = "internal"
    """The `kind` of the `ToolError`, `cancelled` if the client cancelled the call, or None."""
    answer: str = ""
    """The tool's text for the client: the answer, or the sentence of the error."""
    size: int = 0
    """Size of the answer's text in bytes, UTF-8."""
    tokens: int = 0
    """Size of the answer's text in tokens, as the server counts them."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Number of items of each kind in the answer (`CallOutcome.rows`)."""
    nodes: int = 0
    """Number of nodes whose types were read, from the store or from the cache."""
    edges: int = 0
    """Number of edges that were read, from the store or from the cache."""
    cut: tuple[str, ...] = ()
    """Reasons for an incomplete answer: the limits `tokens`, `nodes`, `edges` and `deadline`, and
    `store` if the store left something out; sorted.
    """
    content: Mapping[str, Any] | None = None
    """An answer in lines as structured content; None if its text is JSON, or an error."""


class Observer:
    """Base class of observers: each method is called after an event, and does nothing by default.

    A subclass overrides the methods it needs; only these are called.
    """

    def call_began(self, seen: ObservedCall) -> None:
        """A call begins; only the first five fields of its record are known."""

    def call_ended(self, seen: ObservedCall) -> None:
        """A call has ended, successfully or not."""

    def store_called(self, method: str, seconds: float, *, failed: bool) -> None:
        """The store has answered a call, or failed.

        Args:
            method: A method of `GraphDbInterface`; or of `IntegerGraph`, as `columns.rings`.
            seconds: The duration of the call.
            failed: Whether it raised, for any reason other than an unknown id.
        """

    def cache_asked(self, method: str, hits: int, misses: int) -> None:
        """The cache was read.

        Args:
            method: A method of `GraphDbInterface`.
            hits: Number of keys whose answer was held.
            misses: Number of all other keys.
        """


class Observers:
    """The observers of one graph; false if there are none.

    Args:
        observers: The observers, in the order in which they are called.

    Attributes:
        watch_store: Whether any of them overrides the method for calls to the store.
        watch_cache: Whether any of them overrides the method for reads of the cache.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self.all = tuple(observers)
        self._began = self._wanting("call_began")
        self._ended = self._wanting("call_ended")
        self._store = self._wanting("store_called")
        self._cache = self._wanting("cache_asked")
        self.watch_store = bool(self._store)
        self.watch_cache = bool(self._cache)
        self._reported: set[Callable[..., None]] = set()

    def __bool__(self) -> bool:
        """Whether there is any observer."""
        return bool(self.all)

    @contextmanager
    def observed(self, tool: str, arguments: Any, scope: Scope) -> Iterator[ObservedCall]:
        """Observe a call, which is the body of the context.

        Args:
            tool: The name of the tool.
            arguments: The arguments as the client sent them.
            scope: The call.

        Yields:
            The record of the call; the caller adds the checked arguments and the answer.
        """
        given = arguments if isinstance(arguments, Mapping) else {}
        seen = ObservedCall(scope.request_id, tool, given, scope.caller, given)
        self._tell(self._began, seen)
        began = time.perf_counter()
        try:
            yield seen
            seen.error = None
        except ToolError as error:
            seen.error, seen.answer = error.kind, str(error)
            raise
        except asyncio.CancelledError:
            seen.error = "cancelled"
            raise
        finally:
            seen.seconds = time.perf_counter() - began
            seen.nodes, seen.edges, seen.cut = scope.nodes, scope.edges, scope.cuts
            self._tell(self._ended, seen)

    def refused(self, error: ToolError, tool: str, arguments: Any, scope: Scope) -> None:
        """Observe a call that was refused before it could begin.

        Args:
            error: The reason.
            tool: The name of the tool.
            arguments: The arguments as the client sent them.
            scope: The call.
        """
        with suppress(ToolError), self.observed(tool, arguments, scope):
            raise error

    async def store_call(self, method: str, answer: Awaitable[T]) -> T:
        """Await a call to the store, and observe it if any observer wants that."""
        if not self.watch_store:
            return await answer
        began, failed = time.perf_counter(), True
        try:
            found = await answer
            failed = False
        except KeyError:
            failed = False
            raise
        finally:
            self.store_called(method, time.perf_counter() - began, failed=failed)
        return found

    async def store_stream(self, method: str, stream: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """The batches of a stream from the store, observed by the time that all of them took."""
        spent, failed = 0.0, True
        began = time.perf_counter()
        try:
            async with aclosing(stream) as batches:
                async for batch in batches:
                    spent += time.perf_counter() - began
                    try:
                        yield batch
                    except GeneratorExit:
                        failed = False  # the reader stopped early
                        raise
                    finally:
                        began = time.perf_counter()
            failed = False
        finally:
            spent += time.perf_counter() - began
            self.store_called(method, spent, failed=failed)

    def store_called(self, method: str, seconds: float, *, failed: bool) -> None:
        """Notify the observers of a call to the store."""
        self._tell(self._store, method, seconds, failed=failed)

    def cache_asked(self, method: str, hits: int, misses: int) -> None:
        """Notify the observers of a read of the cache."""
        self._tell(self._cache, method, hits, misses)

    def _wanting(self, event: str) -> tuple[Callable[..., None], ...]:
        ignored = getattr(Observer, event)
        return tuple(
            getattr(one, event) for one in self.all if getattr(type(one), event) is not ignored
        )

    def _tell(self, observers: tuple[Callable[..., None], ...], *facts: Any, **named: Any) -> None:
        for observer in observers:
            try:
                observer(*facts, **named)
            except Exception as fault:  # noqa: BLE001 - an observer may be of any program
                if observer not in self._reported:
                    self._reported.add(observer)
                    log.error(  # noqa: TRY400 - the sentence is enough
                        "The observer %s failed: %s: %s; later failures of it are not logged",
                        getattr(observer, "__qualname__", observer),
                        type(fault).__name__,
                        fault,
                    )


NO_OBSERVERS: Final = Observers()
"""An empty collection of observers."""
