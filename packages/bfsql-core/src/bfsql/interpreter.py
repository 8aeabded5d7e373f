"""Settings of the interpreter for a process that loads or serves a graph, and undone after it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collections(oldest: int) -> Iterator[None]:
    """Collect garbage less often than Python does, and as before when the block ends.

    Saves a tenth of the time for a hub of 60,000 edges and a fifteenth of a load (decision 0001).
    Reference cycles, of which asyncio leaves one for each connection that has ended and the SDK
    one for each call, die in the younger generations. A collection holds Python's lock, so the
    younger ones are small enough to take at most 0.1 s under load (decision 0028).

    Args:
        oldest: Number of collections of the second generation for one of the oldest, which takes
            up to 0.4 s.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(20_000, 2, oldest)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@contextmanager
def short_switches() -> Iterator[None]:
    """Let threads take turns after 0.5 ms, and after Python's 5 ms when the block ends.

    A thread that needs Python's lock waits this long for each thread before it: with eight
    threads that compute in Python, health is answered within 0.1 s instead of 1 s.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


@contextmanager
def frozen_modules() -> Iterator[None]:
    """Leave out of collections what exists now, mostly modules: a full one takes a tenth."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
