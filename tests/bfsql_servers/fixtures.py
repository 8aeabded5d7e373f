"""The servers as fixtures of the test session: each starts when a test first asks for it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

from bfsql_servers.bad_endpoint import BadEndpoint
from bfsql_servers.certificates import make_certificates
from bfsql_servers.folder import folder
from bfsql_servers.fuseki import FusekiServer
from bfsql_servers.missing import missing
from bfsql_servers.neo4j import Neo4jServer
from bfsql_servers.oxigraph import OxigraphServer
from bfsql_servers.pgbouncer import PgBouncer
from bfsql_servers.postgres import PostgresServer
from bfsql_servers.rdf4j import RDF4JServer
from bfsql_servers.sparql import SparqlServer
from bfsql_servers.unavailable import Unavailable
from bfsql_servers.virtuoso import VirtuosoServer

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
def oxigraph() -> Iterator[OxigraphServer]:
    """Oxigraph in memory."""
    yield from _serving("oxigraph", OxigraphServer, end=OxigraphServer.kill)


@pytest.fixture(scope="session")
def fuseki() -> Iterator[FusekiServer]:
    """Fuseki in memory."""
    yield from _serving("fuseki", FusekiServer, end=FusekiServer.kill)


@pytest.fixture(scope="session")
def fuseki_text() -> Iterator[FusekiServer]:
    """Fuseki with a text index over labels and alternative labels."""
    yield from _serving("fuseki", FusekiServer.with_text, end=FusekiServer.kill)


@pytest.fixture(scope="session")
def guarded_fuseki() -> Iterator[FusekiServer]:
    """Fuseki that asks for a password."""
    yield from _serving("fuseki", FusekiServer.with_password, end=FusekiServer.kill)


@pytest.fixture(scope="session")
def virtuoso() -> Iterator[VirtuosoServer]:
    """Virtuoso that cuts each answer after 10,000 rows."""
    yield from _serving("virtuoso", VirtuosoServer, end=VirtuosoServer.kill)


@pytest.fixture(scope="session")
def small_virtuoso() -> Iterator[VirtuosoServer]:
    """Virtuoso that cuts each answer after 1,000 rows."""
    yield from _serving("virtuoso", VirtuosoServer.small, end=VirtuosoServer.kill)


@pytest.fixture(scope="session")
def rdf4j() -> Iterator[RDF4JServer]:
    """RDF4J in memory."""
    yield from _serving("rdf4j", RDF4JServer, end=RDF4JServer.kill)


@pytest.fixture(scope="session", params=["oxigraph", "fuseki", "virtuoso", "rdf4j"])
def sparql_server(request: pytest.FixtureRequest) -> SparqlServer:
    """Each of the four SPARQL servers; it may hold the data of other tests until `clear`."""
    server: SparqlServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def bad_endpoint() -> Iterator[BadEndpoint]:
    """An HTTP server that answers as the test says."""
    with BadEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def bad_tls_endpoint(tmp_path: Path) -> Iterator[BadEndpoint]:
    """The same over TLS, with a certificate that nobody knows but its own authority."""
    certificates = tmp_path / "certificates"
    if not make_certificates(certificates):
        missing("openssl", "there is no openssl here to make a certificate")
    with BadEndpoint(certificates) as endpoint:
        yield endpoint


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
