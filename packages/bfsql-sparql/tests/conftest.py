"""Fixtures shared by the tests of the backend."""

import asyncio
import pickle
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bfsql.loading import staged
from bfsql_sparql.backend import SparqlBackend, open_dataset
from bfsql_sparql.endpoint import Endpoint
from bfsql_sparql.load.loader import load_graph
from bfsql_sparql.load.writer import StatementWriter
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.schema import Schema
from bfsql_sparql.search import EntitySearch
from bfsql_sparql.settings import SparqlSettings, with_preset
from bfsql_sparql.store import Store as OpenStore
from bfsql_test_support.servers.sparql import SparqlServer

PORTABLE = {"search": "contains"}
"""What tests say that are not about search: else every opening tries six full-text searches.

test_sparql_search.py finds out on every server which one there is.
"""


@pytest.fixture
async def opened():
    """Opens endpoints by URL and settings, and closes them after the test."""
    async with AsyncExitStack() as stack:

        async def opened(url, **settings):
            endpoint = await Endpoint.open(SparqlSettings(endpoint=url, **settings))
            stack.push_async_callback(endpoint.close)
            return endpoint

        yield opened


def holding(server, ntriples):
    """Fill a server with N-Triples alone; returns the settings that read them."""
    server.clear()
    server.load(ntriples)
    return {"endpoint": server.query_url, "graph": [server.graph] if server.graph else []}


@dataclass(frozen=True)
class Looked:
    """A store that was opened and examined, without the backend around it."""

    store: OpenStore
    schema: Schema

    async def search(self, query, types=None):
        """The results of a search."""
        return await EntitySearch(self.store, query, types).best()

    async def ids(self, query, types=None):
        """The ids of the results of a search."""
        return [stub.id for stub in await self.search(query, types)]


@pytest.fixture
async def look():
    """Opens and examines the store that settings name, and closes it after the test."""
    async with AsyncExitStack() as stack:

        async def look(**given):
            settings = with_preset(SparqlSettings(**given))
            dataset = await open_dataset(settings)
            stack.push_async_callback(dataset.close)
            mapping = RdfMapping.of(settings)
            store = await OpenStore.open(dataset, mapping, settings)
            return Looked(store, Schema(store))

        yield look


@pytest.fixture(params=["files", "oxigraph", "fuseki", "virtuoso", "rdf4j"])
def filled(request, look, tmp_path):
    """Fills each kind of store with N-Triples, and examines it."""

    async def filled(ntriples, **settings):
        if request.param == "files":
            file = tmp_path / "data.nt"
            file.write_text(ntriples, encoding="utf-8")
            return await look(data=[str(file)], **settings)
        return await look(**holding(request.getfixturevalue(request.param), ntriples), **settings)

    return filled


@dataclass
class Store:
    """A place to load into: a server, or a file that the loader's writer fills.

    Attributes:
        settings: Settings for loading into it, which replaces everything, and for reading it.
        server: None in process.
        held: The records of the last load, pickled; nothing else writes here, so the same records
            need no second load.
    """

    settings: SparqlSettings
    server: SparqlServer | None = None
    held: bytes | None = None

    async def load(self, records):
        """Replace the content by the graph of these records."""
        wanted = pickle.dumps(list(records))  # not ==: 1 and True are equal
        if wanted == self.held:
            return
        self.held = None
        if self.server is None:
            await self._write(records)
        else:
            await load_graph(self.settings, records)
        self.held = wanted

    @asynccontextmanager
    async def filled(self, records, **settings):
        """A backend over the graph of these records alone."""
        await self.load(records)
        backend = await SparqlBackend.open(self.settings.model_copy(update=settings))
        try:
            yield backend
        finally:
            await backend.close()

    async def _write(self, records):
        writing = StatementWriter(RdfMapping.of(self.settings), self.settings)
        async with staged(records, check=writing.check) as staging:
            staging.merge()
            nodes, edges = map(writing.node, staging.nodes()), map(writing.edge, staging.edges())
            lines = [line for group in (*nodes, *edges) for line in group]
        file = Path(self.settings.data[0])
        await asyncio.to_thread(file.write_text, "".join(lines), encoding="utf-8")


def on_server(server, **settings):
    """A store on a server."""
    auth, settings = server.auth, PORTABLE | settings
    if auth is not None:
        settings |= {"username": auth.user, "password": auth.password}
        settings |= {"authentication": auth.scheme}
    if server.graph is not None:
        settings |= {"graph": [server.graph]}
    url = server.update_url
    there = {"endpoint": server.query_url, "update_endpoint": url}
    return Store(SparqlSettings(**there, **settings), server)


@pytest.fixture(scope="session")
def place(tmp_path_factory, request):
    """Makes the store of a name: `files`, or the name of a server."""

    def place(name, **settings):
        if name != "files":
            return on_server(request.getfixturevalue(name), **settings)
        file = tmp_path_factory.mktemp("files") / "graph.nt"
        return Store(SparqlSettings(data=[str(file)], **settings))

    return place


@pytest.fixture
async def serve(tmp_path):
    """Opens the backend over N-Triples in process, and closes it after the test."""
    async with AsyncExitStack() as stack:

        async def serve(ntriples, **settings):
            file = tmp_path / "graph.nt"
            file.write_text(ntriples, encoding="utf-8")
            backend = await SparqlBackend.create(data=[str(file)], **settings)
            stack.push_async_callback(backend.close)
            return backend

        yield serve


@pytest.fixture(params=["files", "oxigraph", "fuseki", "virtuoso", "rdf4j"])
async def serve_each(request, serve):
    """Fills each kind of store with N-Triples, and opens the backend over it."""
    async with AsyncExitStack() as stack:

        async def serve_each(ntriples, **settings):
            if request.param == "files":
                return await serve(ntriples, **settings)
            own = holding(request.getfixturevalue(request.param), ntriples)
            backend = await SparqlBackend.create(**{**PORTABLE, **own, **settings})
            stack.push_async_callback(backend.close)
            return backend

        yield serve_each


@pytest.fixture
def texts_of():
    """Gives the list to which the texts of a backend's further queries are appended."""

    def texts_of(backend):
        texts: list[str] = []
        dataset = backend._store.dataset
        ask = dataset.reply

        async def reply(query, seconds=None):
            texts.append(query)
            return await ask(query, seconds)

        dataset.reply = reply
        return texts

    return texts_of
