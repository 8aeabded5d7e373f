"""`bfsql.toml`: server settings at the top level, the backend's in the table `[backend]`.

max_tokens = 10000

[backend]
name = "sqlite"
path = "films.db"

Several graphs have a table each, `[graphs.NAME]`, instead of `[backend]`.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from bfsql.errors import ConfigurationError, did_you_mean, system_reason
from bfsql.settings.roles import Role, roles_of
from bfsql.settings.trust import Level

FILE_NAME = "bfsql.toml"
"""The name of the file in the working directory."""

VARIABLE = "BFSQL_CONFIG"
"""Environment variable with the path of another file."""

OF_GRAPH = (
    *("title", "graph_description"),
    *("max_tokens", "deadline", "max_nodes", "max_edges", "max_call_memory"),
)
"""Settings of the server that each of several graphs has of its own: two texts, and `limits`."""

_GRAPH_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

_POSITION = re.compile(
    r"^(?P<reason>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)"
)


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The two parts of a configuration file; empty if there is none."""

    path: Path | None = None
    server: dict[str, Any] = field(default_factory=dict)
    """The top level, without `[backend]`."""
    backend: dict[str, Any] = field(default_factory=dict)
    """The table `[backend]`, without `name`."""
    backend_name: str | None = None
    """`name` of that table."""
    level: Level = Level.NAMED
    """Whether it was named, found, or accepted by the user."""
    text: str = ""
    """The content that was parsed, by which an acceptance is recognised."""
    graphs: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """The tables `[graphs.NAME]`."""
    roles: tuple[Role, ...] = ()
    """The tables `[roles.NAME]`."""
    graph: str = ""
    """The one whose settings `server` and `backend` are; empty for a graph without a name."""

    def of_graph(self, name: str) -> ConfigFile:
        """The file as if it had only one of its graphs.

        Raises:
            ConfigurationError: It does not have the graph, or its table is wrong.
        """
        if name not in self.graphs:
            names = ", ".join(self.graphs) or "none"
            hint = did_you_mean(name, self.graphs) or f" There are: {names}."
            raise ConfigurationError(f"There is no graph {name[:64]!r}.{hint}")
        table = dict(self.graphs[name])
        limits, backend = table.pop("limits", {}), table.pop("backend", None)
        known = isinstance(limits, dict) and limits.keys() <= {*OF_GRAPH[2:]}
        if not known or not isinstance(backend, str | None):
            raise ConfigurationError(
                f"[graphs.{name}] of {self.place}: backend has to be text, and limits a table of "
                f"{', '.join(OF_GRAPH[2:])}."
            )
        own = {key: table.pop(key) for key in OF_GRAPH[:2] if key in table} | limits
        server = {**self.server, **own}
        return replace(self, server=server, backend=table, backend_name=backend, graph=name)

    @property
    def place(self) -> str:
        """The file as messages name it."""
        return str(self.path or FILE_NAME)

    @property
    def backend_place(self) -> str:
        """The table as messages name it."""
        return f"[{f'graphs.{self.graph}' if self.graph else 'backend'}] of {self.place}"

    @property
    def backend_key(self) -> str:
        """The key of that table that names the backend."""
        return "backend" if self.graph else "name"


def checked_graphs(graphs: Any, place: str) -> dict[str, dict[str, Any]]:
    """The tables of several graphs.

    Raises:
        ConfigurationError: They are not tables, or a name cannot be in a URL and in a variable.
    """
    tables = graphs if isinstance(graphs, dict) else {}
    wrong = [
        n for n, of in tables.items() if not (_GRAPH_NAME.fullmatch(n) and isinstance(of, dict))
    ]
    if wrong or not tables:
        raise ConfigurationError(
            f"{[*wrong, 'graphs'][0][:80]!r} in {place} is no graph: write [graphs.NAME], with a "
            "name of at most 64 lower-case letters, digits and hyphens."
        )
    return tables


def read_config(named: str | Path | None, environment: Mapping[str, str]) -> ConfigFile:
    """The configuration file that applies.

    1. the file that the option `--config` names, 2. the file that `BFSQL_CONFIG`
    names, 3. `bfsql.toml` in the working directory, 4. none.

    Args:
        named: Value of the option, or None.
        environment: The process's environment.

    Raises:
        ConfigurationError: The named file does not exist, cannot be read, is not
            TOML (with the line), or its `[backend]` is not a table.
    """
    variable = environment.get(VARIABLE)
    if named is None and not variable:
        path = Path(FILE_NAME)
        return _parsed(path, _text(path, ""), Level.FOUND) if path.exists() else ConfigFile()
    origin = "option --config" if named is not None else f"environment variable {VARIABLE}"
    path = Path(named if named is not None else variable or "").expanduser()
    return _parsed(path, _text(path, f" ({origin})"))


def _text(path: Path, origin: str) -> str:
    if not path.exists():
        raise ConfigurationError(
            f"There is no configuration file {path}{origin}. Check the path, or leave it out."
        )
    try:
        return read_text(path)
    except UnreadableFile as unreadable:
        raise ConfigurationError(
            f"The configuration file {path}{origin} cannot be read: {unreadable}."
        ) from None


class UnreadableFile(Exception):
    """A file that cannot be read as text; the message is the reason, without a full stop."""


def read_text(path: Path, max_bytes: int = 1_000_000) -> str:
    """The text of a file, or of a pipe with a writer; bounded in size and time.

    Args:
        path: The file.
        max_bytes: Maximum size of the content.

    Raises:
        UnreadableFile: It does not exist, is a device or a folder, is too large, is not UTF-8, or
            is a pipe whose writer has not finished within 5 s.
    """
    try:
        # Without O_NONBLOCK, opening a FIFO would wait until a process opens its other end.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb", 0) as file:
            content = _bounded(file, max_bytes)
    except (OSError, ValueError) as error:
        raise UnreadableFile(system_reason(error)) from None
    if len(content) > max_bytes:
        raise UnreadableFile(f"it is larger than {max_bytes:,} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"it is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None


def open_regular(path: Path) -> BufferedReader:
    """Open a file to read its bytes, if it is a regular one; opening a FIFO could take for ever.

    Raises:
        OSError: It is something else, or cannot be opened.
    """

    def without_waiting(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    file = open(path, "rb", opener=without_waiting)  # noqa: SIM115 - Path has no opener
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def _bounded(file: FileIO, max_bytes: int) -> bytes:
    """The content, cut one byte after the maximum size; of a pipe, as in `<(command)`, in time."""
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise UnreadableFile("it is a device, not a file")
    content, ends = b"", time.monotonic() + 5.0
    while len(content) <= max_bytes:
        part: bytes | None = file.read(max_bytes + 1 - len(content))
        if part is None:  # a pipe that is open and empty
            left = max(0.0, ends - time.monotonic())
            if not select.select([file], [], [], left)[0]:
                raise UnreadableFile("it is a pipe that was not closed within 5 s")
        elif part:
            content += part
        elif not content and stat.S_ISFIFO(mode):
            raise UnreadableFile("it is a pipe that nothing writes to")
        else:
            break
    return content


def _parsed(path: Path, text: str, level: Level = Level.NAMED) -> ConfigFile:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(_not_toml(path, text, str(error))) from None
    if {"graphs", "backend"} <= content.keys():
        raise ConfigurationError(
            f"{path} has both [backend] and [graphs]. Make [backend] one of [graphs.NAME], with "
            "backend in place of name."
        )
    graphs = checked_graphs(content.pop("graphs"), str(path)) if "graphs" in content else {}
    roles = roles_of(content.pop("roles", {}), str(path))
    backend = content.pop("backend", {})
    if not isinstance(backend, dict):
        raise ConfigurationError(
            f"backend in {path} is {backend!r}: it has to be a table, as in "
            f'[backend] and, on the next line, name = "{backend}".'
        )
    name = backend.pop("name", None)
    if name is not None and not isinstance(name, str):
        raise ConfigurationError(f"name in [backend] of {path} is {name!r}; it has to be text.")
    return ConfigFile(path, content, backend, name, level, text, graphs, roles)


def _not_toml(path: Path, text: str, message: str) -> str:
    found = _POSITION.match(message)
    reason = found["reason"] if found else message
    line = found["line"] if found and found["line"] else len(text.splitlines())
    return f"{path}, line {line}: this is not TOML ({reason[:1].lower()}{reason[1:]})."
