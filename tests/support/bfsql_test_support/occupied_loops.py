"""An occupied event loop fails a test: its own after two seconds, a server's after one.

Both are noted in a file of the session. A server that starts from nothing, as `python -m bfsql`,
only logs it, as it does for users. Time of the garbage collector does not count in a test: a full
collection takes seconds over all that the tests before have left.
"""

import gc
import os
import time
from pathlib import Path

from bfsql.serving.watchdog import Watchdog

SECONDS = 1.0
"""Twice the usual: the tests share processors, and measure their coverage."""
SECONDS_OF_TESTS = 2.0
"""For the loop of a test, on which generators, oracles and the kit's comparisons run, too."""
FILE = Path(os.environ.get("FILE_OF_OCCUPIED_LOOPS", os.devnull))
"""Each line is a message of a watchdog; conftest.py names the file for all processes of a run."""


class WatchdogOfTest(Watchdog):
    """Watches the loop of a test while it runs."""

    seconds = SECONDS_OF_TESTS

    def __init__(self) -> None:
        self._collected, self._collects_since = 0.0, 0.0
        gc.callbacks.append(self._collect)
        super().__init__()

    def stop(self) -> None:
        super().stop()
        gc.callbacks.remove(self._collect)

    def _collect(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collects_since = time.monotonic()
        elif self._collects_since:
            self._collected += time.monotonic() - self._collects_since
            self._collects_since = 0.0

    def _log(self, seconds: float) -> bool:
        # A weak reference's callback lets this thread look into the middle of a collection.
        collects = time.monotonic() - self._collects_since if self._collects_since else 0.0
        collected, self._collected = self._collected + collects, 0.0
        return (
            self._loop.is_running()  # pytest and hypothesis work, too
            and seconds - collected >= SECONDS
            and super()._log(seconds)
        )

    def warn(self, message: str) -> None:
        """Note it."""
        note(message)


def watch_served_loops() -> None:
    """Let the watchdogs of this process, a server's, note what they log."""
    warn = Watchdog.warn

    def both(watchdog: Watchdog, message: str) -> None:
        note(message)
        warn(watchdog, message)

    Watchdog.seconds, Watchdog.warn = SECONDS, both  # type: ignore[method-assign]


def note(message: str) -> None:
    """Append a message to the file."""
    with FILE.open("a", encoding="utf-8") as lines:
        lines.write(f"{message}\n")


def messages() -> str:
    """The messages since the last call."""
    if not FILE.is_file():
        return ""
    text = FILE.read_text("utf-8")
    FILE.unlink()
    return text
