"""Combines configuration file, environment and options.

There are two steps, because the options of a command depend on its backend: `choose` determines the
backend, `configure` reads the settings.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bfsql.cli.consent import with_consent
from bfsql.errors import BfsqlError, ConfigurationError, did_you_mean
from bfsql.lazy import lazy_call
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
from bfsql.settings.file import OF_GRAPH, checked_graphs
from bfsql.settings.model import options_of_one
from bfsql.settings.resolve import excess, leaks, unused_variables
from bfsql.settings.roles import Role, claims_in

log = logging.getLogger("bfsql")

DEFAULT_BACKEND = "sqlite"
"""The embedded store, used if no backend is named."""

BACKEND_VARIABLE = "BFSQL_BACKEND"
"""Environment variable that names the backend."""

# It is never opened.
_SEVERAL = BackendPlugin("several graphs", BackendSettings, lazy_call("bfsql.memory:MemoryBackend"))


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
        return self.backend_origin == f"{self.file.backend_key} in {self.file.backend_place}"

    @property
    def several(self) -> tuple[str, ...]:
        """The names of all graphs, if there are several and none of them was chosen."""
        return () if self.file.graph else tuple(self.file.graphs)

    def of_graph(self, name: str) -> Choice:
        """The choice of one of several graphs."""
        return _chosen(self.file.of_graph(name), self.environment)

    @property
    def found_file(self) -> Path | None:
        """The configuration file, if it was found and not named."""
        file = self.file
        return file.path.resolve() if file.path and file.level is not Level.NAMED else None

    def backend_options(self, reserved: Collection[str] = ()) -> list[Option]:
        """Settings of the backend, each with a variable that begins with `variables`.

        Options with a name that the command already has become `--<backend>-<name>`.
        """
        of = options_of_one if self.file.graph else options
        return [
            replace(option, name=f"{self.backend}-{option.name}")
            if option.name in reserved
            else option
            for option in of(self.plugin.settings, self.variables)
        ]

    @property
    def variables(self) -> str:
        """The beginning of the graph's environment variables."""
        return variable_prefix(f"graphs-{self.file.graph}" if self.file.graph else self.backend)

    def server_options(self) -> list[Option]:
        """Settings of the server, of which a graph of several has some in variables of its own."""
        known, start = server_options(), self.variables
        for at, one in enumerate(known):
            if self.file.graph and one.field in OF_GRAPH:
                names = (f"{start}{one.field.upper()}", *one.environment)
                known[at] = replace(one, environment=names)
        return known

    def unused_variables(self) -> dict[str, str]:
        """Variables `BFSQL_...` that neither a setting nor another backend has, with the reason."""
        graphs = [f"graphs-{name}" for name in self.file.graphs]
        names = graphs or (one.name for one in installed())
        others = {BACKEND_VARIABLE, *map(variable_prefix, names)} - {self.variables}
        known = [*self.backend_options(), *self.server_options()]
        return unused_variables(self.environment, known, [*others])


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every setting, and where it came from."""

    choice: Choice
    server: Resolved[ServeSettings]
    backend: Resolved[BackendSettings]
    of_roles: Mapping[str, BackendSettings] = field(default_factory=dict)
    """Those of the backend for roles that have some of their own."""
    error: BfsqlError | None = None
    """Why one of several graphs cannot be opened; the settings are then those of all."""

    def with_server(self, **settings: Any) -> Configuration:
        """The configuration with other settings of the server."""
        changed = self.server.settings.model_copy(update=settings)
        return replace(self, server=replace(self.server, settings=changed))


def variable_prefix(backend: str) -> str:
    """The beginning of the environment variables of a backend, or of `graphs-NAME`."""
    return f"BFSQL_{backend.upper().replace('-', '_')}_"


def server_options() -> list[Option]:
    """Settings of the server; each has a variable `BFSQL_<FIELD>`."""
    return options(ServeSettings, prefix="BFSQL_")


def choose(
    *,
    config: str | Path | None = None,
    backend: str | None = None,
    graphs: Sequence[str] = (),
    name: str | None = None,
    several: bool = False,
    environment: Mapping[str, str],
) -> Choice:
    """Find the configuration file and the backend, and load the backend's plugin.

    Args:
        config: Value of `--config`.
        backend: Value of `--backend`.
        graphs: Files; without `backend`, the ending of the first determines the backend. Several
            that are each made by `bfsql load` are several graphs, with the names of the files.
        name: Value of `--graph-name`: one of several graphs.
        several: Whether the command works on all graphs if none is named.
        environment: The process's environment.
    """
    file = read_config(config, environment)
    if backend or graphs:
        file = replace(file, graphs={} if backend else _graphs_of_files(graphs))
    if name is None and len(file.graphs) == 1:
        [name] = file.graphs
    if name is not None:
        return _chosen(file.of_graph(name), environment)
    if not file.graphs:
        return _chosen(file, environment, backend, graphs[0] if graphs else None)
    if several:
        return Choice(file, environment, "", f"[graphs] of {file.place}", _SEVERAL)
    names = ", ".join(file.graphs)
    raise ConfigurationError(f"There are several graphs. Choose one with --graph-name: {names}.")


def _graphs_of_files(files: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The tables of several graphs that are a file each; none if the files are one graph."""
    name = backend_of(Path(files[0]), DEFAULT_BACKEND) if len(files) > 1 else None
    kinds = load(name, "").files if name else None
    if kinds is None or not all(one.lower().endswith(kinds.endings) for one in files):
        return {}
    paths = [Path(one).absolute() for one in files]
    tables = {one.stem: {"backend": name, kinds.setting: str(one)} for one in paths}
    if len(tables) < len(paths):
        raise ConfigurationError(
            "Two files have one name, which is that of a graph. Name the graphs in [graphs.NAME] "
            "of a configuration file."
        )
    return checked_graphs(tables, "the command line")


def _chosen(
    file: ConfigFile,
    environment: Mapping[str, str],
    backend: str | None = None,
    graph: str | None = None,
) -> Choice:
    """The backend of one graph."""
    by_ending = backend_of(Path(graph), DEFAULT_BACKEND) if graph and backend is None else None
    variable = None if file.graph else environment.get(BACKEND_VARIABLE) or None
    said = (
        (backend, "option --backend"),
        (by_ending, f"the ending of {graph}"),
        (variable, f"environment variable {BACKEND_VARIABLE}"),
        (file.backend_name, f"{file.backend_key} in {file.backend_place}"),
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
    resolved = partial(
        resolve, environment=choice.environment, base=base, level=file.level, graphs=file.graphs
    )
    refused: list[str] = []
    if file.level is Level.FOUND:
        refused += excess(ServeSettings.found_file, server_options(), file.server)
        refused += excess(model.found_file | BackendSettings.found_file, known, table)
        refused += [f"roles.{role.name}.settings" for role in file.roles if role.settings]
    if not refused:
        _check_backend_keys(file, known)
        of_server = resolved(
            ServeSettings,
            options=server,
            table=file.server,
            known=choice.server_options(),
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
    if file.roles:
        check_roles(file.roles, file.graphs)
    of_roles, roles = {}, list(file.roles)
    for at, role in enumerate(() if choice.several else file.roles):
        if own := role.of_backend(file.graph):
            # Neither variables nor options take precedence over them.
            names = [key.replace("-", "_") for key in own]
            own_keys = {*names, *(name.removesuffix("_file") for name in names)}
            of_roles[role.name] = resolved(
                model,
                options={k: v for k, v in (backend or {}).items() if k.rstrip("_") not in own_keys},
                table=table | own,
                known=[replace(o, environment=()) if o.key in own_keys else o for o in known],
                place=f"[roles.{role.name}.settings] of {file.place}",
            ).settings
        texts = {
            name: getattr(of_roles.get(role.name), name, "") for name in sorted(model.of_caller)
        }
        named = {name: text for name, text in texts.items() if claims_in(text)}
        roles[at] = role.model_copy(update={"settings": named})
    for name, why in choice.unused_variables().items():
        if name.startswith(choice.variables):
            log.warning("%s is ignored: %s", name, why)
    return Configuration(choice, of_server, of_backend, of_roles).with_server(roles=tuple(roles))


def check_roles(roles: Sequence[Role], graphs: Mapping[str, Any]) -> None:
    """Refuse roles that name an unknown graph or tool, or hide by a pattern that is none."""
    from bfsql.tools.parameters import PARAMETERS
    from bfsql.tools.role_graph import hidden_patterns

    for role in roles:
        for key, known in (("graphs", graphs), ("settings", graphs), ("tools", PARAMETERS)):
            if known and (strange := {*(getattr(role, key) or ())} - known.keys()):
                why = f"{min(strange)[:64]!r}, which is unknown. There are: {', '.join(known)}."
                raise ConfigurationError(f"{key} of [roles.{role.name}] has {why}")
        if role.graphs is not None and not graphs:
            why = "has no tables [graphs.NAME], so that its one graph has no name. Leave it out."
            raise ConfigurationError(f"graphs of [roles.{role.name}]: the file {why}")
        hidden_patterns(role)


def _check_backend_keys(file: ConfigFile, known: Collection[Option]) -> None:
    """Refuse a misspelt `name` in the table of the backend, or `backend` in that of a graph."""
    strangers = file.backend.keys() - {o.key for o in known} - {o.name for o in known}
    keys = {"name", file.backend_key}
    name = next((key for key in sorted(strangers) if did_you_mean(key, keys)), None)
    if name and file.backend_name is None:
        names = ", ".join(names_like(str(file.backend[name])))
        raise ConfigurationError(
            f"{name} in {file.backend_place} is unknown. Did you mean {file.backend_key}, which "
            f"names the backend? Installed are: {names}."
        )
