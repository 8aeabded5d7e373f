"""Several questions at the same time, as one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def together(*awaitables: Awaitable[T]) -> list[T]:
    """All results; where one fails, its error, with the others ended first."""
    tasks = [asyncio.ensure_future(one) for one in awaitables]
    try:
        return await asyncio.gather(*tasks)  # a TaskGroup would hide the store's own error
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
