"""The servers as fixtures of the test session: each starts when a test first asks for it."""

import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.bad_endpoint import BadEndpoint
from bfsql_test_support.servers.certificates import make_certificates
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.forked_commands import forked_commands
from bfsql_test_support.servers.fuseki import FusekiServer, GuardedFuseki, IndexedFuseki
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.pgbouncer import PgBouncer
from bfsql_test_support.servers.port import HOST
from bfsql_test_support.servers.postgres import PostgresServer
from bfsql_test_support.servers.process import Server
from bfsql_test_support.servers.rdf4j import RDF4JServer
from bfsql_test_support.servers.sparql import SparqlServer
from bfsql_test_support.servers.unavailable import Unavailable
from bfsql_test_support.servers.virtuoso import VirtuosoServer

if TYPE_CHECKING:
    from bfsql_test_support.minilm import MiniLM


S = TypeVar("S", bound=Server)


def _serving(name: str, make: Callable[[Path], S], *, end: Callable[[S], None]) -> Iterator[S]:
    """A server in its own folder, from start to end.

    Postgres is shut down cleanly, since a killed server leaves shared memory behind; Neo4j,
    whose clean shutdown takes seconds, is killed: its data is discarded anyway.
    """
    with folder(in_memory=True) as place:
        try:
            server = make(place)
            server.start()
        except Unavailable as none:
            missing(name, str(none))
        try:
            yield server
        finally:
            end(server)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with `bfsql` and `python`: on Linux, except in thorough runs, they are forked."""
    if THOROUGH or sys.platform != "linux":
        yield Path(sys.executable).parent
        return
    folder = tmp_path_factory.mktemp("programs")
    with forked_commands(folder):
        yield folder


def _one(
    name: str, make: Callable[[Path], Server], what: str, end: Callable[[Any], None] = Server.kill
) -> Any:
    """A fixture that serves `what` for the session."""

    def served() -> Iterator[Server]:
        yield from _serving(name, make, end=end)

    served.__doc__ = what
    return pytest.fixture(scope="session")(served)


postgres = _one(
    "postgres", PostgresServer.embedded, "Postgres 18 with pgvector and pg_trgm.", Server.stop
)
old_postgres = _one(
    "old_postgres", PostgresServer.debian, "Postgres 15 without pgvector.", Server.stop
)
neo4j_server = _one("neo4j", Neo4jServer, "Neo4j Community that lets everybody in.")
guarded_neo4j = _one(
    "neo4j", Neo4jServer.with_password, "One that asks for a password; TLS where `openssl` is here."
)
tinkergraph = _one("gremlin", GremlinServer, "TinkerGraph, by the plain Gremlin Server.")
janusgraph = _one("gremlin", GremlinServer.janusgraph, "JanusGraph in memory, with Lucene.")
arcadedb = _one("gremlin", GremlinServer.arcadedb, "ArcadeDB with an empty database.")
oxigraph = _one("oxigraph", OxigraphServer, "Oxigraph in memory.")
fuseki = _one("fuseki", FusekiServer, "Fuseki in memory.")
virtuoso = _one("virtuoso", VirtuosoServer, "Virtuoso that cuts each answer after 10,000 rows.")
small_virtuoso = _one("virtuoso", VirtuosoServer.small, "One that cuts it after 1,000 rows.")
rdf4j = _one("rdf4j", RDF4JServer, "RDF4J in memory.")


@pytest.fixture(scope="session")
def fuseki_text(fuseki: FusekiServer) -> IndexedFuseki:
    """Fuseki with a text index over labels."""
    return IndexedFuseki(fuseki)


@pytest.fixture(scope="session")
def guarded_fuseki(fuseki: FusekiServer) -> GuardedFuseki:
    """Fuseki that asks for a password."""
    return GuardedFuseki(fuseki)


@pytest.fixture(scope="session")
def pgbouncer(postgres: PostgresServer) -> Iterator[PgBouncer]:
    """A pooler in transaction mode in front of `postgres`."""
    yield from _serving("pgbouncer", lambda place: PgBouncer(postgres, place), end=PgBouncer.stop)


@pytest.fixture(scope="session", params=["oxigraph", "fuseki", "virtuoso", "rdf4j"])
def sparql_server(request: pytest.FixtureRequest) -> SparqlServer:
    """Each of the four SPARQL servers; it may hold the data of other tests until `clear`."""
    server: SparqlServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and sends nothing."""
    with socket.create_server((HOST, 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def bad_endpoint() -> Iterator[BadEndpoint]:
    """An HTTP server with answers scripted by the test."""
    with BadEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def bad_tls_endpoint(tmp_path: Path) -> Iterator[BadEndpoint]:
    """The bad endpoint over TLS, with a certificate that only its own authority vouches for."""
    certificates = tmp_path / "certificates"
    if not make_certificates(certificates):
        missing("openssl", "there is no openssl here to make a certificate")
    with BadEndpoint(certificates) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def minilm() -> "MiniLM":
    """A real embedding model, all-MiniLM-L6-v2."""
    try:
        from bfsql_test_support.minilm import MiniLM

        return MiniLM.load()
    except (ImportError, FileNotFoundError) as none:
        missing("minilm", f"the embedding model is not here ({none})")
