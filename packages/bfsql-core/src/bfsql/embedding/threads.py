"""A few threads of their own for functions that block, so that no other work waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """Runs functions off the event loop; a thread is started when one is needed.

    Args:
        most: How many functions may run at once.
    """

    def __init__(self, most: int) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="bfsql-embedding")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The function's result, in the context of the caller."""
        here = copy_context()
        ask = lambda: here.run(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._pool, ask)

    def close(self) -> None:
        """Take nothing more; what runs cannot be stopped, and nobody waits for it."""
        self._pool.shutdown(wait=False, cancel_futures=True)
