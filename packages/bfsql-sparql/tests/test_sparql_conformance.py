"""The conformance kit on real servers, and on existing vocabularies."""

import re
from contextlib import asynccontextmanager
from functools import cache
from typing import ClassVar
from zipfile import ZipFile

import pytest
from pyoxigraph import RdfFormat, parse, serialize

from bfsql_sparql import SparqlBackend
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.fuseki import jar as program
from bfsql_test_support.servers.process import stopped
from bfsql_test_support.servers.unavailable import Unavailable
from bfsql_test_support.suites.conformance import (
    OF_ENGINES,
    WatchedSuite,
    closing,
    texts_of,
    trying,
)
from bfsql_test_support.suites.numbers import AnyNumber
from bfsql_test_support.suites.shared_load import LoadedTogether
from bfsql_testing import Kind, never
from bfsql_testing.conformance import EVERYTHING

# Nodes are the subjects and objects of statements, so no edge dangles; and bytes are returned as
# the text that represents them in JSON.
KEPT = EVERYTHING - {Kind.BINARY, Kind.DANGLING_EDGES}


def watched(backend):
    """The texts of the queries that the backend sends from now on."""
    return texts_of(backend._store.dataset, "reply")


IRI = r"<[^\x00-\x20<>\"{}|^`\\]*>"
TEXT = r'"(?:[^"\\\n\r]|\\["\\nrtbf])*"'


@cache  # each text is compared with many others
def without_values(text):
    """A query with one mark for each run of IRIs, rows or literals, as the grammar reads them.

    If an IRI or a literal ended too soon, its rest would remain in the text.
    """
    marked = re.sub(f"{TEXT}|{IRI}", lambda found: found[0][0], text)
    marked = re.sub(r"\([<\" \d]+\)", "()", marked)
    return re.sub(r"([<\"]|\(\))(?:[ ,]+\1)+", r"\1", marked)


class Watching(WatchedSuite):
    """The kit, with queries compared without their values."""

    def queries_of(self, backend):
        return [without_values(text) for text in self.texts]


class OnAServer(LoadedTogether, Watching):
    """The kit on a server that the loader fills, and that can be stopped."""

    keeps = KEPT
    store: ClassVar[str]
    # Each needs a load; test_sparql_agreement.py draws more.
    examples = 50 if THOROUGH else 3

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _on_the_store(cls, place):
        cls.there = place(cls.store)
        cls.there.server.clear()  # a load keeps named graphs filled by other tests

    @asynccontextmanager
    async def backend_with(self, records):
        self.records = records
        async with self.there.filled(records) as backend:
            self.texts = watched(backend)
            yield backend

    @asynccontextmanager
    async def read_only_with(self, records):
        """With only the query URL, and no login."""
        nothing = {"update_endpoint": None, "username": None, "password": None}
        async with self.there.filled(records, **nothing) as backend:
            yield backend

    @asynccontextmanager
    async def omitting_with(self, records):
        async with self.there.filled(records, max_edges=60, page_size=50) as backend:
            yield backend

    @asynccontextmanager
    async def store_gone(self, backend):
        try:
            async with stopped(self.there.server):
                yield
        finally:
            self.there.held = None  # most servers keep their data in memory
            await self.there.load(self.records)


OPEN_TO_ALL = {
    "may-write-not": never("Without a login it takes updates from everyone, and says so.")
}


SEARCHED = frozenset(
    {
        *("found-by-name", "search-any-text", "search-bounds", "search-crowd", "search-misspelt"),
        *("search-id-first", "search-name-next", "search-types", "search-types-first"),
    }
)
"""Rules that test_sparql_search.py checks on every server; Oxigraph has them in the kit, too."""


class TestOxigraph(OnAServer, AnyNumber):
    store = "oxigraph"
    examples = 100 if THOROUGH else 10  # the fastest server
    optouts = OPEN_TO_ALL


FURTHER = frozenset(
    {
        # test_sparql_node_list.py compares more conditions; streams are of this process.
        *OF_ENGINES - SEARCHED - {"nodes-conditions", "stream-types"},
        *("every-value", "hostile-ids", "exact-ids", "own-identity", "unknown-ids"),
        *("unknown-in-batches", "omissions-said", "read-rights"),
    }
)
"""Rules in which engines may differ: ids, values, orders, limits, missing features.

The texts of queries are those of Oxigraph, except in Virtuoso, where they name a graph.
"""
by_a_further_engine = trying(*FURTHER)


@by_a_further_engine
class TestFuseki(OnAServer):
    store = "fuseki"
    optouts = OPEN_TO_ALL


@trying(*FURTHER, "query-text")
class TestVirtuoso(OnAServer):
    store = "virtuoso"
    keeps = KEPT - {Kind.LONG_IDS}


@by_a_further_engine
class TestRDF4J(OnAServer):
    store = "rdf4j"


VOCABULARIES = ("std/shacl.ttl", "schema/geosparql_vocab_all_v1_0_1_updated.rdf")
"""Data not made for tests: SHACL and GeoSPARQL, from Fuseki's jar file."""


@pytest.fixture(scope="class")
def vocabularies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabularies")
    try:
        archive = program()
    except Unavailable as none:
        missing("fuseki", str(none))
    with ZipFile(archive) as jar:
        files = [jar.extract(name, folder) for name in VOCABULARIES]
    return b"".join(serialize(parse(path=one), format=RdfFormat.N_TRIPLES) for one in files)


class TestVocabularies(Watching):
    """The rules for a read-only store."""

    words = ("shape", "constraint", "geometry", "feature")

    @pytest.fixture(autouse=True)
    def _of_one_sample(self, trial):
        """Let later rules examine the nodes that an earlier one has searched for."""
        yield
        type(self).sample = trial.sample

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _filled(cls, vocabularies, oxigraph):
        oxigraph.clear()
        oxigraph.load(vocabularies)
        cls.url = oxigraph.query_url

    @asynccontextmanager
    async def backend(self):
        async with closing(SparqlBackend.create(self.url)) as backend:
            self.texts = watched(backend)
            yield backend
