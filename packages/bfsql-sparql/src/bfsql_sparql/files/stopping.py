"""How work in a thread is told to end."""

from __future__ import annotations


class Stopped(Exception):
    """Nobody waits for the result any more."""


class Stop:
    """A flag between the event loop, which sets it, and a thread, which looks at it often."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Ask the thread to end."""
        self._set = True

    def check(self) -> None:
        """Go on, if that is still wanted.

        Raises:
            Stopped: It is not.
        """
        if self._set:
            raise Stopped
