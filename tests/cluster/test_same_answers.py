"""JanusGraph on Cassandra gives the same answers as the reference in memory."""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.cluster import Cluster
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.suites.gremlin import (
    HOSTILE_NAMES,
    WITHOUT_QUOTES,
    GremlinMedlit,
    GremlinSuite,
    agreement,
)
from bfsql_testing.conformance import OptOut

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not THOROUGH, reason="`nox -s cluster` runs them"),
]


class TestMedlit(GremlinMedlit):
    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, cluster: Cluster) -> GremlinServer:
        return cluster.servers[1]


class TestAgreement:
    @pytest.fixture(autouse=True)
    def _on_the_cluster(self, cluster: Cluster) -> None:
        type(self).server = cluster.servers[0]

    test_the_cluster_and_the_reference_tell_the_same_of_every_graph = agreement(3, plain=True)


class TestConformance(GremlinSuite):
    examples = 5
    optouts: ClassVar[Mapping[str, OptOut]] = dict.fromkeys(HOSTILE_NAMES, WITHOUT_QUOTES)

    @pytest.fixture(autouse=True)
    def _on_the_cluster(self, cluster: Cluster) -> None:
        self.server = cluster.servers[0]
