"""A file of another format, loaded into a graph that exists as long as it is open.

A search, an answer and the schema are then those of the loaded file, and as fast.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Hashable
from contextlib import ExitStack
from pathlib import Path
from typing import Self
from uuid import uuid4

from bfsql.errors import SourceError, StoreError, system_reason
from bfsql.loading import Reading, fill
from bfsql.loading.folders import working_folder
from bfsql.models.load import LoadOptions, LoadReport
from bfsql_sqlite.connection import file_state
from bfsql_sqlite.plugin import plugin
from bfsql_sqlite.settings import SqliteSettings

log = logging.getLogger("bfsql")

_AS_LOADED = LoadOptions(create_nodes=True, default_type="")
"""The defaults of `bfsql load`, except that the graph may be empty."""


class TemporaryGraph:
    """The file of a graph, which is removed when it is closed, or by the next one if it was killed.

    Args:
        settings: Those of the file.
        source: The file that was loaded, and its state before that.
        folder: Removes the folder of the graph's file.

    Attributes:
        settings: Those of the file.
    """

    def __init__(
        self, settings: SqliteSettings, source: tuple[Path, Hashable], folder: ExitStack
    ) -> None:
        self.settings = settings
        self._source, self._state = source
        self._folder = folder

    @classmethod
    async def load(cls, settings: SqliteSettings) -> Self:
        """Load a source as `bfsql load` does by default.

        Args:
            settings: `path` is the source.

        Raises:
            StoreError: It cannot be read, or there is no room for the graph.
        """
        source = settings.path.expanduser()
        state = file_state(source)  # before it is read, so that no change is missed
        if source.exists() and not (source.is_file() or source.is_dir()):
            raise StoreError(
                f"{source} is not a regular file. Save its content as one to serve it."
            )
        with ExitStack() as stack:
            try:
                working = working_folder(Path(tempfile.gettempdir()), ".bfsql-serve.", uuid4().hex)
                folder = stack.enter_context(working)
                made = settings.model_copy(update={"path": folder / f"{source.name}.db"})
                reading = await asyncio.to_thread(Reading, plugin, [source], how=_AS_LOADED)
                _log(source, await fill(plugin, made, reading))
            except SourceError as error:
                raise StoreError(str(error)) from error
            except OSError as error:
                reason = system_reason(error)
                raise StoreError(f"{source} cannot be loaded to serve it: {reason}") from error
            return cls(made, (source, state), stack.pop_all())

    def changed(self) -> Hashable | None:
        """The state of the source, if it is no longer the file that was loaded."""
        state = file_state(self._source)
        return None if state == self._state else state

    def close(self) -> None:
        """Remove the file."""
        self._folder.close()


def _log(source: Path, report: LoadReport) -> None:
    for note in (note for one in report.sources for note in one.notes):
        log.info("%s: %s", source, note)
    if report.refused:
        log.warning(
            "Left out of %s: lines that cannot be used (%d). The first: %s. For more: "
            "bfsql load %s --dry-run",
            *(source, report.refused, report.refusals[0], source),
        )
    if not report.nodes:
        log.warning("%s contains no nodes: every answer will be empty", source)
