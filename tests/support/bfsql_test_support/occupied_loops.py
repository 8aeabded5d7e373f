"""An occupied event loop fails a test: its own after two seconds, a server's after one.

Both are noted in a file of the session. A server that starts from nothing, as `python -m bfsql`,
only logs it, as it does for users.
"""

import os
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

    def _log(self, seconds: float) -> bool:
        return self._loop.is_running() and super()._log(seconds)  # pytest and hypothesis work, too

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
