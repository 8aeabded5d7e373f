"""The user's consent to a configuration file that was found in the working directory.

It is asked for on a terminal only, and holds for one content in one folder. It is kept as a file in
the user's state folder, named by the hash of the two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import click

from bfsql.cli.command import escape
from bfsql.errors import ConfigurationError
from bfsql.settings import ConfigFile, Level


def with_consent(file: ConfigFile, settings: Sequence[str], *, ask: bool) -> ConfigFile:
    """A found file as an accepted one, if the user agrees now or has agreed before.

    Args:
        file: The file.
        settings: What it sets and may not set otherwise.
        ask: Whether to ask on a terminal.

    Raises:
        ConfigurationError: The user has not accepted it.
    """
    assert file.path is not None
    folder = os.path.realpath(file.path.parent)
    refused = ConfigurationError(
        f"{file.place} was found in the working directory, not named, and so may choose a graph "
        f"and describe it, but not set {', '.join(settings)}; if you trust the file, add `--config "
        f"{file.place}` or set the environment variable BFSQL_CONFIG to its path."
    )
    try:
        # A relative path, which XDG forbids, would be in the folder that is not trusted.
        state = Path(os.environ.get("XDG_STATE_HOME", ""))
        homes = {"darwin": "~/Library/Application Support", "win32": "~/AppData/Local"}
        home = homes.get(sys.platform, "~/.local/state")
        state = state if state.is_absolute() else Path(home).expanduser()
    except RuntimeError:  # there is no home
        raise refused from None
    content = f"{folder}\0{file.text}".encode("utf-8", "surrogateescape")
    record = state / "bfsql" / "trusted" / sha256(content).hexdigest()
    if not record.exists():
        if not ask or not all(one and one.isatty() for one in (sys.stdin, sys.stderr)):
            raise refused
        click.echo(escape(f"{folder}: {refused}"), err=True)
        if not click.confirm("Do you trust the file, as it is now and here?", err=True):
            raise refused
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        record.write_text(f"{folder}\n", encoding="utf-8", errors="surrogateescape")
    return replace(file, level=Level.ACCEPTED)
