"""Writes the distribution from the templates beside this module.

A template is the file itself with `$name` where a name goes (`string.Template`),
under the file's name with `.template` at the end, so that no linter takes it
for Python. The folder `package` becomes the import package.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from string import Template

from bfsql.errors import ConfigurationError
from bfsql.plugins.distributions import __version__
from bfsql.scaffold.names import Names

_SUFFIX = ".template"


def write_distribution(names: Names, parent: Path) -> list[Path]:
    """Write a distribution that can be installed, tested, served and published.

    Args:
        names: What it and its parts are called.
        parent: The folder to make it in, under the distribution's name.

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
            f"{folder} is there already, and nothing is overwritten. "
            "Remove it, or name another folder with --path."
        ) from None
    values = _values(names)
    written = []
    for place, text in _templates(files("bfsql.scaffold") / "distribution", PurePosixPath()):
        path = folder.joinpath(*(values.get(part, part) for part in place.parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(text).substitute(values), encoding="utf-8", newline="\n")
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
