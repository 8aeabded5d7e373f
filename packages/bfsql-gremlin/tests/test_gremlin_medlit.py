"""A real graph on three engines, with the figures published by the protocol's author."""

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.suites.gremlin import GremlinMedlit
from bfsql_test_support.suites.medlit import MisspelledNames


class TestJanusGraph(GremlinMedlit, MisspelledNames):
    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, janusgraph):
        return janusgraph


# In a graph of plain values, further engines show nothing beyond the kit and drawn graphs.
if THOROUGH:

    class TestTinkerGraph(GremlinMedlit):
        @pytest.fixture(scope="class")
        @classmethod
        def server(cls, tinkergraph):
            return tinkergraph

    class TestArcadeDB(GremlinMedlit):
        @pytest.fixture(scope="class")
        @classmethod
        def server(cls, arcadedb):
            return arcadedb
