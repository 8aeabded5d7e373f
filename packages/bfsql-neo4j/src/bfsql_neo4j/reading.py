"""Statements that read, each in a transaction that the server ends when the time is up."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any, Self

from neo4j import READ_ACCESS, AsyncDriver, AsyncSession, Query, Record
from neo4j.exceptions import DriverError, Neo4jError

from bfsql import call
from bfsql.errors import StoreUnavailable
from bfsql_neo4j.connection import DRIVER_SAYS_NO, connected, explained, place
from bfsql_neo4j.settings import Neo4jSettings

_LEAST = 0.001
"""Seconds; no time at all would tell the server that there is no limit."""
_TIMED_OUT = "TransactionTimedOut"


class Reader:
    """A server that is asked, and never written to.

    Args:
        driver: Connected with these settings.
        settings: The database, and how long a statement may take.
        stack: What has to be closed at the end.
    """

    def __init__(self, driver: AsyncDriver, settings: Neo4jSettings, stack: AsyncExitStack) -> None:
        self._driver = driver
        self._settings = settings
        self._stack = stack
        self._closed = False

    @classmethod
    async def open(cls, settings: Neo4jSettings, **options: Any) -> Self:
        """Connect, without asking anything yet.

        Args:
            settings: Where the server is.
            **options: More of the driver's own.

        Raises:
            StoreError: The address is none.
        """
        # Notes on plans cost the server time; nobody reads them here but the tests.
        options = {"notifications_min_severity": "OFF"} | options
        async with AsyncExitStack() as stack:
            driver = await stack.enter_async_context(connected(settings, **options))
            return cls(driver, settings, stack.pop_all())

    async def close(self) -> None:
        """Give the connections back; a second time does nothing."""
        self._closed = True
        await self._stack.aclose()

    async def agent(self) -> str:
        """What the server calls itself: `Neo4j/5.26.0`.

        Raises:
            StoreError: It does not let us in, or has no such database.
            StoreUnavailable: It does not answer.
        """
        try:
            async with asyncio.timeout(self._seconds()), self._session() as session:
                summary = await (await session.run("RETURN 1")).consume()
        except DRIVER_SAYS_NO as error:
            raise self._said(error) from error
        return str(summary.server.agent)

    async def one(self, text: str, **parameters: Any) -> Any:
        """The only value of the only record."""
        [[value]] = await self.records(text, **parameters)
        return value

    async def rows(self, text: str, **parameters: Any) -> list[list[Any]]:
        """The values of all records."""
        return [record.values() for record in await self.records(text, **parameters)]

    async def records(self, text: str, **parameters: Any) -> list[Record]:
        """All records of a statement.

        Args:
            text: Cypher, from `queries`.
            **parameters: Its values.

        Raises:
            TimeoutError: The deadline of the call under way passed, or `query_timeout`.
            StoreUnavailable: The server went away, twice in a row, or the reader is closed.
            StoreError: The server says no.
        """
        if self._closed:
            raise StoreUnavailable(f"{place(self._settings)} was closed; open it again.")
        seconds = self._seconds()
        try:
            async with asyncio.timeout(seconds):
                try:
                    return await self._sent(text, parameters, seconds)
                except (DriverError, Neo4jError) as error:
                    if not error.is_retryable() or self._closed:
                        raise
                # A connection that died while it was idle: reading may be done twice.
                return await self._sent(text, parameters, seconds)
        except DRIVER_SAYS_NO as error:
            raise self._said(error) from error

    async def _sent(self, text: str, parameters: dict[str, Any], seconds: float) -> list[Record]:
        # No explicit transaction: its BEGIN is a round trip more, and the server refuses
        # writes in this session all the same.
        async with self._session() as session:
            query: Any = text  # the driver's types want literal texts
            result = await session.run(Query(query, timeout=seconds), parameters)
            return [record async for record in result]

    def _session(self) -> AsyncSession:
        return self._driver.session(
            database=self._settings.database, default_access_mode=READ_ACCESS, fetch_size=-1
        )

    def _seconds(self) -> float:
        remaining = call.remaining()
        limit = self._settings.query_timeout
        return max(_LEAST, limit if remaining is None else min(limit, remaining))

    def _said(self, error: Exception) -> Exception:
        if isinstance(error, TimeoutError):
            return error
        if isinstance(error, Neo4jError) and _TIMED_OUT in (error.code or ""):
            return TimeoutError(f"{place(self._settings)} ended a query that took too long.")
        if self._closed:
            return StoreUnavailable(f"{place(self._settings)} was closed; open it again.")
        return explained(error, self._settings)
