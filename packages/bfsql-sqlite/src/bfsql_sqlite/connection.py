"""The graph file: its tables, its header, and the threads that read it.

Integers represent ids, types and predicates. Edges are in packed arrays (`adjacency`);
SQLite has ids, metadata and search. A file is never modified: a load writes a new one.

A read of a few records, which takes well under a millisecond, runs on the event loop,
because changing threads would cost several times as much. All other work runs in threads.
A call that is cancelled, or whose deadline passes, sets a flag that SQLite checks every few
thousand steps: its statement stops, and the thread is free for the next call.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from itertools import repeat
from pathlib import Path
from queue import LifoQueue
from threading import Event
from typing import NamedTuple, Self, TypeVar

from bfsql import call, workers
from bfsql.errors import BfsqlError, StoreDamaged, StoreError, StoreUnavailable, system_reason
from bfsql.settings import open_regular
from bfsql_sqlite import edge_tables, property_tables
from bfsql_sqlite.plugin import TABLES as ENDINGS_OF_TABLES

APPLICATION_ID = 0x42_46_53_51
"""`PRAGMA application_id` of a graph: "BFSQ"."""
LAYOUT = 5
"""`PRAGMA user_version`: number of the layout of these tables, of `edge_tables.TABLES` and of
`property_tables.TABLES`."""

TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- t, p and n count from 0 in the code point order of the names and ids.
CREATE TABLE type (t INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE predicate (p INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- t is null where the id is only an end of an edge, with no record of its own.
CREATE TABLE node (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, t INTEGER);

-- Metadata, of nodes and edges that have some. e counts edges from 0, as `edge_tables` does.
CREATE TABLE detail (n INTEGER PRIMARY KEY, metadata TEXT NOT NULL);
CREATE TABLE edge (e INTEGER PRIMARY KEY, metadata TEXT NOT NULL);
-- What is evidence for the edge e, whose subject is s: of an edge that touches the node n all its
-- items, of another one the items that n supplied as their document.
CREATE TABLE evidence (
    n INTEGER NOT NULL, e INTEGER NOT NULL, s INTEGER NOT NULL, items INTEGER NOT NULL,
    touching INTEGER NOT NULL, PRIMARY KEY (n, e)
) WITHOUT ROWID;

-- Search: entries are ordered by length of their folded name, then by id, which is the order of
-- equal matches, and cut into blocks of at most 65,536.
-- folded: a line break if it is equal to name in lower case, in ASCII.
CREATE TABLE entry (
    n INTEGER PRIMARY KEY, name TEXT, folded TEXT NOT NULL, others TEXT NOT NULL
);
-- nodes: n of each entry of the block, 32 bits each.
CREATE TABLE block (b INTEGER PRIMARY KEY, nodes BLOB NOT NULL);
-- places: where in the block the entries that have the term are, ascending, 16 bits each; or, in an
-- odd number of bytes, one bit for each entry.
CREATE TABLE posting (
    b INTEGER NOT NULL, term TEXT NOT NULL, places BLOB NOT NULL, PRIMARY KEY (b, term)
) WITHOUT ROWID;
{edge_tables.TABLES} {property_tables.TABLES}
"""
BROKEN = (
    *(sqlite3.Error, ArithmeticError, AttributeError),
    *(LookupError, RecursionError, TypeError, ValueError),
)
"""What reading a file raises whose content is not that of its layout."""

FEW = 100
"""Most records that are read on the event loop: a traversal of one hop then takes 1.5 ms, and
2.6 ms with all reads in threads. Edges are read there from `adjacency.FEW_LISTS` lists."""
PIECE = 250_000
"""Approximate number of nodes or edges that one piece of a stream works on."""


_MAGIC = b"SQLite format 3\0"

Result = TypeVar("Result")


class Header(NamedTuple):
    """The content of the first hundred bytes of an SQLite file."""

    application_id: int
    layout: int
    size: int
    """Bytes that the file should have."""
    writes: int
    """A number that SQLite increments in each transaction that writes to the file."""


def read_header(path: Path) -> Header | None:
    """The header of an SQLite file, or None for any other file.

    Raises:
        OSError: The file is missing, a folder or a special file, or cannot be read.
    """
    with open_regular(path) as file:
        head = file.read(100)
    if len(head) < 100 or not head.startswith(_MAGIC):  # the size of SQLite's header
        return None
    page = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    return Header(
        int.from_bytes(head[68:72], "big"),
        int.from_bytes(head[60:64], "big"),
        pages * (65_536 if page == 1 else page),
        int.from_bytes(head[40:44] + head[24:28], "big"),  # VACUUM increments the first half
    )


def holds_tables(path: Path) -> bool:
    """Whether a path is a folder, a workbook, or a database that is no graph."""
    try:
        if path.is_dir():
            return True
        with open_regular(path) as file:
            head = file.read(100)
    except (OSError, ValueError):  # the caller says what is wrong
        return False
    if head.startswith(_MAGIC) and len(head) == 100:
        return int.from_bytes(head[68:72], "big") != APPLICATION_ID
    return head[8:12] == b"DUCK" or path.name.lower().endswith(ENDINGS_OF_TABLES)


def file_state(path: Path) -> Hashable:
    """A value that differs when a file is replaced, written to, or no longer reachable."""
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    except ValueError:  # a name with NUL, which no file can have
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def check(path: Path) -> Header:
    """Check with one small read that the file can be a graph of this layout; return its header.

    Raises:
        StoreError: It cannot; the message names the reason and the remedy.
    """
    cure = f"Make one with: bfsql load SOURCE --path {path}"
    elsewhere = "Name another file, or make one with: bfsql load SOURCE --path graph.db"
    again = f"Load it again: bfsql load SOURCE --path {path} --replace"
    try:
        header = read_header(path)
        size = path.stat().st_size
    except FileNotFoundError:
        raise StoreError(f"There is no graph at {path}. {cure}") from None
    except IsADirectoryError:
        raise StoreError(f"{path} is a folder, not a graph file. {cure}/graph.db") from None
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be read: {system_reason(error)}. Give this user read access to it, "
            "or name another file with --path."
        ) from error
    if header is None:
        found = "is empty" if size == 0 else "is not an SQLite file"
        raise StoreError(f"{path} {found}, so it does not contain a graph. {elsewhere}")
    if header.application_id != APPLICATION_ID:
        raise StoreError(
            f"{path} is an SQLite file that does not contain a BFS-QL graph. {elsewhere}"
        )
    if header.layout > LAYOUT:
        raise StoreError(
            f"{path} has layout {header.layout}, but this version of bfsql-sqlite reads layout "
            f"{LAYOUT}. Upgrade it with: pip install --upgrade bfsql-sqlite. To keep this "
            f"version, load the graph again: bfsql load SOURCE --path {path} --replace"
        )
    if header.layout < LAYOUT:
        raise StoreError(
            f"{path} has layout {header.layout}, older than {LAYOUT}, the layout that this "
            f"version reads. {again}"
        )
    if size < header.size:
        raise StoreError(
            f"{path} is incomplete: it has {size} of {header.size} bytes, so a copy was probably "
            f"interrupted. Copy it again. {again}"
        )
    return header


class Pool:
    """Read-only connections to one state of one file, which was taken before it was opened.

    The first connection is for reads on the event loop; each other one is for a thread.

    Attributes:
        writes: As in the header of the file.
    """

    def __init__(
        self, path: Path, connections: list[sqlite3.Connection], state: Hashable, writes: int
    ) -> None:
        self._path, self._state, self.writes = path, state, writes
        self._all = connections
        self._own, *others = connections
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        for connection in others:
            self._idle.put(connection)
        self._closed = Event()
        self._threads = ThreadPoolExecutor(len(others), thread_name_prefix="bfsql-sqlite")

    @classmethod
    def open(cls, path: Path, connections: int, cache_mb: int) -> Self:
        """Open all connections at once, so that a load that replaces the file meanwhile is noticed.

        Raises:
            StoreError: The file is not a graph that can be read.
        """
        path = path.expanduser()
        state = file_state(path)
        writes = check(path).writes
        opened: list[sqlite3.Connection] = []
        try:
            while len(opened) <= connections:
                opened.append(read_only(path))
                opened[-1].execute(f"PRAGMA cache_size = -{cache_mb * 1024}")
                if _load_of(opened[-1]) != _load_of(opened[0]):  # replaced meanwhile
                    _close(opened)
                    opened, state, writes = [], file_state(path), check(path).writes
        except (*BROKEN, StoreError) as error:
            _close(opened)
            raise error if isinstance(error, StoreError) else _damaged(path, error) from error
        return cls(path, opened, state, writes)

    def changed(self) -> Hashable | None:
        """The state of the file at the path, if it is not the file that was opened."""
        state = file_state(self._path)
        return None if state == self._state else state

    def at_once(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do work that takes well under a millisecond on the event loop.

        Raises:
            TimeoutError: As `run`.
            StoreUnavailable: The pool is closed.
            StoreError: As `run`.
        """
        if call.remaining() == 0:
            raise TimeoutError
        if self._closed.is_set():
            raise self._gone()
        try:
            _bound(self._own)
            return _in_transaction(self._own, work)
        except BfsqlError:
            raise
        except BROKEN as error:
            raise _damaged(self._path, error) from error

    async def read(self, work: Callable[[sqlite3.Connection], Result], records: int) -> Result:
        """Read a number of records: a few on the event loop, more in a thread.

        Raises:
            StoreError: As `run`, which raises others as well.
        """
        return self.at_once(work) if records <= FEW else await self.run(work, records)

    async def run(self, work: Callable[[sqlite3.Connection], Result], size: int = 0) -> Result:
        """Do work with a connection, in a thread; much work waits for its turn among the calls.

        Args:
            work: A function of a connection.
            size: Number of nodes and edges to work on.

        Raises:
            TimeoutError: The deadline of the current call passed.
            StoreUnavailable: The pool is closed, or was closed while the call waited.
            StoreError: The file can no longer be read.
        """
        if self._closed.is_set():
            raise self._gone()
        stop = Event()
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(call.remaining()):
            try:
                reading = partial(copy_context().run, self._work, work, stop)
                if size <= workers.SMALL:
                    return await loop.run_in_executor(self._threads, reading)
                if workers.is_heavy(size):
                    return await workers.run(reading, size)
                usage = call.current_usage()
                return await loop.run_in_executor(self._threads, workers.light, usage, reading)
            except asyncio.CancelledError:
                stop.set()
                raise

    async def stream(
        self, works: Iterator[Callable[[sqlite3.Connection], Result]], *, small: bool = False
    ) -> AsyncGenerator[Result]:
        """The results of large pieces of work; each begins before the previous result is used.

        With `small`, work that takes less than a millisecond, on the event loop. Raises as `run`.
        """
        for work in works if small else ():
            yield self.at_once(work)
        begun = (call.start_optional(self.run(work, PIECE)) for work in works)
        ahead = next(begun, None)
        try:
            while ahead is not None:
                result = await ahead
                ahead = next(begun, None)
                yield result
        finally:
            if ahead is not None:
                ahead.cancel()

    def _work(self, work: Callable[[sqlite3.Connection], Result], stop: Event) -> Result:
        connection = self._idle.get()
        if self._closed.is_set():
            self._idle.put(connection)
            raise self._gone()
        # 5,000 steps of SQLite's machine take well under a millisecond.
        connection.set_progress_handler(lambda: stop.is_set() or self._closed.is_set(), 5_000)
        try:
            return _in_transaction(connection, work)
        except BfsqlError:
            raise
        except BROKEN as error:
            if self._closed.is_set():
                raise self._gone() from error
            raise _damaged(self._path, error) from error
        finally:
            connection.set_progress_handler(None, 0)
            self._idle.put(connection)

    async def close(self) -> None:
        """Stop running reads and close the file; a second call does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        await asyncio.to_thread(self._end)  # which a cancelled call does not interrupt

    def _end(self) -> None:
        # Calls that wait for a thread still run, and raise: cancelling their futures would look to
        # their callers like a cancellation of the callers themselves.
        self._threads.shutdown()
        # The threads of all graphs may still use a connection for a call that was cancelled, and
        # SQLite crashes if it is closed meanwhile.
        connections = [self._idle.get() for _ in self._all[1:]]
        _close(self._all)
        for connection in connections:
            self._idle.put(connection)  # for work that begins later, and raises

    def _gone(self) -> StoreUnavailable:
        return StoreUnavailable(f"The graph {self._path} is closed; open it again.")


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot change the file, and runs nothing that the file contains.

    Raises:
        StoreError: The file has other tables than those of its layout, or views or triggers.
        sqlite3.Error: It cannot be read.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    # A connection is used by one thread at a time, but not always by the one that made it.
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
    try:
        _bound(connection)
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        _check_tables(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _bound(connection: sqlite3.Connection) -> None:
    """Interrupt the next reads after about 0.1 s of steps: damaged tables can be endless."""
    connection.set_progress_handler(repeat(0, 1_000).__next__, 5_000)  # it raises at its end


def _check_tables(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse what SQLite would run or call when a statement uses it, such as a view."""
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        of_key = kind == "index" and sql is None
        if not of_key and _plain(sql) not in _PLAIN:
            raise StoreError(
                f"{path} was not made by bfsql, or was changed by another program: its {kind} "
                f"{name!r} is not that of a graph. Do not open it if you do not know who made it. "
                f"Load it again: bfsql load SOURCE --path {path} --replace"
            )


def _plain(sql: str) -> str:
    """A statement without comments and with single spaces."""
    return " ".join(re.sub("--.*", "", sql).split())


_PLAIN = frozenset(map(str.strip, _plain(TABLES).split(";")))


def _in_transaction(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Result]
) -> Result:
    """Do work in one read transaction.

    Without one, each statement locks the file, compares its change counter and unlocks it, which
    takes four times as long as reading a record. A transaction does so once. It ends with the work,
    since the size of the file is checked at its start: pages that are cut off later would be read
    as zeros.
    """
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        if connection.in_transaction:  # SQLite itself ends it after some errors
            connection.execute("COMMIT")


def _load_of(connection: sqlite3.Connection) -> str:
    """The mark of the load that made the file, which is written last."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'load'").fetchone()
    if row is None:
        raise sqlite3.DatabaseError("its load did not finish")
    return str(row[0])


def _close(connections: list[sqlite3.Connection]) -> None:
    for connection in connections:
        connection.close()


def _damaged(path: Path, error: Exception) -> StoreDamaged:
    return StoreDamaged(
        f"{path} is damaged and cannot be read as a graph: {reason(error)}. Load it again: "
        f"bfsql load SOURCE --path {path} --replace"
    )


def reason(error: Exception) -> str:
    """Why a file cannot be read, from one of the `BROKEN` errors."""
    if isinstance(error, sqlite3.Error):
        return "a read does not end" if str(error) == "interrupted" else str(error)
    return f"a part of it is not what its layout says ({type(error).__name__})"
