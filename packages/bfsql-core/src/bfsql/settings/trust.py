"""Trust in settings by where they came from.

A file that lies in the working directory may be anybody's: it may choose a graph and describe it.
Settings that run code, send, listen, write or instruct models need an option, the environment, or
a file that the user named or accepted; so does the address to which a credential of the user goes.
Whatever a settings model does not declare in its `found_file` is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Level(Enum):
    """Origin of a setting, the most trusted first."""

    DEFAULT = "default"
    OPTION = "option"
    ENVIRONMENT = "environment"
    NAMED = "named file"
    ACCEPTED = "accepted file"
    FOUND = "found file"

    @property
    def suffix(self) -> str:
        """The level of a file in brackets, to follow a place in it; empty for other levels."""
        return f" ({self.value})" if self.value.endswith("file") else ""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """What a configuration file may set that nobody named; `|` combines it with that of a base.

    found_file = FoundFile("uri database", credentials={"password": "uri"})
    """

    settings: str = ""
    """Fields that choose a graph or describe it, separated by blanks."""
    credentials: dict[str, str] = field(default_factory=dict)
    """Fields with credentials, and variables from which a driver reads them, each with the fields
    that determine where it is sent; of `a|b`, the first that is set. By default these are all.
    """
    checks: dict[str, Callable[[Any], bool]] = field(default_factory=dict)
    """For fields of which only some values are allowed, whether a value is."""

    def __or__(self, other: FoundFile) -> FoundFile:
        """What either of two allows."""
        settings, checks = f"{self.settings} {other.settings}", self.checks | other.checks
        return FoundFile(settings, self.credentials | other.credentials, checks)
