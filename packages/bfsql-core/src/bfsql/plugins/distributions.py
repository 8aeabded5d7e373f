"""Declarations of installed distributions, read from their metadata without importing them.

A module separate from the other modules of plugins, so that neither pydantic nor pluggy
is imported for `bfsql --version`, or if no hook plugin is installed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, entry_points, version
from pathlib import Path
from weakref import WeakKeyDictionary

__version__ = version("bfsql-core")

BACKENDS = "bfsql.backends"
"""The entry point group of backends."""


def entry_points_of(group: str) -> list[EntryPoint]:
    """Every entry point of a group, sorted by name, then by distribution.

    Reading the metadata of a hundred distributions takes 10 ms, so they are read again only when a
    folder of `sys.path` has changed, as happens when something is installed in it or removed.
    """
    return list(_declared(group, tuple((path, _state(path)) for path in sys.path)))


@lru_cache(maxsize=4)
def _declared(group: str, _folders: tuple[object, ...]) -> list[EntryPoint]:
    return sorted(entry_points(group=group), key=lambda point: (point.name, origin(point)))


def _state(path: str) -> tuple[int, int] | None:
    """A value that changes when a folder entry is added or removed; None if there is no folder."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def origin(point: EntryPoint) -> tuple[str, str]:
    """Name and version of the distribution that declares an entry point."""
    dist = point.dist
    if dist is None:
        return "an unnamed distribution", ""
    if dist not in _origins:
        metadata = dist.metadata  # which is parsed at each access
        _origins[dist] = metadata["Name"], metadata["Version"]
    return _origins[dist]


_origins: WeakKeyDictionary[Distribution, tuple[str, str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginState:
    """A line of `bfsql backends`."""

    name: str
    distribution: str
    version: str
    state: str
    """`ok`, or a sentence with the reason why the plugin cannot be used."""

    @property
    def ok(self) -> bool:
        """Whether the plugin can be used."""
        return self.state == "ok"
