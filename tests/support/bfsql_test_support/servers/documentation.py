"""The servers of the session for the pages of the documentation."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.port import HOST
from bfsql_test_support.servers.postgres import PostgresServer

READER = "bfsql_reader"
"""The role that the page on Postgres creates."""


@dataclass(frozen=True)
class Place:
    """A server in the form that the commands of a page need."""

    variables: dict[str, str] = field(default_factory=dict)
    """Variables of the environment."""
    files: dict[str, str] = field(default_factory=dict)
    """Files in the folder of the page, by name."""
    address: tuple[str, str] = ("", "")
    """Host and port as the page writes them, and the actual ones."""
    run: Callable[[str], object] = str
    """Runs statements, separated by semicolons."""


@asynccontextmanager
async def on_postgres(server: PostgresServer) -> AsyncIterator[Place]:
    """The database `graphs` of the role `graphs_owner`; `DATABASE_URL` names a reader.

    That role is made by a file of the page, which runs as the owner. `owner.url` is the owner's.
    """
    async with replace(server.database(), name="graphs") as database:
        server.sql(f"ALTER ROLE {database.owner} CREATEROLE")
        yield Place(
            variables={"DATABASE_URL": database.address(database.name, READER)},
            files={"owner.url": database.owner_url},
            address=("localhost:5432", f"{HOST}:{server.port}"),
            run=lambda text: server.sql(f"SET ROLE {database.owner};\n{text}", database.name),
        )
        dropping = "DROP OWNED BY analyst; DROP ROLE analyst"  # the role of a page
        otherwise = "EXCEPTION WHEN undefined_object THEN NULL"
        server.sql(f"DO $$ BEGIN {dropping}; {otherwise}; END $$", database.name)
    server.sql(f"DROP ROLE IF EXISTS {READER}")


@asynccontextmanager
async def on_neo4j(server: Neo4jServer) -> AsyncIterator[Place]:
    """An empty database, which `NEO4J_URI` names."""
    server.clear()
    try:
        yield Place(
            variables={"NEO4J_URI": server.uri, "NEO4J_PASSWORD": ""},
            address=("localhost:7687", f"{HOST}:{server.port}"),
            run=lambda text: _run(server, *filter(str.strip, text.split(";\n"))),
        )
    finally:
        server.clear()


@asynccontextmanager
async def on_oxigraph(server: OxigraphServer) -> AsyncIterator[Place]:
    """An empty store, which `SPARQL_ENDPOINT_URL` and `SPARQL_UPDATE_URL` name."""
    server.clear()
    try:
        yield Place(
            variables={
                "SPARQL_ENDPOINT_URL": server.query_url,
                "SPARQL_UPDATE_URL": server.update_url,
            },
            address=("localhost:7878", f"{HOST}:{server.port}"),
            run=server.update,
        )
    finally:
        server.clear()


@asynccontextmanager
async def on_gremlin(server: GremlinServer) -> AsyncIterator[Place]:
    """A server, which `GREMLIN_URI` names; the page replaces its graph."""
    yield Place(
        variables={"GREMLIN_URI": server.uri}, address=("localhost:8182", f"{HOST}:{server.port}")
    )


def _run(server: Neo4jServer, *statements: str) -> list[str]:
    """Run statements; return the first values of their rows."""
    from neo4j import GraphDatabase

    with GraphDatabase.driver(server.uri, auth=server.auth) as driver, driver.session() as session:
        return [value for text in statements for value in session.run(text).value()]
