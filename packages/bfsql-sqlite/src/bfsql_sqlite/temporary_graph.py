"""Files of other formats, loaded into a graph to be served.

A search, an answer and the schema are then those of the loaded files, and as fast. The graph stays
in the user's folder of caches, until a file changes; without such a folder, as long as it is open.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
import time
from collections.abc import Hashable
from contextlib import ExitStack, suppress
from hashlib import sha256
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Self
from uuid import uuid4

from bfsql.errors import SourceError, StoreError, system_reason
from bfsql.loading import Reading, fill
from bfsql.loading.folders import working_folder
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.sources import SourceOptions
from bfsql.sources.reading_file import is_reading, read_reading
from bfsql_sqlite.connection import check, file_state
from bfsql_sqlite.plugin import plugin
from bfsql_sqlite.settings import SqliteSettings

log = logging.getLogger("bfsql")

_AS_LOADED = LoadOptions(create_nodes=True, default_type="")
"""The defaults of `bfsql load`, except that the graph may be empty."""


class TemporaryGraph:
    """The file of a graph, which is removed when it is closed, or by the next one if it was killed.

    Args:
        settings: Those of the file.
        source: The files that were loaded, and their state before that.
        folder: Removes the folder of the graph's file.

    Attributes:
        settings: Those of the file.
    """

    def __init__(
        self, settings: SqliteSettings, source: tuple[list[Path], Hashable], folder: ExitStack
    ) -> None:
        self.settings = settings
        self._files, self._state = source
        self._folder = folder

    @classmethod
    async def load(cls, settings: SqliteSettings) -> Self:
        """Load files as `bfsql load` does with the same settings.

        Args:
            settings: `path` and `more_files` are the files.

        Raises:
            StoreError: It cannot be read, or there is no room for the graph.
        """
        paths = [settings.path.parent.joinpath(one).expanduser() for one in settings.more_files]
        paths = [settings.path.expanduser(), *paths]
        files = [*chain.from_iterable(map(_files, paths))]
        state = _state(files)  # before they are read, so that no change is missed
        for path in paths:
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise StoreError(
                    f"{path} is not a regular file. Save its content as one to serve it."
                )
        source, options = " ".join(map(str, paths)), settings.source_options()
        with ExitStack() as stack:
            try:
                place = _place((*map(Path.resolve, paths), options), state)
                if place is None or not _is_graph(place):
                    parent = Path(tempfile.gettempdir()) if place is None else place.parent
                    working = working_folder(parent, ".bfsql-serve.", uuid4().hex)
                    folder = stack.enter_context(working)
                    made = settings.model_copy(update={"path": folder / f"{paths[0].name}.db"})
                    log.warning(_LOADS, source, place or "a temporary file", source)
                    how = SourceOptions(**options)
                    reading = await asyncio.to_thread(Reading, plugin, paths, how, how=_AS_LOADED)
                    report = await fill(plugin, made, reading)
                    if options["graph"] and not report.nodes:
                        raise StoreError(
                            f"No statement of {source} is in the graph {' or '.join(how.graph)}. "
                            "Name another one with --graph, or none for all statements."
                        )
                    _log(source, report)
                    if place is None:
                        return cls(made, (files, state), stack.pop_all())
                    made.path.chmod(0o600)
                    made.path.replace(place)
            except SourceError as error:
                raise StoreError(str(error)) from error
            except OSError as error:
                reason = system_reason(error)
                raise StoreError(f"{source} cannot be loaded to serve it: {reason}") from error
        _remove_stale(place)
        made = settings.model_copy(update={"path": place})
        return cls(made, (files, state), ExitStack())

    def changed(self) -> Hashable | None:
        """The state of the source, if it is no longer the file that was loaded."""
        state = _state(self._files)
        return None if state == self._state else state

    def close(self) -> None:
        """Remove the file."""
        self._folder.close()


_LOADS = "%s is loaded before it is served, into %s. How it is read: bfsql load %s --dry-run"


def _files(source: Path) -> list[Path]:
    """A file and its log, or a folder with all that is in it but what SQLite keeps in memory.

    Those of a reading are its sources, too.
    """
    given = [source, *(read_reading(source).sources if is_reading(source) else ())]
    inside = (one for root in given if root.is_dir() for one in sorted(root.rglob("*")))
    files = [*given, *(one.with_name(f"{one.name}-wal") for one in given), *inside]
    return [file for file in files if not file.name.endswith("-shm")]


def _state(files: list[Path]) -> Hashable:
    """The states of files; that of a folder changes with the names in it."""
    return tuple((str(file), file_state(file)) for file in files)


def _place(source: Hashable, state: Hashable) -> Path | None:
    """The file for the graph of a source in the user's folder of caches; None without one.

    Its name begins with what is the same for all states of the source, which is files and options.
    """
    home = {"win32": "~/AppData/Local", "darwin": "~/Library/Caches"}.get(sys.platform, "~/.cache")
    base = Path(os.environ.get("XDG_CACHE_HOME") or home).expanduser()
    folder = base / "bfsql" / "graphs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)  # which fails if it is another user's
    except OSError as error:
        log.info("No graph is kept in %s: %s", folder, system_reason(error))
        return None
    keys = (source, (state, version("bfsql-core"), version("bfsql-sqlite")))
    return folder / ("-".join(sha256(repr(key).encode()).hexdigest()[:32] for key in keys) + ".db")


def _is_graph(place: Path) -> bool:
    """Whether a kept graph is there; it is then of today."""
    with suppress(StoreError, OSError):
        check(place)
        os.utime(place)
        return True
    return False


def _remove_stale(place: Path) -> None:
    """Remove the graphs of other states of a source, and those that nobody served for long."""
    source, oldest = place.name.partition("-")[0], time.time() - 30 * 86_400  # 30 days
    for other in place.parent.glob("*.db"):
        with suppress(OSError):  # on Windows, a server may have it open
            if other != place and (other.name.startswith(source) or other.stat().st_mtime < oldest):
                other.unlink()


def _log(source: str, report: LoadReport) -> None:
    for one in report.sources:
        for note in one.notes:
            log.info("%s: %s", one.name, note)
    if report.refused:
        log.warning(
            "Left out of %s: lines that cannot be used (%d). The first: %s. For more: "
            "bfsql load %s --dry-run",
            *(source, report.refused, report.refusals[0], source),
        )
    if not report.nodes:
        log.warning("%s contains no nodes: every answer will be empty", source)
