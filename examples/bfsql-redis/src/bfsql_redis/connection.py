"""Requests to the server: a pool of connections, a time limit, and the errors of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis, SSLConnection
from redis.asyncio import Connection as PlainConnection

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql_redis.settings import RedisSettings

Command = tuple[Any, ...]
"""A command and its arguments. Values are only ever arguments, so that none becomes a command."""


class Connection:
    """Sends commands in batches.

    Args:
        settings: The server, and the time limit of a request.

    Attributes:
        requests: The number of round trips so far.
    """

    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings
        self.requests = 0
        password = settings.password
        self._client = Redis(
            connection_pool=BlockingConnectionPool(
                host=settings.host,
                port=settings.port,
                username=settings.username,
                password=password.get_secret_value() if password else None,
                max_connections=settings.pool_size,
                socket_connect_timeout=settings.connect_timeout,
                connection_class=SSLConnection if settings.tls else PlainConnection,
            )
        )

    async def send(self, commands: Iterable[Command]) -> list[Any]:
        """The replies to some commands, in one round trip.

        The limit is that of the call if it is earlier: `asyncio.timeout` cancels the request, and
        the driver then closes its connection, so that no late reply is taken for another one.

        Raises:
            TimeoutError: The time limit passed.
            StoreUnavailable: The server does not answer; the same call may succeed later.
            StoreError: The server refused the login or a command.
        """
        self.requests += 1
        place = f"Redis at {self._settings.host}:{self._settings.port}"
        try:
            async with asyncio.timeout(call.seconds_left(self._settings.timeout)):
                async with self._client.pipeline(transaction=False) as pipeline:
                    for command in commands:
                        pipeline.execute_command(*command)
                    return await pipeline.execute()
        except exceptions.AuthenticationError as error:
            raise StoreError(
                f"{place} did not accept the login: {error}. Correct REDIS_USERNAME and "
                "REDIS_PASSWORD."
            ) from error
        except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
            raise StoreUnavailable(f"{place} does not answer: {error}. Is it running?") from error
        except exceptions.RedisError as error:
            raise StoreError(f"{place} refused a command: {error}.") from error

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
        await self._client.connection_pool.disconnect()
