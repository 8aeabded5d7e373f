"""Trust in settings by where they came from.

A file that lies in the working directory may be anybody's: it may choose a graph and describe it.
Settings that run code, send, listen, write or instruct models need an option, the environment, or
a file that the user named or accepted; so does the address to which a credential of the user goes.
Whatever a settings model does not declare in its `found_file` is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql.settings.model import Option
    from bfsql.settings.resolve import Resolved


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


def excess(allowed: FoundFile, known: Sequence[Option], table: Mapping[str, Any]) -> Iterator[str]:
    """The settings in the table of a found file that it may not have."""
    by_key, names = {option.key: option.field for option in known}, allowed.settings.split()
    for key, value in table.items():
        name = by_key.get(key.replace("-", "_"), "")  # an unknown key has an error of its own
        if name and name not in names:
            yield key
        elif name in allowed.checks and not allowed.checks[name](value):
            yield f"{key} (with this value)"


def leaks(
    known: Sequence[Option], resolved: Resolved[Any], environment: Mapping[str, str]
) -> Iterator[str]:
    """The settings of a found file to which a credential from elsewhere would be sent."""
    levels, ways = resolved.levels, resolved.settings.found_file.credentials
    keys = {option.field: option.key for option in known if levels[option.field] is Level.FOUND}
    unset = (None, Level.DEFAULT)
    for name in dict.fromkeys((*(option.field for option in known if option.secret), *ways)):
        variable = Level.ENVIRONMENT if environment.get(name) else Level.DEFAULT
        if levels.get(name, variable) in (Level.DEFAULT, Level.FOUND):
            continue
        origin = resolved.origins.get(name, f"environment variable {name}")
        for way in ways.get(name, " ".join(keys)).split():
            first = next((one for one in way.split("|") if levels.get(one) not in unset), "")
            if first in keys:
                yield f"{keys[first]} (where the credential of {origin} is sent)"
