"""The conformance kit on TinkerGraph, JanusGraph and ArcadeDB; most of it on the first."""

import pickle
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ClassVar

import pytest

from bfsql.models import GraphRecord
from bfsql_gremlin import GremlinBackend, GremlinSettings
from bfsql_gremlin.load.loader import load_graph
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.suites.conformance import ASKED_TOGETHER, ServedSuite, WatchedSuite, trying
from bfsql_test_support.suites.shared_load import LoadedTogether
from bfsql_testing import Kind, never
from bfsql_testing.conformance import EVERYTHING, RULES, OptOut

KEPT = EVERYTHING - {
    Kind.BINARY,
    Kind.DANGLING_EDGES,
    Kind.LONG_IDS,
    Kind.NUL_CHARACTERS,
}


class GremlinSuite(LoadedTogether, WatchedSuite):
    """The kit on a server of any engine."""

    keeps = KEPT
    examples = 30 if THOROUGH else 5
    held: ClassVar[bytes | None] = None
    """The records of the last load; nothing else writes here, so the same need no second load."""

    settings: GremlinSettings
    watched: Any

    def backend_with(
        self, records: Sequence[GraphRecord]
    ) -> AbstractAsyncContextManager[GremlinBackend]:
        return self._opened(records, self.settings)

    def read_only_with(
        self, records: Sequence[GraphRecord]
    ) -> AbstractAsyncContextManager[GremlinBackend]:
        return self._opened(records, self.settings.model_copy(update={"traversal_source": "r"}))

    @asynccontextmanager
    async def _opened(
        self, records: Sequence[GraphRecord], settings: GremlinSettings
    ) -> AsyncIterator[GremlinBackend]:
        wanted = pickle.dumps(list(records))  # not ==: 1 and True are equal
        if wanted != type(self).held:
            type(self).held = None
            await load_graph(self.settings, records)
            type(self).held = wanted
        backend = await GremlinBackend.open(settings)
        self.texts = self.watched(backend)
        try:
            yield backend
        finally:
            await backend.close()


@trying(*RULES.keys() - (ASKED_TOGETHER - {"fresh-answers"}))
class TestTinkerGraph(GremlinSuite, ServedSuite):
    @pytest.fixture(autouse=True)
    def _on_the_server(self, tinkergraph: GremlinServer, steps: Any) -> None:
        self.server = tinkergraph
        self.watched = steps
        self.settings = GremlinSettings(uri=[tinkergraph.uri], connect_timeout=60.0)


HOSTILE_NAMES = (
    *("bfs-bytes", "intersect-bytes", "entity-bytes", "entities-bytes"),
    *("schema-lists", "hostile-ids", "every-node"),
)
"""Rules whose graphs have types and predicates with any characters."""
ONE_KIND = never("ArcadeDB allows no predicate with the name of a type.")
WITHOUT_QUOTES = never("JanusGraph allows no quotation marks and braces in labels.")


EVERY_DAY = (
    *("drawn-graphs", "every-edge", "whole-hub", "edge-evidence", "evidence-counted"),
    *("nodes-list", "nodes-conditions", "outline-names", "outline-counts", "ids-no-patterns"),
    *("found-by-id", "found-by-name", "search-misspelt", "search-types", "search-any-text"),
    *("search-id-first", "search-name-next", "search-crowd", "search-types-first"),
    *("round-trips", "may-write-not", "edges-part", "edge-metadata-keys", "stream-types"),
)
"""Rules that found differences between engines."""


@trying(*EVERY_DAY)
class TestJanusGraph(GremlinSuite):
    optouts: ClassVar[Mapping[str, OptOut]] = dict.fromkeys(HOSTILE_NAMES, WITHOUT_QUOTES)

    @pytest.fixture(autouse=True)
    def _on_the_server(self, janusgraph: GremlinServer, steps: Any) -> None:
        self.watched = steps
        self.settings = GremlinSettings(uri=[janusgraph.uri], connect_timeout=60.0)


@trying(*EVERY_DAY)
class TestArcadeDB(GremlinSuite):
    optouts: ClassVar[Mapping[str, OptOut]] = dict.fromkeys(
        (*HOSTILE_NAMES, "nodes-list", "outline-counts", "search-id-first", "stream-types"),
        ONE_KIND,
    )

    @pytest.fixture(autouse=True)
    def _on_the_server(self, arcadedb: GremlinServer, steps: Any) -> None:
        self.watched = steps
        self.settings = GremlinSettings(uri=[arcadedb.uri], connect_timeout=60.0, **arcadedb.login)
