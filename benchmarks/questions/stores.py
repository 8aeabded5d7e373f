"""A world in each of the stores, with the sets of tools that can be asked there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from neo4j import AsyncGraphDatabase
from pydantic import SecretStr

from bfsql import open_graph
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.loader import load_graph as load_neo4j
from bfsql_postgres import PostgresSettings
from bfsql_postgres.loader import load_graph as load_postgres
from bfsql_servers.neo4j import Neo4jServer
from bfsql_servers.postgres import PostgresServer
from bfsql_servers.sparql import SparqlServer
from bfsql_sparql import SparqlSettings
from bfsql_sparql.loader import load_graph as load_sparql
from bfsql_sqlite import SqliteSettings
from bfsql_sqlite import load_graph as load_sqlite
from questions.toolsets import CypherTools, SixTools, SparqlTools, Toolset
from questions.worlds import World

Language = Literal["six_tools", "cypher", "sparql"]
"""The name of the plans that a set of tools is for."""
DESCRIPTION = "Made-up research: who studies, tests, writes and inhibits what."


class Side(NamedTuple):
    """A set of tools over a world in a store."""

    store: str
    language: Language
    tools: Toolset


@asynccontextmanager
async def in_sqlite(world: World, folder: Path) -> AsyncIterator[list[Side]]:
    """The world in a file of a folder."""
    path = folder / f"{world.name}.db"
    await load_sqlite(SqliteSettings(path=path), world.records())
    async with open_graph("sqlite", graph_description=DESCRIPTION, path=path) as graph:
        yield [Side("sqlite", "six_tools", SixTools(graph))]


@asynccontextmanager
async def in_postgres(world: World, server: PostgresServer) -> AsyncIterator[list[Side]]:
    """The world in a database of its own."""
    async with server.database() as database:
        dsn = SecretStr(database.owner_url)
        await load_postgres(PostgresSettings(dsn=dsn), world.records())
        async with open_graph(
            "postgres", graph_description=DESCRIPTION, dsn=database.reader_url
        ) as graph:
            yield [Side("postgres", "six_tools", SixTools(graph))]


@asynccontextmanager
async def in_neo4j(world: World, server: Neo4jServer) -> AsyncIterator[list[Side]]:
    """The world in place of what the server holds, for our tools and for Cypher."""
    await load_neo4j(Neo4jSettings(uri=server.uri), world.records())
    async with (
        open_graph("neo4j", graph_description=DESCRIPTION, uri=server.uri) as graph,
        AsyncGraphDatabase.driver(server.uri, notifications_min_severity="OFF") as driver,
    ):
        yield [
            Side("neo4j", "six_tools", SixTools(graph)),
            Side("neo4j", "cypher", CypherTools(driver)),
        ]


@asynccontextmanager
async def in_sparql(world: World, server: SparqlServer) -> AsyncIterator[list[Side]]:
    """The world in place of what the server holds, for our tools and for SPARQL."""
    server.clear()
    settings = SparqlSettings(endpoint=server.query_url, update_endpoint=server.update_url)
    await load_sparql(settings, world.records())
    async with open_graph(
        "sparql", graph_description=DESCRIPTION, endpoint=server.query_url
    ) as graph:
        yield [
            Side(server.name, "six_tools", SixTools(graph)),
            Side(server.name, "sparql", SparqlTools(server)),
        ]
