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


def distribution_of(backend: str) -> str:
    """What `pip install` takes for a backend, such as `bfsql-my-notes` for `my_notes`."""
    return f"bfsql-{backend.replace('_', '-')}"


def _check_name(backend: str) -> None:
    """Refuse what cannot be the name of a new backend, or is that of another one.

    Raises:
        ConfigurationError: It is not of lower-case letters, digits and single underscores, a word
            of Python, or taken.
    """
    if not _NAME.fullmatch(backend) or keyword.iskeyword(backend):
        raise ConfigurationError(
            f"{backend!r} cannot be the name of a backend: it has to be a Python identifier of "
            "lower-case letters, digits and single underscores, such as `notes` or "
            "`my_store`, and not a Python keyword."
        )
    if backend in _OURS:
        raise ConfigurationError(
            f"The name {backend!r} belongs to bfsql-{backend}, a distribution of BFS-QL. Choose "
            "another one."
        )
    for other in installed():
        if other.name == backend:
            raise ConfigurationError(
                f"The name {backend!r} is taken by the installed distribution "
                f"{other.distribution}, and two backends of one name cannot be used side by "
                "side. Choose another one, or uninstall that distribution first."
            )


_SUFFIX = ".template"
_PART = re.compile(r"^%% (loads|reads)\n(.*?)^%% end\n", re.MULTILINE | re.DOTALL)


def write_distribution(backend: str, parent: Path, *, loads: bool = False) -> list[Path]:
    """Write a distribution that can be installed, tested, served and published.

    Args:
        backend: What `--backend` takes, such as `my_notes`.
        parent: The folder to make it in, under the distribution's name.
        loads: Whether it has a loader, which fills its store from graph files.

    Returns:
        The files, in the order of their paths.

    Raises:
        ConfigurationError: It cannot be the name of a new backend, or the folder is there already.
        OSError: The folder cannot be written.
    """
    _check_name(backend)
    folder = parent.expanduser() / distribution_of(backend)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigurationError(
            f"{folder} already exists and is not overwritten. Remove it, or name another folder "
            "with --path."
        ) from None
    values = _values(backend)
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


def _values(backend: str) -> dict[str, str]:
    """What stands in the templates for names: those of the backend, and of core."""
    major, minor = (int(part) for part in __version__.split(".")[:2])
    return {
        "backend": backend,
        "distribution": distribution_of(backend),
        "package": f"bfsql_{backend}",
        "prefix": "".join(part.capitalize() for part in backend.split("_")),
        "variable": f"BFSQL_{backend.upper()}_PATH",
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
