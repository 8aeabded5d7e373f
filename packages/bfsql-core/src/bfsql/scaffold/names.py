"""From a backend's name to all that is called after it."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from bfsql.errors import ConfigurationError
from bfsql.plugins import installed
from bfsql.plugins.registry import KNOWN

_OURS = ("core", *KNOWN)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Names:
    """What a new distribution and its parts are called."""

    backend: str
    """What `--backend` takes, such as `my_notes`."""

    @classmethod
    def checked(cls, name: str) -> Names:
        """The names of a backend that can be made.

        Args:
            name: Lower-case letters, digits and single underscores; no word of
                Python, and no name that another backend has.

        Raises:
            ConfigurationError: It cannot be the name of a new backend.
        """
        if not _NAME.fullmatch(name) or keyword.iskeyword(name):
            raise ConfigurationError(
                f"{name!r} cannot be the name of a backend: it has to be a Python identifier of "
                "lower-case letters, digits and single underscores, and no word of Python's own, "
                "such as `notes` or `my_store`."
            )
        if name in _OURS:
            raise ConfigurationError(
                f"The name {name!r} belongs to the distribution bfsql-{name} of BFS-QL itself. "
                "Choose another one."
            )
        for other in installed():
            if other.name == name:
                raise ConfigurationError(
                    f"The name {name!r} is taken by the installed distribution "
                    f"{other.distribution}, and two backends of one name cannot be used side by "
                    "side. Choose another one, or uninstall that distribution first."
                )
        return cls(name)

    @property
    def distribution(self) -> str:
        """What `pip install` takes, such as `bfsql-my-notes`."""
        return f"bfsql-{self.backend.replace('_', '-')}"

    @property
    def package(self) -> str:
        """What Python imports, such as `bfsql_my_notes`."""
        return f"bfsql_{self.backend}"

    @property
    def prefix(self) -> str:
        """What its classes begin with, such as `MyNotes`."""
        return "".join(part.capitalize() for part in self.backend.split("_"))

    @property
    def variable(self) -> str:
        """The environment variable of its setting `path`, such as `BFSQL_MY_NOTES_PATH`."""
        return f"BFSQL_{self.backend.upper()}_PATH"
