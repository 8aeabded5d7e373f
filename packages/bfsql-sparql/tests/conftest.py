"""Fixtures shared by the tests of the backend."""

import pickle
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import pytest

from bfsql_sparql.backend import SparqlBackend, open_dataset
from bfsql_sparql.endpoint import Endpoint
from bfsql_sparql.load.loader import load_graph
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


@pytest.fixture(params=["oxigraph", "fuseki", "virtuoso", "rdf4j"])
def filled(request, look):
    """Fills each kind of store with N-Triples, and examines it."""

    async def filled(ntriples, **settings):
        return await look(**holding(request.getfixturevalue(request.param), ntriples), **settings)

    return filled


@dataclass
class Store:
    """A server to load into.

    Attributes:
        settings: Settings for loading into it, which replaces everything, and for reading it.
        server: The server.
        held: The records of the last load, pickled; nothing else writes here, so the same records
            need no second load.
    """

    settings: SparqlSettings
    server: SparqlServer
    held: bytes | None = None

    async def load(self, records):
        """Replace the content by the graph of these records."""
        wanted = pickle.dumps(list(records))  # not ==: 1 and True are equal
        if wanted == self.held:
            return
        self.held = None
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
def place(request):
    """Makes the store on the server of a name."""
    return lambda name, **settings: on_server(request.getfixturevalue(name), **settings)


@pytest.fixture
async def serve_on():
    """Fills a server with N-Triples, opens the backend over it, and closes it after the test."""
    async with AsyncExitStack() as stack:

        async def serve_on(server, ntriples, **settings):
            own = holding(server, ntriples)
            backend = await SparqlBackend.create(**{**PORTABLE, **own, **settings})
            stack.push_async_callback(backend.close)
            return backend

        yield serve_on


@pytest.fixture
def serve(serve_on, oxigraph):
    """Fills the fastest server."""
    return partial(serve_on, oxigraph)


@pytest.fixture(params=["oxigraph", "fuseki", "virtuoso", "rdf4j"])
def serve_each(request, serve_on):
    """Fills each kind of server."""
    return partial(serve_on, request.getfixturevalue(request.param))


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
