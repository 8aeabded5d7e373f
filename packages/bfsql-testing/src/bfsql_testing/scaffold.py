"""Writes a distribution with a backend in it: what `bfsql new-backend` does.

A template (in `scaffold_templates/`) is the file itself with `$name` where a name goes
(`string.Template`), under the file's name with `.template` at the end, so that no linter takes it
for Python. The folder `package` becomes the import package. Lines between `%% loads` and `%% end`
are those of a backend with a loader, between `%% reads` and `%% end` those of one without; a file
of which nothing is left is not written.
"""

from __future__ import annotations

import datetime as dt
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from string import Template

from bfsql.errors import ConfigurationError
from bfsql.plugins import installed
from bfsql.plugins.distributions import __version__
from bfsql.plugins.registry import OFFICIAL

_OURS = ("core", "testing", *OFFICIAL)
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
                "lower-case letters, digits and single underscores, such as `notes` or "
                "`my_store`, and not a Python keyword."
            )
        if name in _OURS:
            raise ConfigurationError(
                f"The name {name!r} belongs to bfsql-{name}, a distribution of BFS-QL. Choose "
                "another one."
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


_SUFFIX = ".template"
_PART = re.compile(r"^%% (loads|reads)\n(.*?)^%% end\n", re.MULTILINE | re.DOTALL)


def write_distribution(names: Names, parent: Path, *, loads: bool = False) -> list[Path]:
    """Write a distribution that can be installed, tested, served and published.

    Args:
        names: What it and its parts are called.
        parent: The folder to make it in, under the distribution's name.
        loads: Whether it has a loader, which fills its store from graph files.

    Returns:
        The files, in the order of their paths.

    Raises:
        ConfigurationError: Something of that name is there already.
        OSError: The folder cannot be written.
    """
    folder = parent.expanduser() / names.distribution
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigurationError(
            f"{folder} already exists and is not overwritten. Remove it, or name another folder "
            "with --path."
        ) from None
    values = _values(names)
    written = []
    for place, text in _templates(files("bfsql_testing") / "scaffold_templates", PurePosixPath()):
        own = _PART.sub(lambda part: part[2] * ((part[1] == "loads") == loads), text)
        if text and not own:
            continue
        path = folder.joinpath(*(values.get(part, part) for part in place.parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(own).substitute(values), encoding="utf-8", newline="\n")
        written.append(path)
    return sorted(written)


def _values(names: Names) -> dict[str, str]:
    major, minor = (int(part) for part in __version__.split(".")[:2])
    return {
        "backend": names.backend,
        "distribution": names.distribution,
        "package": names.package,
        "prefix": names.prefix,
        "variable": names.variable,
        "core": f"bfsql-core>={major}.{minor},<{major}.{minor + 1}",
        "core_testing": f"bfsql-core[testing]>={major}.{minor},<{major}.{minor + 1}",
        "year": str(dt.datetime.now(tz=dt.UTC).year),
    }


def _templates(folder: Traversable, place: PurePosixPath) -> Iterator[tuple[PurePosixPath, str]]:
    for found in folder.iterdir():
        if found.is_dir():
            yield from _templates(found, place / found.name)
        elif found.name.endswith(_SUFFIX):
            yield place / found.name.removesuffix(_SUFFIX), found.read_text(encoding="utf-8")
