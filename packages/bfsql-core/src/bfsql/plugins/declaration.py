"""A command of the command line, as a hook plugin declares it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandDeclaration:
    """Enough to list a command without importing it."""

    name: str
    """What a person types after `bfsql`."""
    help: str
    """Its line in `bfsql --help`."""
    place: str
    """`module:attribute` of a `click.Command`, imported when the command is called."""
