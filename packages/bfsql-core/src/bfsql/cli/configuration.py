"""Combines configuration file, environment and options.

There are two steps, because the options of a command depend on its backend: `choose` determines the
backend, `configure` reads the settings.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bfsql.cli.consent import with_consent
from bfsql.errors import ConfigurationError, did_you_mean
from bfsql.plugins import BackendPlugin, backend_of, installed, load
from bfsql.plugins.registry import names_like
from bfsql.settings import (
    BackendSettings,
    ConfigFile,
    Level,
    Option,
    Resolved,
    ServeSettings,
    options,
    read_config,
    resolve,
)
from bfsql.settings.resolve import excess, leaks, unused_variables

log = logging.getLogger("bfsql")

DEFAULT_BACKEND = "sqlite"
"""The embedded store, used if no backend is named."""

BACKEND_VARIABLE = "BFSQL_BACKEND"
"""Environment variable that names the backend."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen backend, its plugin, and the layers of its settings."""

    file: ConfigFile
    environment: Mapping[str, str]
    backend: str
    backend_origin: str
    plugin: BackendPlugin

    @property
    def is_of_file(self) -> bool:
        """Whether the configuration file chose the backend."""
        return self.backend_origin == f"name in {self.file.backend_place}"

    @property
    def found_file(self) -> Path | None:
        """The configuration file, if it was found and not named."""
        file = self.file
        return file.path.resolve() if file.path and file.level is not Level.NAMED else None

    def backend_options(self, reserved: Collection[str] = ()) -> list[Option]:
        """Settings of the backend; each has a variable `BFSQL_<BACKEND>_<FIELD>`.

        Options with a name that the command already has become `--<backend>-<name>`.
        """
        return [
            replace(option, name=f"{self.backend}-{option.name}")
            if option.name in reserved
            else option
            for option in options(self.plugin.settings, prefix=variable_prefix(self.backend))
        ]

    def unused_variables(self) -> dict[str, str]:
        """Variables `BFSQL_...` that neither a setting nor another backend has, with the reason."""
        others = [variable_prefix(one.name) for one in installed() if one.name != self.backend]
        known = [*self.backend_options(), *server_options()]
        return unused_variables(self.environment, known, (*others, BACKEND_VARIABLE))


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every setting, and where it came from."""

    choice: Choice
    server: Resolved[ServeSettings]
    backend: Resolved[BackendSettings]

    def with_server(self, **settings: Any) -> Configuration:
        """The configuration with other settings of the server."""
        changed = self.server.settings.model_copy(update=settings)
        return replace(self, server=replace(self.server, settings=changed))


def variable_prefix(backend: str) -> str:
    """The beginning of the environment variables of a backend."""
    return f"BFSQL_{backend.upper().replace('-', '_')}_"


def server_options() -> list[Option]:
    """Settings of the server; each has a variable `BFSQL_<FIELD>`."""
    return options(ServeSettings, prefix="BFSQL_")


def choose(
    *,
    config: str | Path | None = None,
    backend: str | None = None,
    graph: str | None = None,
    environment: Mapping[str, str],
) -> Choice:
    """Find the configuration file and the backend, and load the backend's plugin.

    Args:
        config: Value of `--config`.
        backend: Value of `--backend`.
        graph: The graph's file; without `backend`, the ending of its name determines the backend.
        environment: The process's environment.
    """
    file = read_config(config, environment)
    by_ending = backend_of(Path(graph), DEFAULT_BACKEND) if graph and backend is None else None
    said = (
        (backend, "option --backend"),
        (by_ending, f"the ending of {graph}"),
        (environment.get(BACKEND_VARIABLE) or None, f"environment variable {BACKEND_VARIABLE}"),
        (file.backend_name, f"name in {file.backend_place}"),
        (DEFAULT_BACKEND, "default"),
    )
    name, origin = next((name, origin) for name, origin in said if name is not None)
    return Choice(file, environment, name, origin, load(name, origin))


def configure(
    choice: Choice,
    *,
    server: Mapping[str, Any] | None = None,
    backend: Mapping[str, Any] | None = None,
    reserved: Collection[str] = (),
    writes: bool = False,
    ask: bool = False,
) -> Configuration:
    """Resolve all layers into settings.

    The table `[backend]` is used if it names the chosen backend, or none. What a found file may not
    set ends the command before anything is validated, unless the user has accepted the file.

    Args:
        choice: From `choose`.
        server: Values of the server's options, by field.
        backend: Values of the backend's options, by field.
        reserved: As in `Choice.backend_options`.
        writes: Whether the command writes to the store.
        ask: Whether the user may be asked about a found file.
    """
    file, model = choice.file, choice.plugin.settings
    known = choice.backend_options(reserved)
    table = file.backend if file.backend_name in (None, choice.backend) else {}
    base = file.path.parent if file.path else None
    resolved = partial(resolve, environment=choice.environment, base=base, level=file.level)
    refused: list[str] = []
    if file.level is Level.FOUND:
        refused += excess(ServeSettings.found_file, server_options(), file.server)
        refused += excess(model.found_file | BackendSettings.found_file, known, table)
    if not refused:
        _check_backend_keys(file, known)
        of_server = resolved(
            ServeSettings,
            options=server,
            table=file.server,
            known=server_options(),
            place=file.place,
        )
        of_backend = resolved(
            model, options=backend, table=table, known=known, place=file.backend_place
        )
        refused += leaks(known, of_backend, choice.environment)
        if writes and file.level is Level.FOUND:
            keys = [one.key for one in known if of_backend.levels[one.field] is Level.FOUND]
            keys += ["name"] if choice.is_of_file else []
            refused += [f"{key} (what is written to)" for key in keys]
    if refused:
        choice = replace(choice, file=with_consent(file, refused, ask=ask))
        return configure(choice, server=server, backend=backend, reserved=reserved)
    for name, why in choice.unused_variables().items():
        if name.startswith(variable_prefix(choice.backend)):
            log.warning("%s is ignored: %s", name, why)
    return Configuration(choice, of_server, of_backend)


def _check_backend_keys(file: ConfigFile, known: Collection[Option]) -> None:
    """Refuse a misspelt `name` in the table of the backend."""
    strangers = file.backend.keys() - {o.key for o in known} - {o.name for o in known}
    name = next((key for key in sorted(strangers) if did_you_mean(key, ["name"])), None)
    if name and file.backend_name is None:
        names = ", ".join(names_like(str(file.backend[name])))
        raise ConfigurationError(
            f"{name} in {file.backend_place} is unknown. Did you mean name, which names the "
            f"backend? Installed are: {names}."
        )
