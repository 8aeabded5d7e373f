"""Handles signals to the process as calls in its event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)
"""Signals that stop a server."""

RELOAD: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""Signal that makes a server reload its configuration and reopen its graph; None on Windows."""


@contextmanager
def handled(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Call functions in the running event loop on signals; does nothing in other threads."""
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
