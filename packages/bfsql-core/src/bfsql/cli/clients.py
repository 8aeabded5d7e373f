"""MCP clients: where each configures its servers, and the form of an entry."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bfsql.cli.splice import read_json, read_toml, remove_item, set_item, set_table
from bfsql.errors import ConfigurationError
from bfsql.settings import read_text

TOKEN_VARIABLE = "BFSQL_BEARER_TOKEN"  # noqa: S105 - a variable's name
"""Environment variable from which clients take the token of a remote server."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that a server needs."""

    value: str
    file_option: str | None = None
    """The option that takes a file with the value; None if the value is not a secret."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A server that the client starts."""

    command: str
    args: tuple[str, ...]
    variables: Mapping[str, Variable] = field(default_factory=dict)

    @property
    def secrets(self) -> list[str]:
        """The names of variables that contain a secret."""
        return [name for name, one in self.variables.items() if one.file_option is not None]


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote server."""

    url: str
    token: str | None = None
    """Whether it requires a token."""

    @property
    def secrets(self) -> list[str]:
        """The variable of the token, if there is one."""
        return [] if self.token is None else [TOKEN_VARIABLE]


@dataclass(frozen=True, slots=True)
class Client:
    """A program that configures MCP servers in a file."""

    name: str
    """The name for `bfsql install`."""
    title: str
    paths: list[str]
    """Paths of the file; the first is the current one, others are used only if it does not
    exist."""
    windows: str | None = None
    """The path on Windows, if it is not the first of `paths`."""
    mac: str | None = None
    """The path on macOS, likewise."""
    key: str = "mcpServers"
    """The table of the file that contains the servers."""
    form: Literal["json", "toml"] = "json"
    types: list[str] | None = None
    """The entry's `type` for a server that is started, and for a remote one."""
    url: str = "url"
    """The entry's key for the address of a remote server; empty if the file cannot have one."""
    reference: str | None = None
    """How a value refers to an environment variable of the client, with `{}` for its name."""
    skills: str = ""
    """The folder of its skills, if it keeps them in one."""
    after: str = "Restart it, or reload its MCP servers."

    def entry(self, server: Launch | Remote, *, name: str, with_secrets: bool) -> dict[str, Any]:
        """The entry of a server in the file, with secrets in clear text or as references.

        Raises:
            ConfigurationError: The client does not support such a server, or cannot refer to a
                secret.
        """
        if isinstance(server, Remote):
            return self._remote(server, name, with_secrets=with_secrets)
        entry: dict[str, Any] = {"type": self.types[0]} if self.types else {}
        entry |= {"command": server.command, "args": list(server.args)}
        written = {
            variable: one.value
            if with_secrets or one.file_option is None
            else self._secret(variable, name, f"Give it in a file with {one.file_option}")
            for variable, one in server.variables.items()
        }
        if env := {variable: text for variable, text in written.items() if text is not None}:
            entry["env"] = env
        if forwarded := [variable for variable, text in written.items() if text is None]:
            entry["env_vars"] = forwarded
        return entry

    def _remote(self, server: Remote, name: str, *, with_secrets: bool) -> dict[str, Any]:
        if not self.url:
            raise ConfigurationError(
                f"{self.title} keeps remote servers in its settings, as connectors, not in its "
                "file. Add the URL there, or leave out --url: the client then starts the server."
            )
        entry: dict[str, Any] = {"type": self.types[1]} if self.types else {}
        entry[self.url] = server.url
        if server.token is None:
            return entry
        if with_secrets:
            header = {"Authorization": f"Bearer {server.token}"}
            return entry | {"http_headers" if self.form == "toml" else "headers": header}
        if self.form == "toml":
            return entry | {"bearer_token_env_var": TOKEN_VARIABLE}
        token = self._secret(TOKEN_VARIABLE, name, "Use another client")
        return entry | {"headers": {"Authorization": f"Bearer {token}"}}

    def _secret(self, variable: str, name: str, cure: str) -> str | None:
        """A reference to a secret; None if the client forwards variables by name."""
        if self.form == "toml":
            return None
        if self.reference is None:
            raise ConfigurationError(
                f"{self.title} can neither ask for a secret nor read it from its environment, so "
                f"{variable} would have to be in its file in clear text. {cure}, or add "
                "--with-secrets."
            )
        return self.reference.format(_input(name, variable) if self._asks else variable)

    def inputs(self, server: Launch | Remote, *, name: str) -> list[dict[str, Any]]:
        """The inputs that the client has to prompt for: secrets that `${input:...}` refers to."""
        if not self._asks:
            return []
        return [
            {
                "type": "promptString",
                "id": _input(name, variable),
                "description": f"{variable} of the server {name}",
                "password": True,
            }
            for variable in server.secrets
        ]

    @property
    def _asks(self) -> bool:
        return self.reference is not None and self.reference.startswith("${{input:")

    def path(self, home: Path, environment: Mapping[str, str], system: str = sys.platform) -> Path:
        """The path of the file, whether or not it exists."""
        own = {"win32": self.windows, "darwin": self.mac}.get(system)
        possible = [_placed(one, home, environment) for one in ((own,) if own else self.paths)]
        return next((one for one in possible if one.exists()), possible[0])

    def skill(self, server: str, home: Path, environment: Mapping[str, str]) -> Path | None:
        """The path of the skill of a server of that name; None if the client keeps none."""
        page = _placed(self.skills, home, environment) / f"ask-{slug(server)}" / "SKILL.md"
        return page if self.skills else None

    # --- the file, which is `Unreadable` if it is not JSON or TOML, or cannot contain an entry ---

    def servers(self, text: str) -> dict[str, Any]:
        """The servers in the text of a file."""
        whole = read_toml(text) if self.form == "toml" else read_json(text)
        found = whole.get(self.key) if isinstance(whole, dict) else None
        return found if isinstance(found, dict) else {}

    def added(
        self, text: str, name: str, entry: dict[str, Any], inputs: list[dict[str, Any]]
    ) -> str:
        """The file's text with an entry, which replaces one of the same name."""
        if self.form == "toml":
            return set_table(text, self.key, name, entry)
        text = set_item(text, [self.key, name], entry)
        for one in inputs:
            text = set_item(text, ["inputs", ("id", one["id"])], one)
        return text

    def removed(self, text: str, name: str) -> str:
        """The file's text without an entry and without the inputs that only this entry uses."""
        if self.form == "toml":
            return set_table(text, self.key, name, None)
        inputs = self.present_inputs(text, name)
        text = remove_item(text, [self.key, name])
        for one in inputs:
            text = remove_item(text, ["inputs", ("id", one["id"])])
        return text

    def present_inputs(self, text: str, name: str) -> list[dict[str, Any]]:
        """The inputs that an entry of a file refers to."""
        if not self._asks:
            return []
        entry, present = str(self.servers(text).get(name)), read_json(text).get("inputs")
        return [
            one
            for one in present or ()
            if isinstance(one, dict) and f"${{input:{one.get('id')}}}" in entry
        ]


def read_file(path: Path) -> str:
    """The text of a client's file, in which some clients also store their history.

    Raises:
        UnreadableFile: It cannot be read.
    """
    return read_text(path, max_bytes=100_000_000)


def slug(name: str) -> str:
    """A name in small letters, digits and hyphens, as skills and bundles have it."""
    return re.sub("[^a-z0-9]+", "-", name.lower())[:50].strip("-") or "this-graph"


def _placed(path: str, home: Path, environment: Mapping[str, str]) -> Path:
    """A path with its folders in place of their names."""
    folders = {
        "home": str(home),
        "config": environment.get("XDG_CONFIG_HOME") or f"{home}/.config",
        "appdata": environment.get("APPDATA") or f"{home}/AppData/Roaming",
        "codex": environment.get("CODEX_HOME") or f"{home}/.codex",
        "cline": environment.get("CLINE_DIR") or f"{home}/.cline",
    }
    return Path(path.format(**folders))


def _input(name: str, variable: str) -> str:
    """The id of an input: two servers may need one of the same name."""
    return f"{name}-{variable}"


def own_command(*arguments: str) -> tuple[str, ...]:
    """`bfsql` with arguments, by its absolute path: clients have a search path of their own."""
    script = Path(sys.executable).with_name("bfsql.exe" if os.name == "nt" else "bfsql")
    program = (str(script),) if script.exists() else (sys.executable, "-P", "-m", "bfsql")
    return (*program, *arguments)


def is_ours(entry: Any, url: str | None = None) -> bool:
    """Whether an entry starts `bfsql serve`, or connects to the given remote server."""
    if not isinstance(entry, dict):
        return False
    if url is not None:
        return url in entry.values()
    command, args = str(entry.get("command", "")), entry.get("args")
    words = [str(word) for word in args] if isinstance(args, list) else []
    program = re.split(r"[/\\]", command)[-1].removesuffix(".exe")
    if program == "bfsql":
        return words[:1] == ["serve"]
    return words[words[:1] == ["-P"] :][:3] == ["-m", "bfsql", "serve"]


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CLIENTS = {name: Client(name, **fields) for name, fields in _TABLES.items()}
"""The clients that `bfsql install` knows, by name."""
