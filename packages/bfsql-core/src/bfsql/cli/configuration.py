"""Combines configuration file, environment and options.

There are two steps, because the options of a command depend on its backend: `choose` determines the
backend, `configure` reads the settings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bfsql.plugins import BackendPlugin, backend_of, load
from bfsql.settings import (
    BackendSettings,
    ConfigFile,
    Option,
    Resolved,
    ServeSettings,
    options,
    read_config,
    resolve,
)

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

    def backend_options(self, reserved: Collection[str] = ()) -> list[Option]:
        """Settings of the backend; each has a variable `BFSQL_<BACKEND>_<FIELD>`.

        Options with a name that the command already has become `--<backend>-<name>`.
        """
        prefix = f"BFSQL_{self.backend.upper().replace('-', '_')}_"
        return [
            replace(option, name=f"{self.backend}-{option.name}")
            if option.name in reserved
            else option
            for option in options(self.plugin.settings, prefix=prefix)
        ]


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
    return Choice(file, environment, name, origin, load(name))


def configure(
    choice: Choice,
    *,
    server: Mapping[str, Any] | None = None,
    backend: Mapping[str, Any] | None = None,
    reserved: Collection[str] = (),
) -> Configuration:
    """Resolve all layers into settings.

    The table `[backend]` is used if it names the chosen backend, or none.

    Args:
        choice: From `choose`.
        server: Values of the server's options, by field.
        backend: Values of the backend's options, by field.
        reserved: As in `Choice.backend_options`.
    """
    file = choice.file
    resolved = partial(
        resolve, environment=choice.environment, base=file.path.parent if file.path else None
    )
    meant = file.backend_name in (None, choice.backend)
    return Configuration(
        choice,
        resolved(
            ServeSettings,
            options=server,
            table=file.server,
            known=server_options(),
            place=file.place,
        ),
        resolved(
            choice.plugin.settings,
            options=backend,
            table=file.backend if meant else {},
            known=choice.backend_options(reserved),
            place=file.backend_place,
        ),
    )
