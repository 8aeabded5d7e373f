"""The conformance kit on TinkerGraph, JanusGraph and ArcadeDB; most of it on the first."""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from bfsql_test_support.suites.conformance import ASKED_TOGETHER, OF_ENGINES, ServedSuite, trying
from bfsql_test_support.suites.gremlin import HOSTILE_NAMES, WITHOUT_QUOTES, GremlinSuite
from bfsql_test_support.suites.numbers import AnyNumber
from bfsql_testing import never
from bfsql_testing.conformance import RULES, OptOut


# test_gremlin_connection.py pings a server that is gone; "store-returns" stops this one.
@trying(*RULES.keys() - (ASKED_TOGETHER - {"fresh-answers"}) - {"ping-asks"})
class TestTinkerGraph(GremlinSuite, ServedSuite, AnyNumber):
    @pytest.fixture(autouse=True)
    def _on_the_server(self, tinkergraph):
        self.server = tinkergraph


ONE_KIND = never("ArcadeDB allows no predicate with the name of a type.")
TYPE_AND_PREDICATE = (
    *("nodes-list", "outline-counts", "search-id-first", "cached-as-direct"),
    *("stream-types", "stream-edges", "stream-part", "columns-order", "columns-nodes"),
    *("columns-ends", "columns-names", "columns-rings", "columns-part", "columns-apart"),
    "columns-fresh",
)
"""More rules whose graphs have a predicate with the name of a type."""


FURTHER = OF_ENGINES - {"nodes-conditions"}
"""Rules of further engines; test_gremlin_values.py tries what a condition sends to them."""


@trying(*FURTHER)
class TestJanusGraph(GremlinSuite):
    optouts: ClassVar[Mapping[str, OptOut]] = dict.fromkeys(HOSTILE_NAMES, WITHOUT_QUOTES)

    @pytest.fixture(autouse=True)
    def _on_the_server(self, janusgraph):
        self.server = janusgraph


@trying(*FURTHER)
class TestArcadeDB(GremlinSuite):
    optouts: ClassVar[Mapping[str, OptOut]] = dict.fromkeys(
        (*HOSTILE_NAMES, *TYPE_AND_PREDICATE), ONE_KIND
    )

    @pytest.fixture(autouse=True)
    def _on_the_server(self, arcadedb):
        self.server = arcadedb
