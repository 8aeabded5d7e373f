"""The installed backends: found by their entry points, loaded one at a time.

Finding them reads metadata and imports nothing; `load` imports the one that is
asked for and no other, so that a broken backend harms only those who use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bfsql.abc import CONTRACT, GraphDbInterface
from bfsql.errors import (
    AmbiguousBackend,
    BackendImportFailed,
    ContractMismatch,
    NotABackend,
    PluginError,
    UnknownBackend,
)
from bfsql.plugins.bare import plugin_for
from bfsql.plugins.plugin import BackendPlugin

GROUP = "bfsql.backends"
"""The entry points' group."""

KNOWN = ("sqlite", "postgres", "sparql", "neo4j", "jsonld")
"""Backends that have a distribution `bfsql-<name>` of this project."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A backend that some installed distribution declares."""

    name: str
    distribution: str
    version: str
    entry_point: EntryPoint


@dataclass(frozen=True, slots=True)
class BackendState:
    """A line of `bfsql backends`."""

    name: str
    distribution: str
    version: str
    summary: str
    """What the plugin says of itself; empty where it cannot be loaded."""
    state: str
    """`ok`, or the sentence that says why it cannot be used."""

    @property
    def ok(self) -> bool:
        """Whether it can be used."""
        return self.state == "ok"


def installed() -> list[Installed]:
    """Every declared backend, sorted by name; nothing is imported."""
    found = [_installed(point) for point in entry_points(group=GROUP)]
    return sorted(found, key=lambda one: (one.name, one.distribution))


def load(name: str) -> BackendPlugin:
    """The plugin of one backend; only that one is imported.

    Args:
        name: The name of the entry point, such as `sqlite`.

    Raises:
        UnknownBackend: No installed distribution declares it.
        AmbiguousBackend: Two or more do.
        BackendImportFailed: Its module cannot be imported; the cause is chained.
        NotABackend: It is neither a plugin nor a complete backend class.
        ContractMismatch: It was written for another contract than this core's.
    """
    everything = installed()
    claims = [one for one in everything if one.name == name]
    if not claims:
        names = sorted({one.name for one in everything})
        raise UnknownBackend(name, names, f"bfsql-{name}" if name in KNOWN else None)
    if len(claims) > 1:
        raise AmbiguousBackend(name, [one.distribution for one in claims])
    return _loaded(claims[0])


def states() -> list[BackendState]:
    """Every declared backend and whether it can be used; a broken one stops no other."""
    return [_state(one) for one in installed()]


def _installed(point: EntryPoint) -> Installed:
    dist = point.dist
    if dist is None:
        return Installed(point.name, "an unnamed distribution", "", point)
    return Installed(point.name, dist.name, dist.version, point)


def _state(one: Installed) -> BackendState:
    try:
        summary, state = load(one.name).summary, "ok"
    except PluginError as error:
        summary, state = "", str(error)
    return BackendState(one.name, one.distribution, one.version, summary, state)


def _loaded(one: Installed) -> BackendPlugin:
    try:
        found: Any = one.entry_point.load()
        if isinstance(found, type) and issubclass(found, GraphDbInterface):
            return plugin_for(one.name, one.distribution, found)
    except PluginError:
        raise
    except (Exception, SystemExit) as cause:  # a stranger's module may do anything
        raise BackendImportFailed(one.name, one.distribution, cause) from cause
    if not isinstance(found, BackendPlugin):
        raise NotABackend(one.name, one.distribution, found)
    if found.contract != CONTRACT:
        raise ContractMismatch(one.name, one.distribution, found.contract, CONTRACT)
    return found
