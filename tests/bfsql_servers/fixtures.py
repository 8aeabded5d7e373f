"""The servers as fixtures of the test session: each starts when a test first asks for it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

from bfsql_servers.folder import folder
from bfsql_servers.missing import missing
from bfsql_servers.neo4j import Neo4jServer
from bfsql_servers.pgbouncer import PgBouncer
from bfsql_servers.postgres import PostgresServer
from bfsql_servers.unavailable import Unavailable

if TYPE_CHECKING:
    from bfsql_servers.minilm import MiniLM


class Server(Protocol):
    """What starts and stops."""

    def start(self) -> None:
        """Return when it can be used."""

    def stop(self) -> None:
        """Return when it stopped in good order."""

    def kill(self) -> None:
        """Return when its processes are gone."""


S = TypeVar("S", bound=Server)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Postgres 18 with pgvector and pg_trgm."""
    yield from _serving("postgres", PostgresServer.embedded, end=PostgresServer.stop)


@pytest.fixture(scope="session")
def old_postgres() -> Iterator[PostgresServer]:
    """Postgres 15 with pg_trgm and without pgvector."""
    yield from _serving("old_postgres", PostgresServer.debian, end=PostgresServer.stop)


@pytest.fixture(scope="session")
def pgbouncer(postgres: PostgresServer) -> Iterator[PgBouncer]:
    """A pooler in transaction mode in front of `postgres`."""
    yield from _serving("pgbouncer", lambda place: PgBouncer(postgres, place), end=PgBouncer.stop)


@pytest.fixture(scope="session")
def neo4j_server() -> Iterator[Neo4jServer]:
    """Neo4j Community that lets everybody in."""
    yield from _serving("neo4j", Neo4jServer, end=Neo4jServer.kill)


@pytest.fixture(scope="session")
def guarded_neo4j() -> Iterator[Neo4jServer]:
    """Neo4j Community that asks for a password, and speaks TLS where `openssl` is here."""
    yield from _serving("neo4j", Neo4jServer.with_password, end=Neo4jServer.kill)


@pytest.fixture(scope="session")
def minilm() -> "MiniLM":
    """A real embedding model, all-MiniLM-L6-v2."""
    try:
        from bfsql_servers.minilm import MiniLM

        return MiniLM.load()
    except (ImportError, FileNotFoundError) as none:
        missing("minilm", f"the embedding model is not here ({none})")


def _serving(name: str, make: Callable[[Path], S], *, end: Callable[[S], None]) -> Iterator[S]:
    """A server in a folder of its own, from its start to its end.

    Postgres stops in good order, since a killed one leaves shared memory to the system; Neo4j,
    whose good order takes seconds, is killed: its data goes anyway.
    """
    with folder() as place:
        try:
            server = make(place)
            server.start()
        except Unavailable as none:
            missing(name, str(none))
        try:
            yield server
        finally:
            end(server)
