"""A world in each of the stores, with the sets of tools that can query it there.

Our tools are included twice: with answers in JSON and with answers in lines.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from neo4j import AsyncGraphDatabase
from pydantic import SecretStr

from bfsql import Limits, open_graph
from bfsql.call import AnswerFormat
from bfsql.models import GraphRecord
from bfsql.tools.describe_schema import COUNTING
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.load.loader import load_graph as load_neo4j
from bfsql_postgres import PostgresSettings
from bfsql_postgres.load.loader import load_graph as load_postgres
from bfsql_sparql import SparqlSettings
from bfsql_sparql.load.loader import load_graph as load_sparql
from bfsql_sqlite import SqliteSettings
from bfsql_sqlite import load_graph as load_sqlite
from bfsql_test_support.questions.toolsets import (
    PREFIXES,
    CypherTools,
    SixTools,
    SparqlTools,
    Toolset,
)
from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.servers.postgres import PostgresServer
from bfsql_test_support.servers.sparql import SparqlServer

Language = Literal["six_tools", "cypher", "sparql", "none"]
"""The plans for a set of tools: the name of the method of a kind."""


class Loadable(Protocol):
    """Something that can be loaded into a store, such as a world."""

    @property
    def name(self) -> str:
        """The name of its file."""

    @property
    def description(self) -> str:
        """What it is about, in a sentence."""

    def records(self) -> Iterable[GraphRecord]:
        """Its nodes and edges."""


@runtime_checkable
class RdfGraph(Loadable, Protocol):
    """A graph that is RDF itself, which SPARQL servers are given as it is."""

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Prefix to namespace."""

    def ntriples(self) -> bytes:
        """Its statements."""


class Side(NamedTuple):
    """A set of tools over a world in a store."""

    store: str
    language: Language
    tools: Toolset
    answer_format: AnswerFormat = "json"

    @property
    def name(self) -> str:
        """Its name in reports."""
        name = self.language.replace("_", " ")
        return name if self.answer_format == "json" else f"{name}, {self.answer_format}"


@asynccontextmanager
async def _ours(
    world: Loadable, store: str, backend: str, **settings: Any
) -> AsyncIterator[list[Side]]:
    """Our tools over a store, with answers in JSON and in lines."""
    lines, told = Limits(answer_format="lines"), world.description
    async with (
        open_graph(backend, graph_description=told, **settings) as graph,
        open_graph(backend, graph_description=told, limits=lines, **settings) as other,
    ):
        for one in (graph, other):
            while COUNTING in (await one.describe_schema()).notes:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        yield [
            Side(store, "six_tools", SixTools(graph)),
            Side(store, "six_tools", SixTools(other), "lines"),
        ]


@asynccontextmanager
async def in_sqlite(world: Loadable, folder: Path) -> AsyncIterator[list[Side]]:
    """The world in a file of a folder."""
    path = folder / f"{world.name}.db"
    await load_sqlite(SqliteSettings(path=path), world.records())
    async with _ours(world, "sqlite", "sqlite", path=path) as sides:
        yield sides


@asynccontextmanager
async def in_postgres(world: Loadable, server: PostgresServer) -> AsyncIterator[list[Side]]:
    """The world in a new database."""
    async with server.database() as database:
        dsn = SecretStr(database.owner_url)
        await load_postgres(PostgresSettings(dsn=dsn), world.records())
        async with _ours(world, "postgres", "postgres", dsn=database.reader_url) as sides:
            yield sides


@asynccontextmanager
async def in_neo4j(world: Loadable, server: Neo4jServer) -> AsyncIterator[list[Side]]:
    """The world, replacing the data of the server, for our tools and for Cypher."""
    await load_neo4j(Neo4jSettings(uri=server.uri), world.records())
    async with (
        _ours(world, "neo4j", "neo4j", uri=server.uri) as sides,
        AsyncGraphDatabase.driver(server.uri, notifications_min_severity="OFF") as driver,
    ):
        yield [*sides, Side("neo4j", "cypher", CypherTools(driver))]


@asynccontextmanager
async def in_sparql(world: Loadable, server: SparqlServer) -> AsyncIterator[list[Side]]:
    """The world, replacing the data of the server, for our tools and for SPARQL."""
    server.clear()
    prefixes, settings = PREFIXES, {}
    if isinstance(world, RdfGraph):
        server.load(world.ntriples())
        settings = {"prefix": {**world.prefixes}}
        prefixes = {**PREFIXES, **world.prefixes}
    else:
        loading = SparqlSettings(endpoint=server.query_url, update_endpoint=server.update_url)
        await load_sparql(loading, world.records())
    ours = _ours(world, server.name, "sparql", endpoint=server.query_url, **settings)
    async with ours as sides:
        yield [*sides, Side(server.name, "sparql", SparqlTools(server, prefixes))]
