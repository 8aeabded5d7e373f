"""Threads that read the file, each with a connection of its own.

SQLite work never runs on the event loop. A call that is cancelled, or whose
deadline passes, raises a flag that SQLite looks at every few thousand steps,
so its statement stops and the thread is free for the next call.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import LifoQueue
from threading import Event
from typing import Self, TypeVar

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql_sqlite.layout import check

_CHECK_EVERY = 5_000
"""Steps of SQLite's machine between two looks at the flag, well under a millisecond."""

Result = TypeVar("Result")


class Pool:
    """Read-only connections to one state of one file.

    Args:
        path: The file.
        connections: The connections, all to the same file.
    """

    def __init__(self, path: Path, connections: list[sqlite3.Connection]) -> None:
        self._path = path
        self._all = connections
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        for connection in connections:
            self._idle.put(connection)
        self._closed = Event()
        self._threads = ThreadPoolExecutor(len(connections), thread_name_prefix="bfsql-sqlite")

    @classmethod
    def open(cls, path: Path, connections: int, cache_mb: int) -> Self:
        """Open them all at once, so that a load that replaces the file meets none half-way.

        Raises:
            StoreError: The file is not a graph that can be read.
        """
        path = path.expanduser()
        check(path)
        opened: list[sqlite3.Connection] = []
        try:
            while len(opened) < connections:
                opened.append(_connect(path, cache_mb))
                if _load_of(opened[-1]) != _load_of(opened[0]):  # replaced meanwhile
                    _close(opened)
                    opened = []
        except (sqlite3.Error, StoreError) as error:
            _close(opened)
            raise error if isinstance(error, StoreError) else _damaged(path, error) from error
        return cls(path, opened)

    async def run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do work with a connection, in a thread.

        Raises:
            TimeoutError: The deadline of the call under way passed.
            StoreUnavailable: The pool is closed, or was while the call waited.
            StoreError: The file cannot be read any more.
        """
        if self._closed.is_set():
            raise self._gone()
        stop = Event()
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(call.remaining()):
            try:
                return await loop.run_in_executor(self._threads, self._work, work, stop)
            except asyncio.CancelledError:
                stop.set()
                raise

    def _work(self, work: Callable[[sqlite3.Connection], Result], stop: Event) -> Result:
        if self._closed.is_set():
            raise self._gone()
        connection = self._idle.get()
        connection.set_progress_handler(
            lambda: stop.is_set() or self._closed.is_set(), _CHECK_EVERY
        )
        try:
            return work(connection)
        except sqlite3.Error as error:
            if self._closed.is_set():
                raise self._gone() from error
            raise _damaged(self._path, error) from error
        finally:
            connection.set_progress_handler(None, 0)
            self._idle.put(connection)

    async def close(self) -> None:
        """Stop what is under way and give the file back; a second time does nothing."""
        self._closed.set()
        # Calls that wait for a thread are let through to hear of it: cancelling their futures
        # would look to each of their callers as if he had been cancelled himself.
        await asyncio.to_thread(self._threads.shutdown)
        _close(self._all)

    def _gone(self) -> StoreUnavailable:
        return StoreUnavailable(f"The graph {self._path} was closed; open it again.")


def _connect(path: Path, cache_mb: int) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    # A connection is in one thread at a time, but not always in the one that made it.
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = -{cache_mb * 1024}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _load_of(connection: sqlite3.Connection) -> str:
    """The mark of the load that made the file; it is written when all else is there."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'load'").fetchone()
    if row is None:
        raise sqlite3.DatabaseError("the end of its load is missing")
    return str(row[0])


def _close(connections: list[sqlite3.Connection]) -> None:
    for connection in connections:
        connection.close()


def _damaged(path: Path, error: sqlite3.Error) -> StoreError:
    return StoreError(
        f"{path} is damaged and cannot be read as a graph: {error}. Load it again: "
        f"bfsql load SOURCE --path {path}"
    )
