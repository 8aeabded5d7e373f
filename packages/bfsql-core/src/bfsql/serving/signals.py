"""Signals to the process, as calls in its event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)
"""Ask a server to stop."""

RELOAD: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""Asks a server to read its configuration and open its graph anew; None on Windows."""


@contextmanager
def handled(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Call functions in the running event loop when signals come; none in other threads."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def handler(number: int, _: Any) -> None:
        loop.call_soon_threadsafe(handlers[signal.Signals(number)])

    before = {number: signal.signal(number, handler) for number in handlers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
