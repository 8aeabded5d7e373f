"""The circuit breaker in front of a store: while the store does not answer, calls fail at once.

    closed      Calls go to the store.
    open        The store did not answer a probe: calls fail at once, until the next probe is due.
    half-open   A probe is under way: calls wait for it briefly, then fail.

A call that fails, or that ends without any sign of life of the store, does not open the breaker: a
statement may be too slow, or be refused, while the store is well. It starts a probe, the smallest
question there is (`GraphDbInterface.ping`), and the breaker opens when the probe fails too. Further
probes follow with growing pauses until one is answered. The cache stands in front of all of this,
so what it holds is still answered.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Sequence,
)
from contextlib import aclosing, contextmanager
from typing import Literal, ParamSpec, TypeAlias, TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface, TransparentGraphDb
from bfsql.errors import CircuitOpen, EmbeddingFailed, StoreUnavailable
from bfsql.models import EdgeDirection, Triple
from bfsql.models.parts import TypedTriple

P = ParamSpec("P")
T = TypeVar("T")
State: TypeAlias = Literal["closed", "open", "half-open"]

FIRST_PAUSE = 0.5
"""Seconds between the probe that opens the breaker and the next one; doubled each time."""
PROBE_SECONDS = 5.0
"""Seconds that a probe may take."""
HALF_OPEN_SECONDS = 1.0
"""Seconds that a call waits for a probe which is under way."""
SILENT_SECONDS = 5.0
"""Seconds without a sign of life after which a call that is cancelled starts a probe."""

log = logging.getLogger("bfsql")


class Breaker:
    """Whether a store answers, as far as the calls to it and the probes show.

    Args:
        ping: Returns when the store has answered a small question; raises `StoreUnavailable`
            where it does not.
        max_pause: Longest pause between two probes, in seconds.

    Attributes:
        state: closed, open or half-open.
        failures: Calls and probes in a row that the store did not answer.
        retry_at: `time.monotonic()` of the next probe; None while the breaker is closed.
        last_error: Why the last of them failed; None after an answer.
    """

    def __init__(self, ping: Callable[[], Awaitable[None]], max_pause: float) -> None:
        self.state: State = "closed"
        self.failures = 0
        self.retry_at: float | None = None
        self.last_error: StoreUnavailable | None = None
        self._ping = ping
        self._max_pause = max_pause
        self._heard = self._opened = time.monotonic()
        self._watch: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def seconds(self) -> float:
        """Until the next probe; 0 while one is under way or none is due."""
        return 0.0 if self.retry_at is None else max(0.0, self.retry_at - time.monotonic())

    async def admit(self) -> None:
        """Let a call pass while the breaker is closed.

        Raises:
            CircuitOpen: It is open, or half-open for longer than a call waits.
        """
        if self.state == "half-open" and self._watch is not None:
            left = call.remaining()
            wait = HALF_OPEN_SECONDS if left is None else min(left, HALF_OPEN_SECONDS)
            await asyncio.wait([self._watch], timeout=wait)
        if self.state != "closed":
            raise CircuitOpen(self.last_error, self.seconds)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Learn from a call to the store how it ends; `answered` reports a part of an answer."""
        began = time.monotonic()
        try:
            yield
        except EmbeddingFailed:
            raise
        except StoreUnavailable as gone:
            self._suspect(gone, began)
            raise
        except TimeoutError:
            self._suspect(_silent(time.monotonic() - began), began)
            raise
        except asyncio.CancelledError:
            took = time.monotonic() - began
            if took >= SILENT_SECONDS or call.remaining() == 0:
                self._suspect(_silent(took), began)
            raise
        except KeyError:  # an answer: there is no such node or edge
            self.answered()
            raise
        self.answered()

    def answered(self) -> None:
        """Take note of a sign of life."""
        self._heard = time.monotonic()
        if self.state != "closed":
            self._end_probes()
            self._close()
        elif self._watch is None and self.failures:
            self.failures, self.last_error = 0, None

    def stop(self) -> None:
        """Send no more probes."""
        self._stopped = True
        self._end_probes()

    def _end_probes(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _suspect(self, error: StoreUnavailable, began: float) -> None:
        """Probe the store, unless it gave a sign of life since the call began."""
        if self._stopped or (self._heard > began and error.retry_after is None):
            return
        self.failures, self.last_error = self.failures + 1, error
        if self._watch is None:
            loop = asyncio.get_running_loop()
            self._watch = loop.create_task(self._probes(error), context=contextvars.Context())

    async def _probes(self, error: StoreUnavailable) -> None:
        """Probe until the store answers; the breaker is open from the first failure on."""
        pause = FIRST_PAUSE
        # A store that asked for a pause is not asked before.
        failed = error if error.retry_after is not None else await self._probe()
        while failed is not None:
            wait = min(max(pause, failed.retry_after or 0.0), self._max_pause)
            self._open(failed, wait)
            await asyncio.sleep(wait)
            self.state = "half-open"
            failed = await self._probe()
            pause = min(2 * pause, self._max_pause)
        self._watch = None
        self._close()

    async def _probe(self) -> StoreUnavailable | None:
        """Why the store does not answer; None where it does, if only with an error."""
        began = time.monotonic()
        with call.scope(seconds=PROBE_SECONDS):
            try:
                async with asyncio.timeout(PROBE_SECONDS):
                    await self._ping()
            except StoreUnavailable as gone:
                failed = gone
            except TimeoutError:
                failed = _silent(PROBE_SECONDS)
            except Exception:  # noqa: BLE001 - whatever is wrong, it is not that it is silent
                return None
            else:
                return None
        if self._heard > began:
            return None
        self.failures, self.last_error = self.failures + 1, failed
        return failed

    def _open(self, error: StoreUnavailable, wait: float) -> None:
        if self.state == "closed":
            log.error(
                "The store does not answer. Calls that need it fail immediately until it does; "
                "it is tried again in %.3g s, then less and less often, at least every %.3g s: %s",
                wait,
                self._max_pause,
                error,
            )
            self._opened = time.monotonic()
        self.state, self.retry_at = "open", time.monotonic() + wait

    def _close(self) -> None:
        if self.state != "closed":
            log.warning("The store answers again, after %.1f s.", time.monotonic() - self._opened)
        self.state, self.retry_at = "closed", None
        self.failures, self.last_error = 0, None


class GuardedGraphDb(TransparentGraphDb):
    """A backend behind a breaker.

    Args:
        inner: The backend to ask.
        max_pause: Longest pause between two probes, in seconds.

    Attributes:
        breaker: Whether the store answers.
    """

    def __init__(self, inner: GraphDbInterface, max_pause: float) -> None:
        super().__init__(inner)
        self.breaker = Breaker(inner.ping, max_pause)

    async def _ask(self, method: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
        await self.breaker.admit()
        with self.breaker.watching():
            return await super()._ask(method, *args, **named)

    async def edges_stream(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Sequence[Triple] | Sequence[TypedTriple]]:
        """A ring in batches, each of them a sign of life."""
        await self.breaker.admit()
        with self.breaker.watching():
            ring = super().edges_stream(ids, predicates=predicates, direction=direction)
            async with aclosing(ring) as batches:
                async for rows in batches:
                    self.breaker.answered()
                    yield rows

    async def close(self) -> None:
        """Send no more probes, and close the backend."""
        self.breaker.stop()
        await super().close()


def _silent(seconds: float) -> StoreUnavailable:
    return StoreUnavailable(f"It did not answer within {seconds:.3g} s.")
