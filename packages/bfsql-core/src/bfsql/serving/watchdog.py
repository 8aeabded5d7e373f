"""The watchdog of the event loop: it logs, with its stack, code that occupies the loop for long.

While the loop runs one piece of code, no other call is answered. A thread compares the processor
time of the loop's thread, which is small while the loop waits or the machine is busy, with the
turns of the loop. It asks the loop for a sign only while the loop works, so it costs nothing
otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger("bfsql")


class Watchdog:
    """Watches the running event loop until `stop`."""

    seconds = 0.5
    """Processor time of the loop's thread without a turn of the loop that is logged."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._watched)
        self._turned, self._stopped = True, threading.Event()
        self._thread = threading.Thread(target=self._watch, name="bfsql-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread: the clock must not be read when the loop's thread has ended."""
        self._stopped.set()
        self._thread.join()

    def _turn(self) -> None:
        self._turned = True

    def _watch(self) -> None:
        before = began = time.clock_gettime(self._clock)
        logged = False
        while not self._stopped.wait(self.seconds / 4):
            now = time.clock_gettime(self._clock)
            # This thread waits for one call of C that keeps the interpreter's lock.
            one_call = now - before >= self.seconds
            if self._turned and (one_call or now - began >= self.seconds / 8):
                began, logged, self._turned = (before if one_call else now), False, False
                self._loop.call_soon_threadsafe(self._turn)
            if not (self._turned or logged) and now - began >= self.seconds:
                logged = self._log(now - began)
                began = began if logged else now
            before = now

    def _log(self, seconds: float) -> bool:
        """Log the loop's stack, unless it imports a module; return whether it did."""
        frame = sys._current_frames().get(self._watched)  # noqa: SLF001 - there is no other way
        stack = traceback.extract_stack(frame, 20)[::-1]
        if any("importlib._bootstrap" in one.filename for one in stack):
            return False
        places = (f"{'/'.join(Path(f.filename).parts[-2:])}:{f.lineno} {f.name}" for f in stack)
        self.warn(
            f"The event loop has been occupied for {seconds:.1f} s of processor time, in which no "
            f"other call was answered, by: {' < '.join(places)}"
        )
        return True

    def warn(self, message: str) -> None:
        """Log a message about the loop."""
        log.warning("%s", message)


@contextmanager
def watched_loop() -> Iterator[None]:
    """Watch the running loop, on systems that measure the processor time of another thread."""
    if not hasattr(time, "pthread_getcpuclockid"):
        yield
        return
    watchdog = Watchdog()
    try:
        yield
    finally:
        watchdog.stop()
