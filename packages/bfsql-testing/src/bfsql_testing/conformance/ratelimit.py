"""A backend whose requests per second are limited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from bfsql.abc import ForwardingBackend, GraphDbInterface


class RateLimitedGraphDb(ForwardingBackend):
    """A backend whose requests start at even intervals.

    A batch is one request if the backend has its own method for it,
    otherwise one request for each of its calls. Columns are not requests.

    Args:
        inner: The backend to call.
        rate: Maximum number of requests per second; 0 for no bound.
    """

    def __init__(self, inner: GraphDbInterface, rate: float) -> None:
        super().__init__(inner)
        self._interval = 1 / rate if rate else 0.0
        self._next = 0.0
        self.requests = 0

    async def _ask(self, method: str, /, *args: Any, **named: Any) -> Any:
        await self._turn()
        return await super()._ask(method, *args, **named)

    async def _stream(self, method: str, /, *args: Any, **named: Any) -> AsyncGenerator[Any]:
        await self._turn()
        async with aclosing(super()._stream(method, *args, **named)) as batches:
            async for rows in batches:
                yield rows

    async def _turn(self) -> None:
        """Wait until the next request may start."""
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + self._interval
        self.requests += 1
        if turn > now:
            await asyncio.sleep(turn - now)
