"""What a store suggests for settings that were not given: as a command line, and as a file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretBytes, SecretStr

from bfsql.cli.clients import Launch
from bfsql.cli.command import escape
from bfsql.cli.configuration import Configuration
from bfsql.cli.install import argument
from bfsql.cli.serve import serve
from bfsql.cli.show import Line, setting_lines, toml
from bfsql.cli.splice import toml_key, toml_text
from bfsql.errors import BfsqlError, ConfigurationError
from bfsql.plugins import Proposal
from bfsql.settings import FILE_NAME, HIDDEN, spelled


async def proposal_of(configuration: Configuration) -> Proposal:
    """The backend's proposal; empty if it never makes one, or if the store cannot be read."""
    propose = configuration.choice.plugin.propose
    if propose is None:
        return Proposal()
    try:
        return await propose(configuration.backend.settings)
    except (BfsqlError, OSError, TimeoutError):
        return Proposal()  # opening the store reports the reason


def command_line(
    configuration: Configuration, server: Launch, proposal: Proposal, *command: str
) -> str:
    """A `bfsql` command for a POSIX shell, with the settings that were given and those proposed.

    Args:
        configuration: That of the server.
        server: From `launch(configuration)`.
        proposal: The settings to add.
        *command: `serve`, or another command that takes the same options.
    """
    given = server.args[server.args.index("serve") + 1 :]
    options = {option.field: option for option in serve.backend_options(configuration.choice)}
    added: list[str] = []
    for one in proposal.settings:
        option = options[one.field]
        setting = one.value if option.kind == "flag" else _text(one.value)
        added += argument(option, setting, is_path=False)
    return shlex.join(["bfsql", *command, *given, *added])


def _text(value: Any) -> str:
    """The value as an option takes it: texts that contain a comma are a JSON array."""
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False)
    if not isinstance(value, list | tuple):
        return spelled(value)
    if any("," in item or item != item.strip() or item[:1] in ("", "[") for item in value):
        return json.dumps(list(value), ensure_ascii=False)
    return ",".join(value)


def new_config(configuration: Configuration) -> Path:
    """The path of a configuration file to write; raises if there is one already."""
    if (path := configuration.choice.file.path) is None:
        return Path(FILE_NAME)
    raise ConfigurationError(
        f"{path} exists and was not changed. Move it and run this again, or add the options that "
        "`bfsql doctor` prints without --write."
    )


def write_config(path: Path, configuration: Configuration, proposal: Proposal) -> None:
    """Write the settings that were given, except secrets, and those proposed, into a new file.

    Raises:
        ConfigurationError: It cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in _lines(configuration, proposal))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}.") from None


def _lines(configuration: Configuration, proposal: Proposal) -> Iterator[str]:
    server, backend = (
        [_toml_line(line) for line in setting_lines(one) if line.origin != "default"]
        for one in (configuration.server, configuration.backend)
    )
    yield from server
    yield from ("", "[backend]", f"name = {json.dumps(configuration.choice.backend)}", *backend)
    for one in proposal.settings:
        if one.tables is None:
            yield toml(Line(one.field.rstrip("_"), one.value, one.reason))
    left_out = (proposal.withheld, *proposal.left_out)
    yield from (f"# {escape(sentence)}" for sentence in left_out if sentence)
    for one in proposal.settings:
        yield from ("", f"# {one.field}: {escape(one.reason)}") if one.tables else ()
        for name, row in (one.tables or {}).items():
            yield from ("", f"[backend.{one.field}.{toml_key(name)}]")
            yield from (f"{key} = {toml_text(value)}" for key, value in row.items())


def _toml_line(line: Line) -> str:
    if isinstance(line.value, SecretStr | SecretBytes) or HIDDEN in spelled(line.value):
        return f"# {line.key} contains a secret and is not written; it came from {line.origin}"
    return toml(line)
