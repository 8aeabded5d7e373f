"""Where hook plugins are declared; reads metadata and imports nothing."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

GROUP = "bfsql.hooks"
"""The entry points' group."""


def hook_points() -> list[EntryPoint]:
    """Every declared hook plugin, sorted by name, then by distribution."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, origin(point)))


def origin(point: EntryPoint) -> tuple[str, str]:
    """Name and version of the distribution that declares it."""
    dist = point.dist
    return ("an unnamed distribution", "") if dist is None else (dist.name, dist.version)
