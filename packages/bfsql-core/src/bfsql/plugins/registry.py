"""The installed backends: found by their entry points, loaded one at a time.

Finding backends reads metadata and imports nothing; `load` imports only the requested
backend, so a broken one affects only its own users. An entry point may also name a
`GraphDbInterface` subclass that is opened without arguments.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from bfsql.abc import CONTRACT, GraphDbInterface
from bfsql.errors import (
    AmbiguousBackend,
    BackendImportFailed,
    BackendOpenFailed,
    BfsqlError,
    ContractMismatch,
    NotABackend,
    PluginError,
    UnknownBackend,
)
from bfsql.plugins.declaration import BackendPlugin, Open
from bfsql.plugins.distributions import BACKENDS, Installed, PluginState, plugins_of
from bfsql.settings import BackendSettings

OFFICIAL = ("sqlite", "postgres", "sparql", "neo4j", "gremlin", "jsonld")
"""Backends with a distribution `bfsql-<name>` of this project."""


@dataclass(frozen=True, slots=True)
class BackendState(PluginState):
    """A backend's line of `bfsql backends`."""

    summary: str
    """The plugin's own summary; empty if it cannot be loaded."""


def installed() -> list[Installed]:
    """Every declared backend, sorted by name; nothing is imported."""
    return plugins_of(BACKENDS)


def load(name: str, origin: str = "") -> BackendPlugin:
    """The plugin of one backend; no other is imported.

    Args:
        name: The name of the entry point, such as `sqlite`.
        origin: Where the name was given, for the error if there is no such backend.

    Raises:
        UnknownBackend: No installed distribution declares it.
        AmbiguousBackend: Two or more distributions declare it.
        BackendImportFailed: Its module cannot be imported; the cause is chained.
        NotABackend: It is neither a plugin nor a complete backend class.
        ContractMismatch: It was written for a contract that this core does not support.
    """
    claims = [one for one in installed() if one.name == name]
    if not claims:
        raise UnknownBackend(name, names_like(name), origin, official=name in OFFICIAL)
    if len(claims) > 1:
        raise AmbiguousBackend(name, [one.distribution for one in claims])
    return _loaded(claims[0])


def names_like(name: str) -> list[str]:
    """The names of the installed backends, the most similar one first."""
    from difflib import SequenceMatcher  # needed by errors alone

    names = sorted({one.name for one in installed()})
    return sorted(names, key=lambda one: -SequenceMatcher(None, one, name).ratio())


async def open_backend(
    name: str, plugin: BackendPlugin, settings: BackendSettings
) -> GraphDbInterface:
    """The open backend of a plugin.

    Raises:
        NotABackend: The plugin opened something else.
        BackendOpenFailed: It raised an error that is neither one of core nor of the system.
    """
    distribution = next((one.distribution for one in installed() if one.name == name), "bfsql-core")
    try:
        opened = await created(name, distribution, plugin.open, settings)
    except Exception as cause:
        if isinstance(cause, BfsqlError | ExceptionGroup) or getattr(cause, "strerror", None):
            raise
        raise BackendOpenFailed(name, distribution, cause) from cause
    opened.time_keys = settings.time_keys or opened.time_keys
    return opened


def backend_of(path: Path, first: str) -> str | None:
    """The installed backend that serves a file with this ending, or None.

    Args:
        path: The file; it need not exist.
        first: The backend to try first. Others are imported only if it does not serve
            the file.
    """
    for name in sorted((one.name for one in installed()), key=lambda name: name != first):
        try:
            files = load(name).files
        except PluginError:
            continue  # `bfsql backends` reports the fault
        if files is not None and files.has(path.name):
            return name
    return None


def states() -> list[BackendState]:
    """Every declared backend and whether it can be used; a broken one does not affect others."""
    return [_state(one) for one in installed()]


def _state(one: Installed) -> BackendState:
    try:
        summary, state = load(one.name).summary, "ok"
    except PluginError as error:
        summary, state = "", str(error)
    return BackendState(one.name, one.distribution, one.version, state, summary)


def _loaded(one: Installed) -> BackendPlugin:
    try:
        found: Any = one.entry_point.load()
        if isinstance(found, type) and issubclass(found, GraphDbInterface):
            return _plugin_of(one, found)
    except (Exception, SystemExit) as cause:  # third-party code may raise anything
        wrong = one.entry_point.value if _is_of_entry_point(cause, one.entry_point) else ""
        raise BackendImportFailed(one.name, one.distribution, cause, wrong) from cause
    if not isinstance(found, BackendPlugin):
        raise NotABackend(one.name, one.distribution, found)
    _check_contract(one, found.contract)
    return found


def _plugin_of(one: Installed, backend: type[GraphDbInterface]) -> BackendPlugin:
    """A plugin without options of its own around a class that is opened without arguments."""
    create: Any = getattr(backend, "create", backend)
    summary = (backend.__doc__ or backend.__name__).strip().partition("\n")[0]
    open_: Open = lambda _: created(one.name, one.distribution, create)
    return BackendPlugin(summary, BackendSettings, open_)


def _is_of_entry_point(cause: BaseException, point: EntryPoint) -> bool:
    """Whether the module or the attribute that an entry point names does not exist."""
    if isinstance(cause, ModuleNotFoundError):
        return f"{point.module}.".startswith(f"{cause.name}.")
    module = getattr(cause.obj, "__name__", None) if isinstance(cause, AttributeError) else None
    return module == point.module and getattr(cause, "name", None) in point.attr.split(".")


_CONTRACT = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")


def _check_contract(one: Installed, stated: object) -> None:
    """Reject another MAJOR of the contract, or a MINOR whose additions this core lacks."""
    spoken, own = _contract_number(stated), _contract_number(CONTRACT)
    assert own is not None
    if spoken is None or spoken[0] < own[0] or spoken > own:
        newer = None if spoken is None else spoken > own
        raise ContractMismatch(one.name, one.distribution, stated, CONTRACT, newer=newer)


def _contract_number(stated: object) -> tuple[int, int] | None:
    """MAJOR and MINOR of a number as plugins state it; None if it is not such a number."""
    found = _CONTRACT.fullmatch(str(stated)) if isinstance(stated, (int, str)) else None
    return (int(found[1]), int(found[2] or 0)) if found else None


async def created(
    name: str, distribution: str, create: Callable[..., Any], /, *positional: Any, **named: Any
) -> GraphDbInterface:
    """The backend that a class, a class method or a factory returns, perhaps as an awaitable."""
    made = create(*positional, **named)
    opened = await made if inspect.isawaitable(made) else made
    if not isinstance(opened, GraphDbInterface):
        raise NotABackend(name, distribution, opened)
    return opened
