"""Writes a graph into a file: all of it, or nothing.

A load fills a new file in a folder of its own beside the target and then puts
it in the target's place in one step. Whoever has the old file open reads on in
it; whoever opens later reads the new one; an interrupted load changes nothing.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bfsql.errors import StoreError
from bfsql.models.records import GraphRecord, LoadReport
from bfsql_sqlite.finishing import finish
from bfsql_sqlite.layout import APPLICATION_ID, LAYOUT, TABLES, read_header
from bfsql_sqlite.settings import SqliteSettings
from bfsql_sqlite.staging import Staging, Stopped

_PRAGMAS = """
PRAGMA {schema}.journal_mode = OFF;
PRAGMA {schema}.synchronous = OFF;
PRAGMA {schema}.locking_mode = EXCLUSIVE;
PRAGMA {schema}.cache_size = -65536;
"""
_CHECK_EVERY = 100_000
"""Steps of SQLite's machine between two looks at whether the load is cancelled."""


async def load_graph(settings: SqliteSettings, records: Iterable[GraphRecord]) -> LoadReport:
    """Make a file from records, in place of the one that may be there.

    The work runs in a thread; cancelling the call stops it, removes what it
    wrote and leaves the old file as it was.

    Args:
        settings: `path` is the file to make. A graph that is there is replaced;
            any other file is refused.
        records: Nodes, edges and evidence in any order. They are read once, in
            the thread; memory does not grow with their number.

    Returns:
        What was found and made.

    Raises:
        StoreError: The file cannot be written, or what is there is no graph.
    """
    stop = threading.Event()
    work = asyncio.ensure_future(
        asyncio.to_thread(_load, settings.path.expanduser(), records, stop.is_set)
    )
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()
        raise


def _load(path: Path, records: Iterable[GraphRecord], stopped: Callable[[], bool]) -> LoadReport:
    report = LoadReport()
    with _explained(path):
        target = Path(os.path.realpath(path))  # a link stays a link
        mode = _check_target(target)
        folder = Path(tempfile.mkdtemp(prefix=".bfsql-load.", dir=target.parent))
    try:
        made = folder / "graph.db"
        with closing(sqlite3.connect(made)) as connection:
            _fill(connection, folder, records, report, stopped)
        with _explained(path):
            _put(made, target, mode)
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} cannot be written: {error}. What was there is unchanged."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report


def _fill(
    connection: sqlite3.Connection,
    folder: Path,
    records: Iterable[GraphRecord],
    report: LoadReport,
    stopped: Callable[[], bool],
) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {LAYOUT}")
    connection.execute("ATTACH ? AS scratch", (str(folder / "scratch.db"),))
    for schema in ("main", "scratch"):
        connection.executescript(_PRAGMAS.format(schema=schema))
    connection.executescript(TABLES)
    connection.set_progress_handler(stopped, _CHECK_EVERY)
    try:
        Staging(connection, report, stopped).take(records)
        finish(connection, report)
        connection.commit()
    except sqlite3.OperationalError:
        if stopped():
            raise Stopped from None
        raise


def _check_target(target: Path) -> int | None:
    """The mode of the graph file that is there, None where there is none.

    Raises:
        StoreError: What is there is not a graph, so it is not replaced.
    """
    try:
        header, status = read_header(target), target.stat()
    except FileNotFoundError:
        return None
    if status.st_size and (header is None or header.application_id != APPLICATION_ID):
        raise StoreError(
            f"{target} is there and holds no BFS-QL graph, so it is not replaced. "
            "Name another file with --path, or remove this one first."
        )
    return status.st_mode & 0o777


def _put(made: Path, target: Path, mode: int | None) -> None:
    """Put the finished file in its place, so that a crash leaves the old one or the new one."""
    if mode is not None:
        made.chmod(mode)
    _sync(made)
    made.replace(target)
    if os.name == "posix":
        _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() or os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Sentences for what the system and SQLite say no to."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(
            f"{path} cannot be written: there is no folder {path.parent}. Make it first, or "
            "name another file with --path."
        ) from error
    except IsADirectoryError as error:
        raise StoreError(
            f"{path} is a folder. Name a file in it: --path {path / 'graph.db'}"
        ) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(
            f"{path} cannot be written: {why}. Give this user the right to write in its folder, "
            "or name another file with --path."
        ) from error
