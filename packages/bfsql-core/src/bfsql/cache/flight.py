"""One call to the backend that any number of callers wait for.

It runs in a task and a context of its own, so that no caller's cancellation or
deadline ends it; when the last one leaves, it is cancelled (`protocol.md` 25).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from bfsql import call
from bfsql.errors import StoreUnavailable

T = TypeVar("T")


class Flight(Generic[T]):
    """A call under way.

    Args:
        ask: Makes the call; runs inside the flight's own scope, which it is given.
        on_end: Called when nobody may join any more: the last waiter has left, or
            the call has ended. Where both happen it is called twice.
    """

    def __init__(
        self, ask: Callable[[call.Scope], Awaitable[T]], on_end: Callable[[], None]
    ) -> None:
        self._on_end = on_end
        self._waiters = 0
        self._given_up = False
        self._began_with = _deadline()
        self._scope = call.Scope(self._began_with)
        context = contextvars.Context()
        self._task = asyncio.get_running_loop().create_task(self._run(ask), context=context)
        self._task.add_done_callback(self._ended)

    async def join(self) -> T:
        """Wait for the answer, for as long as the caller likes.

        Raises:
            StoreUnavailable: The call was given up.
            BaseException: Whatever the backend raised, to every waiter alike.
        """
        self._waiters += 1
        self._stretch()
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._given_up and not being_cancelled():
                raise StoreUnavailable("The graph was closed during this call.") from None
            raise
        finally:
            self._waiters -= 1
            if not self._waiters and not self._task.done():
                self._on_end()
                self._task.cancel()

    async def give_up(self) -> None:
        """End the call, whoever waits."""
        self._given_up = True
        self._task.cancel()
        await asyncio.wait([self._task])

    @property
    def ended(self) -> bool:
        """Whether the call is over, well or not."""
        return self._task.done()

    @property
    def cut_short(self) -> bool:
        """Whether the caller under way has more time than the one that began the call."""
        mine = _deadline()
        return self._began_with is not None and (mine is None or mine > self._began_with)

    async def _run(self, ask: Callable[[call.Scope], Awaitable[T]]) -> T:
        with call.entered(self._scope) as scope:
            return await ask(scope)

    def _ended(self, task: asyncio.Task[T]) -> None:
        self._on_end()
        if not task.cancelled():
            task.exception()  # read here, since the last waiter may have left before it came

    def _stretch(self) -> None:
        """The call may take as long as the most patient of its waiters."""
        mine, deadline = self._scope.deadline, _deadline()
        self._scope.deadline = None if mine is None or deadline is None else max(mine, deadline)


def being_cancelled() -> bool:
    """Whether it is the caller's own task that somebody cancels."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _deadline() -> float | None:
    under_way = call.current()
    return None if under_way is None else under_way.deadline
