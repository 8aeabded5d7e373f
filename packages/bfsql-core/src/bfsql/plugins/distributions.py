"""Declarations of installed distributions, read from their metadata without importing them.

A module separate from the other modules of plugins, so that neither pydantic nor pluggy
is imported for `bfsql --version`, or if no hook plugin is installed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path

__version__ = version("bfsql-core")

BACKENDS = "bfsql.backends"
"""The entry point group of backends."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin declared by an installed distribution."""

    name: str
    distribution: str
    version: str
    entry_point: EntryPoint


def plugins_of(group: str) -> list[Installed]:
    """Every plugin of an entry point group, sorted by name, then by distribution.

    Reading the metadata of a hundred distributions takes 10 ms, so they are read again only when a
    folder of `sys.path` has changed, as happens when something is installed in it or removed.
    """
    return list(_declared(group, tuple((path, _state(path)) for path in sys.path)))


@lru_cache(maxsize=4)
def _declared(group: str, folders: tuple[object, ...]) -> list[Installed]:
    found = []
    for point in _every_point(folders).select(group=group):
        origin = "an unnamed distribution", ""
        if point.dist is not None:
            metadata = point.dist.metadata  # which is parsed at each access
            origin = metadata["Name"], metadata["Version"]
        found.append(Installed(point.name, *origin, point))
    return sorted(found, key=lambda one: (one.name, one.distribution, one.version))


_every_point = lru_cache(maxsize=1)(lambda _folders: entry_points())


def _state(path: str) -> tuple[int, int] | None:
    """A value that changes when a folder entry is added or removed; None if there is no folder."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


@dataclass(frozen=True, slots=True)
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
