"""The circuit breaker in front of a store: while the store does not answer, calls fail at once.

    closed      Calls reach the store.
    open        The store did not answer a probe: calls fail at once until the next probe.
    half-open   A probe is under way: calls wait for it briefly, then fail.

A call that fails, or ends without any response from the store, does not open the breaker: the
store may be healthy and the statement too slow or refused. Instead the call starts a probe, the
smallest possible request (`GraphDbInterface.ping`), and the breaker opens if the probe fails too.
Further probes follow at growing intervals until one is answered. The cache is in front of the
breaker, so cached answers remain available.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.abc.delegating import SignatureAdapter
from bfsql.errors import CircuitOpen, EmbeddingFailed, StoreUnavailable

State: TypeAlias = Literal["closed", "open", "half-open"]

FIRST_PAUSE = 0.5
"""Seconds between the probe that opens the breaker and the next one; doubled each time."""
PROBE_SECONDS = 5.0
"""Seconds that a probe may take."""

log = logging.getLogger("bfsql")


class Breaker:
    """Tracks whether a store answers, judged by the calls to it and by probes.

    Args:
        ping: Returns once the store has answered a small request; raises `StoreUnavailable`
            if it does not answer.
        max_pause: Longest pause between two probes, in seconds.
        patience: How long a probe may keep calls waiting, in seconds from its start.

    Attributes:
        state: closed, open or half-open.
        failures: Consecutive calls and probes that the store did not answer.
        retry_at: `time.monotonic()` of the next probe; None while the breaker is closed.
        last_error: Reason for the latest failure; None after an answer.
        waiting: Limits of calls to the store that are to end once it is known to be away.
    """

    def __init__(
        self, ping: Callable[[], Awaitable[None]], max_pause: float, patience: float = 1.0
    ) -> None:
        self.state: State = "closed"
        self.failures = 0
        self.retry_at: float | None = None
        self.last_error: StoreUnavailable | None = None
        self.waiting: set[asyncio.Timeout] = set()
        self._ping = ping
        self._max_pause = max_pause
        self._patience = patience
        self._last_answer = self._opened = self._probed = time.monotonic()
        self._watch: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def seconds(self) -> float:
        """Seconds until the next probe; 0 while one is under way or none is scheduled."""
        return 0.0 if self.retry_at is None else max(0.0, self.retry_at - time.monotonic())

    async def admit(self) -> None:
        """Let a call pass while the breaker is closed; it waits briefly for a probe under way.

        Raises:
            CircuitOpen: The breaker is open, or half-open for longer than a call waits.
        """
        if self.state == "half-open" and self._watch is not None:
            left = max(0.0, self._probed + self._patience - time.monotonic())
            await asyncio.wait([self._watch], timeout=call.seconds_left(left))
        if self.state != "closed":
            raise CircuitOpen(self.last_error, self.seconds)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Observe the outcome of a call to the store; `answered` reports a part of an answer.

        A call that is cancelled after 5 s without a response starts a probe.
        """
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
            if took >= 5.0 or call.remaining() == 0:
                self._suspect(_silent(took), began)
            raise
        except KeyError:  # an answer: the node or edge does not exist
            self.answered()
            raise
        self.answered()

    def answered(self) -> None:
        """Record that the store has responded."""
        self._last_answer = time.monotonic()
        if self.state != "closed":
            self._end_probes()
            self._close()
        elif self._watch is None and self.failures:
            self.failures, self.last_error = 0, None

    def silent(self, began: float) -> None:
        """Report a call without a response since it began, for which others need not wait.

        Unless others have had a response since, it starts a probe, which they wait for instead.
        """
        self._suspect(_silent(time.monotonic() - began), began)
        if self._watch is not None and self.state == "closed":
            self.state, self._probed = "half-open", time.monotonic()

    def stop(self) -> None:
        """Stop probing."""
        self._stopped = True
        self._end_probes()

    def _end_probes(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _suspect(self, error: StoreUnavailable, began: float) -> None:
        """Probe the store, unless it has responded since the call began."""
        if self._stopped or (self._last_answer > began and error.retry_after is None):
            return
        self.failures, self.last_error = self.failures + 1, error
        if self._watch is None:
            loop = asyncio.get_running_loop()
            self._watch = loop.create_task(self._probes(error), context=call.outside())

    async def _probes(self, error: StoreUnavailable) -> None:
        """Probe until the store answers; the breaker is open from the first failure on."""
        pause = FIRST_PAUSE
        # A store that requested a pause is not probed before the pause is over.
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
        """The reason why the store does not answer; None if it answers, even with an error."""
        self._probed = began = time.monotonic()
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
        if self._last_answer > began:
            return None
        self.failures, self.last_error = self.failures + 1, failed
        return failed

    def _open(self, error: StoreUnavailable, wait: float) -> None:
        if self.retry_at is None:
            log.error(
                "The store does not answer. Calls that need it fail immediately until it does; "
                "it is tried again in %.3g s, then less and less often, at least every %.3g s: %s",
                wait,
                self._max_pause,
                error,
            )
            self._opened = time.monotonic()
        self.state, self.retry_at = "open", time.monotonic() + wait
        for limit in self.waiting:
            if not limit.expired():
                limit.reschedule(0.0)

    def _close(self) -> None:
        if self.retry_at is not None:
            log.warning("The store answers again, after %.1f s.", time.monotonic() - self._opened)
        self.state, self.retry_at = "closed", None
        self.failures, self.last_error = 0, None


class CircuitBreakerBackend(SignatureAdapter):
    """A backend behind a breaker, with full signatures.

    Args:
        inner: The backend to call.
        max_pause: Longest pause between two probes, in seconds.
        patience: How long a probe may keep calls waiting, in seconds from its start.

    Attributes:
        breaker: The breaker, which tracks whether the store answers.
    """

    def __init__(self, inner: GraphDbInterface, max_pause: float, patience: float = 1.0) -> None:
        super().__init__(inner)
        self.breaker = Breaker(partial(super()._ask, "ping"), max_pause, patience)

    async def _ask(self, method: str, /, *args: Any, **named: Any) -> Any:
        await self.breaker.admit()
        with self.breaker.watching():
            return await super()._ask(method, *args, **named)

    async def _stream(self, method: str, /, *args: Any, **named: Any) -> AsyncGenerator[Any]:
        await self.breaker.admit()
        with self.breaker.watching():
            async with aclosing(super()._stream(method, *args, **named)) as batches:
                async for batch in batches:
                    self.breaker.answered()
                    yield batch

    async def close(self) -> None:
        """Stop probing and close the backend."""
        self.breaker.stop()
        await super().close()


def _silent(seconds: float) -> StoreUnavailable:
    return StoreUnavailable(f"It did not answer within {seconds:.3g} s.")
