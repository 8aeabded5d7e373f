"""How a wrong backend is hung in the gallery: with the rule that is meant to catch it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bfsql.abc import GraphDbInterface


@dataclass(frozen=True)
class Wrong:
    """A backend with one mistake; the docstring of its class says which."""

    backend: type[GraphDbInterface]
    """Opened by calling it with the records of a graph."""
    rule: str
    """Id of the rule that is meant to catch it; others may catch it too."""

    @property
    def name(self) -> str:
        """What the tests call it."""
        return self.backend.__name__


GALLERY: list[Wrong] = []

_Backend = TypeVar("_Backend", bound=type[GraphDbInterface])


def wrong(rule: str) -> Callable[[_Backend], _Backend]:
    """Hang a backend in the gallery.

    Args:
        rule: Id of the rule that is meant to catch it.
    """

    def hang(backend: _Backend) -> _Backend:
        GALLERY.append(Wrong(backend, rule))
        return backend

    return hang
