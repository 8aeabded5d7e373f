"""The conformance kit through the whole chain: a backend, the web API, and this backend."""

from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest

from bfsql.memory import MemoryBackend
from bfsql_jsonld import JsonLdBackend
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_test_support.servers.web import WebServer
from bfsql_test_support.suites.conformance import ASKED_TOGETHER, ServedSuite, closing, trying
from bfsql_test_support.suites.shared_load import LoadedTogether
from bfsql_testing import Kind, never
from bfsql_testing.conformance import EVERYTHING, RULES, OptOut

CLEANED = never(
    "The web API cleans metadata as answers are cleaned, so control characters, vectors and what "
    "JSON cannot write are gone before this backend reads it; the bytes of answers are the same."
)


@asynccontextmanager
async def in_memory(records):
    yield MemoryBackend(records)


@asynccontextmanager
async def in_a_file(records):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        await load_graph(SqliteSettings(path=path), records)
        async with closing(SqliteBackend.create(path=path, connections=2)) as backend:
            yield backend


class Chained(LoadedTogether, ServedSuite):
    """Behaviour shared by both chains."""

    store: ClassVar[Any]
    # The other server compares conditions with values as they are in its store.
    optouts: ClassVar[dict[str, OptOut]] = {"every-value": CLEANED, "nodes-conditions": CLEANED}

    @pytest.fixture(autouse=True)
    def _web(self):
        with WebServer() as server:
            self.server = server
            yield

    def backend_with(self, records):
        return self.chained(records)

    def omitting_with(self, records):
        # Without the schema there are no batch routes, so edges come in pages.
        return self.chained(records, schema_path="", page_size=10, max_pages=1)

    @asynccontextmanager
    async def chained(self, records, **settings):
        # The kit forbids caching, so the API requires revalidation of every response.
        store = lambda: type(self).store(records)
        async with (
            self.server.offering(store, max_age=0) as url,
            closing(JsonLdBackend.create(url, **settings)) as backend,
        ):
            yield backend

    def round_trips_of(self, backend):
        return int(backend.session._client.requests)


@trying(
    *("entity-bytes", "drawn-graphs", "every-edge", "whole-hub"),
    *("edges-part", "hostile-ids", "every-value", "edge-evidence", "evidence-counted"),
    *("search-crowd", "search-types-first", "tools-answer", "omissions-said", "store-returns"),
)
class TestOverMemory(Chained):
    """The API over the reference, which has no columns, unlike the embedded store."""

    keeps = EVERYTHING - {Kind.BINARY}
    store = staticmethod(in_memory)


@trying(*RULES.keys() - ASKED_TOGETHER - {"drawn-graphs"})  # drawn ones are over the reference
class TestOverTheEmbeddedStore(Chained):
    keeps = EVERYTHING - {Kind.BINARY}
    store = staticmethod(in_a_file)
