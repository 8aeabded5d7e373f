"""Connections to the database that only read.

A call that is cancelled, or whose deadline passes, cancels its statement on the
server; the connection is released once the server has confirmed that,
without any call waiting for it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any, Self

import asyncpg

from bfsql import call, workers
from bfsql.errors import ConfigurationError, StoreUnavailable
from bfsql.places import Places
from bfsql_postgres.address import UNREADABLE, address, place
from bfsql_postgres.failures import FAULTS, exhausted, no_role, not_answered, not_connected, too_old
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import literal

log = logging.getLogger("bfsql")

OLDEST = 12
"""The oldest server version that understands the statements."""

OWN_WAY = {
    "search_path": "pg_catalog",
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "iso_8601",
    "standard_conforming_strings": "on",
    "jit": "off",
    "random_page_cost": "1.1",
}
"""The server's settings for reading. No user's function or operator replaces the server's own;
values have one spelling, whatever the role's settings; compiling takes longer than any of the
statements; and the statements read a few scattered rows that are mostly in memory (a ring of
1,500 nodes among a million edges: 30 ms instead of 110).
"""

APPLICATION = "bfsql"
"""The server's name for a connection; the id of the current call follows."""

PIECE = workers.SMALL // 4
"""Rows that are used at once: numbering their edges blocks the loop for half a millisecond."""
BATCH = 10 * PIECE
"""Rows that a cursor reads at once. Decoding more of them delays other calls; fewer take longer."""

_RELEASE = 5.0
"""Seconds within which the server has to confirm that a statement is cancelled."""
_IDLE = 300.0
"""Seconds after which a connection that nothing uses is closed."""
_CHECKS_SINCE, _CHECK_INTERVAL = 14, "2s"
"""The first server version that checks during a statement whether its client still exists, and the
interval of the check. Without it the statements of a killed process run until their timeout.
"""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._:-]")


class Pool:
    """Connections to one database, opened in the event loop that uses them; clients take turns.

    The driver's own pool serves requests in their order, and its `release` starts a task: 0.1 ms
    for each statement, and turns of the event loop, which take long beside large calls (decision
    0028).
    """

    def __init__(self, settings: PostgresSettings, url: str | None) -> None:
        self._settings = settings
        self._url = url
        self._where = place(url)
        self._connections: set[asyncpg.Connection] = set()
        # The one that was used last comes last, each with the timer that closes it.
        self._idle: list[tuple[asyncpg.Connection, asyncio.TimerHandle]] = []
        self._places = Places(lambda: (settings.pool_size, settings.pool_size))
        # They hold a connection for longer than statements, and whatever reads one may need another
        # connection before it goes on.
        streams = max(1, settings.pool_size // 2)
        self._streams = Places(lambda: (streams, streams))
        # At most one piece is used in each iteration of the event loop, of however many streams.
        self._piece_turn = asyncio.Lock()
        self._returning: set[asyncio.Task[None]] = set()
        self._closed = False

    @classmethod
    async def open(cls, settings: PostgresSettings) -> Self:
        """Connect once, so that any fault is reported immediately.

        Raises:
            ConfigurationError: Nothing names the database.
            StoreError: The server refuses, does not answer, or is too old.
        """
        opened = cls(settings, address(settings))
        try:
            await opened._check_version()
        except BaseException:
            await opened.close()
            raise
        return opened

    async def fetch(
        self, statement: str, *values: Any, seconds: float | None = None
    ) -> list[asyncpg.Record]:
        """The rows of a statement, within the remaining time of the call or fewer `seconds`.

        Raises:
            TimeoutError: The deadline of the current call or `seconds` passed.
            StoreUnavailable: The server went away, or no connection is free.
            StoreError: The server refuses the statement.
        """
        limit = _limit(seconds)
        async with asyncio.timeout(limit), self._connection() as connection:
            with self._faults_of(connection):
                if not self._settings.is_transactional:
                    await self._name(connection)
                    rows: list[asyncpg.Record] = await connection.fetch(statement, *values)
                    return rows
                await self._begin(limit, connection)
                rows = await connection.fetch(statement, *values)
                await connection.execute("COMMIT")
                return rows

    async def ping(self) -> None:
        """Query the server for a constant, by another connection while slow calls have all."""
        if self._closed or self._places.is_free(call.current_usage().client):
            await self.fetch("SELECT 1")
            return
        async with asyncio.timeout(_limit()):
            connection = await connect(self._url, self._settings, **_options(self._settings))
            try:
                with self._faults_of(connection):
                    await connection.fetchval("SELECT 1")
            finally:
                connection.terminate()

    async def stream(
        self, statement: str, *values: Any, piece: int | None = None
    ) -> AsyncGenerator[list[asyncpg.Record]]:
        """As `fetch`, by a cursor, in pieces; other calls go on between them.

        A piece has at most `piece` rows, `PIECE` by default.
        """
        size = piece or PIECE
        async with aclosing(self._batches(statement, values)) as batches:
            async for rows in batches:
                for first in range(0, len(rows), size):
                    async with self._piece_turn:
                        await asyncio.sleep(0)
                    yield rows[first : first + size]

    async def _batches(
        self, statement: str, values: Sequence[Any]
    ) -> AsyncGenerator[list[asyncpg.Record]]:
        """The rows of a statement in batches; the server reads one ahead."""
        async with self._streams.turn(), self._connection() as connection:
            with self._faults_of(connection):
                async with asyncio.timeout(limit := _limit()):
                    await self._begin(limit, connection)
                    cursor = await connection.cursor(statement, *values)
            ahead = call.start_optional(cursor.fetch(BATCH))
            try:
                while True:
                    with self._faults_of(connection):
                        async with asyncio.timeout(_limit()):
                            rows = await ahead
                    if len(rows) < BATCH:
                        break
                    ahead = call.start_optional(cursor.fetch(BATCH))
                    yield rows
            finally:
                ahead.cancel()
            with self._faults_of(connection):
                async with asyncio.timeout(_limit()):
                    await connection.execute("COMMIT")
        if rows:
            yield rows

    async def close(self) -> None:
        """Stop running statements and release all connections; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._returning:
                # A connection terminated earlier leaves the server at work.
                await asyncio.wait(self._returning, timeout=1.0)
            idle = [connection for connection, _ in self._idle]
            for connection in self._connections.difference(idle):
                connection.terminate()
            if self._returning:
                await asyncio.gather(*self._returning, return_exceptions=True)
            closing = (connection.close(timeout=_RELEASE) for connection in idle)
            await asyncio.gather(*closing, return_exceptions=True)
        finally:
            for connection in self._connections:
                connection.terminate()  # does nothing if it is closed
            for _, expiry in self._idle:
                expiry.cancel()
        await asyncio.sleep(0)  # a terminated connection closes its socket in the next turn

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        client = call.current_usage().client
        async with asyncio.timeout(_limit()):
            await self._enter(client)
            try:
                connection = await self._acquired()
            except BaseException:
                self._places.leave(client)
                raise
        try:
            yield connection
        except BaseException:
            # In a task, since it waits for the server.
            task = asyncio.ensure_future(self._recover(connection, client))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)
            raise
        self._release(connection, client)

    @contextmanager
    def _faults_of(self, connection: asyncpg.Connection) -> Iterator[None]:
        """Translate the driver's exceptions into errors with a sentence."""
        try:
            yield
        except TimeoutError:
            raise
        except FAULTS as error:
            if self._closed:
                raise self._gone() from error
            closed = connection.is_closed()
            raise not_answered(error, self._where, self._settings, closed=closed) from error

    async def _enter(self, client: str) -> None:
        """Wait until a connection is free for a client."""
        if self._closed:
            raise self._gone()
        try:
            async with asyncio.timeout(self._settings.connect_timeout):
                await self._places.enter(client)
        except TimeoutError as error:
            raise exhausted(self._where, self._settings) from error

    async def _acquired(self) -> asyncpg.Connection:
        """An idle connection, or a new one."""
        if self._closed:
            raise self._gone()
        while self._idle:
            connection, expiry = self._idle.pop()
            expiry.cancel()
            if not connection.is_closed():
                return connection
            self._connections.discard(connection)
        connection = await connect(self._url, self._settings, **_options(self._settings))
        self._connections.add(connection)
        return connection

    async def _recover(self, connection: asyncpg.Connection, client: str) -> None:
        """End what a call left on a connection that failed or was cancelled, and release it."""
        try:
            if not connection.is_in_transaction():
                # It is answered once a cancelled statement has ended, which may have been `BEGIN`.
                with suppress(asyncpg.InFailedSQLTransactionError):
                    await connection.execute("SELECT 1", timeout=_RELEASE)
            if connection.is_in_transaction():
                await connection.execute("ROLLBACK", timeout=_RELEASE)
        except (TimeoutError, *FAULTS):
            connection.terminate()
        finally:
            self._release(connection, client)

    def _release(self, connection: asyncpg.Connection, client: str) -> None:
        if connection.is_closed() or self._closed:
            self._connections.discard(connection)
            connection.terminate()
        else:
            expiry = asyncio.get_running_loop().call_later(_IDLE, connection.terminate)
            self._idle.append((connection, expiry))
        self._places.leave(client)

    def _gone(self) -> StoreUnavailable:
        return StoreUnavailable(f"The graph in {self._where} is closed; open it again.")

    async def _name(self, connection: Any) -> None:
        """Name a connection after the current call, if calls are logged here too.

        This takes one round trip per call and connection. A comment in each statement would make
        it a new statement, which the server parses and plans again: that costs four times as much
        for each of them.
        """
        if not log.isEnabledFor(logging.INFO):
            return
        name = _application_name()
        # The server reports every change of this setting; a proxy before it may not.
        if getattr(connection.get_settings(), "application_name", None) != name:
            await connection.execute(f"SET application_name = '{name}'")

    async def _begin(self, limit: float | None, connection: Any) -> None:
        """Begin a transaction, without settings for the next one; an error leaves it open."""
        settings, own = self._settings, {"application_name": _application_name()}
        if settings.transaction_pooling:
            most = settings.statement_timeout
            # Behind a pooler the server itself stops a statement, a second after the deadline.
            seconds = most if limit is None else min(most, limit + 1.0)
            own |= {**OWN_WAY, "statement_timeout": _milliseconds(seconds)}
            own |= _checking(connection)
        if settings.claims:
            own["request.jwt.claims"] = json.dumps(settings.claims, default=str)
        if settings.role:
            own["role"] = settings.role
        setting = "".join(f"; SET LOCAL {name} = {literal(own[name])}" for name in own)
        try:
            await connection.execute(f"BEGIN READ ONLY{setting}")
        except (asyncpg.InvalidParameterValueError, asyncpg.InsufficientPrivilegeError) as error:
            if settings.role is None:
                raise
            account = getattr(connection.get_settings(), "session_authorization", "...")
            raise no_role(error, account, settings.role) from error

    async def _check_version(self) -> None:
        async with self._connection() as connection:
            version = connection.get_server_version()
        if version.major < OLDEST:
            raise too_old(f"{version.major}.{version.minor}", OLDEST, self._where)


def _application_name() -> str:
    """The name of a connection in the server's log and `pg_stat_activity`, with its call."""
    request = _NOT_IN_NAMES.sub("", call.current_request_id())
    # The server stores 63 characters.
    return f"{APPLICATION} {request}"[:63] if request else APPLICATION


def _checking(connection: Any) -> dict[str, str]:
    """Settings with which the server notices, during a statement, that this process has ended."""
    able = connection.get_server_version().major >= _CHECKS_SINCE
    return {"client_connection_check_interval": _CHECK_INTERVAL} if able else {}


async def connect(
    url: str | None, settings: PostgresSettings, **options: Any
) -> asyncpg.Connection:
    """Open a connection whose statements end with this process; `options` are the driver's.

    Raises:
        ConfigurationError: The URL cannot be read.
        StoreError: The server refuses.
        StoreUnavailable: The server does not answer in time.
    """
    try:
        async with asyncio.timeout(settings.connect_timeout):
            connection = await asyncpg.connect(url, **options)
            if not settings.transaction_pooling:
                try:
                    await watch_client(connection)
                except BaseException:
                    connection.terminate()
                    raise
            return connection
    except (ValueError, OverflowError):  # its message may repeat parts of the URL
        raise ConfigurationError(UNREADABLE) from None
    except FAULTS as error:
        raise not_connected(error, place(url), settings) from error


async def watch_client(connection: Any) -> None:
    """Have the server end a statement when this process ends, on a dedicated connection."""
    for name, value in _checking(connection).items():
        # A server on an operating system without this check refuses the setting.
        with suppress(asyncpg.PostgresError):
            await connection.execute(f"SET {name} = '{value}'")


def _limit(seconds: float | None = None) -> float | None:
    """The remaining seconds of the current call, or fewer."""
    return min((s for s in (call.remaining(), seconds) if s is not None), default=None)


def _options(settings: PostgresSettings) -> dict[str, Any]:
    options: dict[str, Any] = {"timeout": settings.connect_timeout}
    server = {"application_name": APPLICATION}
    if settings.transaction_pooling:
        options["statement_cache_size"] = 0
    else:
        server |= {
            "default_transaction_read_only": "on",
            "statement_timeout": _milliseconds(settings.statement_timeout),
            **OWN_WAY,
        }
    return options | {"server_settings": server}


def _milliseconds(seconds: float) -> str:
    return str(max(1, round(seconds * 1000)))
