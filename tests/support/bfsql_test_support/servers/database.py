"""A Postgres database for a test, with two roles, and schemas for many graphs in it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Self, TypeVar
from uuid import uuid4

SCHEMA_NUMBERS = count(1)
T = TypeVar("T")


@dataclass(frozen=True)
class Database:
    """A new database, made by `async with` and dropped at its end, even with open connections.

    It belongs to the role `owner`, which is no superuser; the role `reader` may connect and
    SELECT, also from tables that the owner makes later, and nothing else. Both roles belong to this
    database alone. No connection is kept, so it may live longer than an event loop.

    Attributes:
        address: URL of a database for a role, by their names.
        extensions: What the superuser creates in it.
    """

    address: Callable[[str, str], str]
    extensions: tuple[str, ...] = ()
    name: str = ""
    _filled: dict[Hashable, str] = field(default_factory=dict, compare=False, repr=False)
    """The schemas of `schema_with`, by their content."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or f"graphs_{uuid4().hex[:10]}")

    @property
    def owner(self) -> str:
        """The role that creates schemas and tables."""
        return f"{self.name}_owner"

    @property
    def reader(self) -> str:
        """The role that may only read."""
        return f"{self.name}_reader"

    @property
    def superuser_url(self) -> str:
        """The URL of this database for the superuser."""
        return self.address(self.name, "postgres")

    @property
    def owner_url(self) -> str:
        """The URL of this database for its owner."""
        return self.address(self.name, self.owner)

    @property
    def reader_url(self) -> str:
        """The URL of this database for the role that may only read."""
        return self.address(self.name, self.reader)

    async def __aenter__(self) -> Self:
        await self._run_outside(
            f"CREATE ROLE {self.owner} LOGIN",
            f"CREATE ROLE {self.reader} LOGIN",
            f"CREATE DATABASE {self.name} OWNER {self.owner}",
            # Default rights of PUBLIC; CONNECT stays, for roles that a test creates.
            f"REVOKE TEMPORARY ON DATABASE {self.name} FROM PUBLIC",
            f"GRANT CONNECT ON DATABASE {self.name} TO {self.reader}",
        )
        try:
            await self.run(*(f'CREATE EXTENSION "{name}"' for name in self.extensions))
            await self.grant_schema("public")
        except BaseException:
            await self._drop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._drop()

    @asynccontextmanager
    async def schema(self) -> AsyncIterator[str]:
        """A new schema of the owner's, readable by the reader, dropped with all its content.

        This takes a few milliseconds; a new database takes a few hundred.
        """
        name = await self._new_schema()
        try:
            yield name
        finally:
            # Bounded: a transaction that a test left open would lock the tables forever.
            await self.run("SET lock_timeout = '20s'", f"DROP SCHEMA IF EXISTS {name} CASCADE")

    async def schema_with(self, content: Hashable, fill: Callable[[str], Awaitable[object]]) -> str:
        """A schema as in `schema`, filled on the first call and kept as long as the database.

        Args:
            content: Identifies what is in the schema.
            fill: Writes it into the schema of this name.
        """
        if content not in self._filled:
            name = await self._new_schema()
            await fill(name)
            self._filled[content] = name
        return self._filled[content]

    async def _new_schema(self) -> str:
        name = f"graph_{next(SCHEMA_NUMBERS)}"
        await self.run(f"CREATE SCHEMA {name} AUTHORIZATION {self.owner}", *self._grants(name))
        return name

    async def grant_schema(self, schema: str) -> None:
        """Let the reader read a schema: the tables in it, and those the owner makes later."""
        await self.run(*self._grants(schema))

    async def run(self, *statements: str) -> None:
        """Run statements as the superuser, in one transaction."""
        if statements:  # the driver cannot run an empty statement
            await _run(self.superuser_url, ";\n".join(statements))

    def _grants(self, schema: str) -> tuple[str, ...]:
        later = f"ALTER DEFAULT PRIVILEGES FOR ROLE {self.owner}"
        return (
            f'GRANT USAGE ON SCHEMA "{schema}" TO {self.reader}',
            f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {self.reader}',
            f'{later} IN SCHEMA "{schema}" GRANT SELECT ON TABLES TO {self.reader}',
        )

    async def _drop(self) -> None:
        await self._run_outside(
            f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)",
            f"DROP ROLE IF EXISTS {self.owner}, {self.reader}",
        )

    async def _run_outside(self, *statements: str) -> None:
        """Run each statement by itself: databases are made and dropped outside a transaction."""
        await _run(self.address("postgres", "postgres"), *statements)


def lasting(database: Database) -> Database:
    """A database as long as its server: dropping hundreds of tables takes seconds."""
    with ThreadPoolExecutor(1) as thread:  # a test may already run its loop
        return thread.submit(asyncio.run, database.__aenter__()).result()


def kept(manager: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """The value of a manager, for a fixture that outlives the event loops of the tests."""
    # A thread, because a test may already run its loop when it first requests the fixture.
    with ThreadPoolExecutor(1) as thread:
        runner = asyncio.Runner()
        try:
            yield thread.submit(runner.run, manager.__aenter__()).result()
            thread.submit(runner.run, manager.__aexit__(None, None, None)).result()
        finally:
            thread.submit(runner.close).result()


async def _run(url: str, *scripts: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url, timeout=30)
    try:
        for script in scripts:
            await connection.execute(script)
    finally:
        await connection.close()
