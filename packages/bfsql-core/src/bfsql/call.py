"""What belongs to the call under way: its deadline, and what was left out.

Two context variables, so that a backend five rooms down can ask how long it
has and say what it could not give, without an argument through every method.

    with call.scope(seconds=30) as scope:
        await backend.edges_batch(ids)
    scope.omissions        # what the backend left out, in the order it said so
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from bfsql.models.omission import Omission

__all__ = ["Omission", "Scope", "current", "entered", "joined", "omitted", "remaining", "scope"]


@dataclass(slots=True)
class Scope:
    """One tool call, or one flight of the cache that several calls share."""

    deadline: float | None = None
    """`time.monotonic()` at which the call ends, or None for no end."""
    seconds: float | None = None
    """What the deadline was when the call began, for sentences about it."""
    _omissions: dict[Omission, None] = field(default_factory=dict)

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """What was left out so far, each once, in the order it was said."""
        return tuple(self._omissions)

    def add(self, omissions: Iterable[Omission]) -> None:
        """Take note of what was left out."""
        self._omissions.update(dict.fromkeys(omissions))


_current: ContextVar[Scope | None] = ContextVar("bfsql_call", default=None)


@contextmanager
def scope(*, seconds: float | None = None) -> Iterator[Scope]:
    """Begin a call: all that runs inside shares its deadline and its omissions.

    Args:
        seconds: How long the call may take, from now; None for no end.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    with entered(Scope(deadline, seconds)) as opened:
        yield opened


@contextmanager
def entered(opened: Scope) -> Iterator[Scope]:
    """Go on inside a scope that was made elsewhere."""
    token = _current.set(opened)
    try:
        yield opened
    finally:
        _current.reset(token)


@contextmanager
def joined() -> Iterator[Scope]:
    """Go on inside the call under way, or begin one without a deadline."""
    under_way = _current.get()
    if under_way is not None:
        yield under_way
    else:
        with scope() as opened:
            yield opened


def current() -> Scope | None:
    """The scope of the call under way, or None outside of one."""
    return _current.get()


def remaining() -> float | None:
    """Seconds until the deadline of the call under way, at least 0; None for no deadline.

    A backend asks this for its statement timeout.
    """
    under_way = _current.get()
    if under_way is None or under_way.deadline is None:
        return None
    return max(0.0, under_way.deadline - time.monotonic())


def omitted(*omissions: Omission) -> None:
    """Say what had to be left out of what is being returned.

    Outside of a call nobody listens, and nothing happens.
    """
    under_way = _current.get()
    if under_way is not None:
        under_way.add(omissions)
