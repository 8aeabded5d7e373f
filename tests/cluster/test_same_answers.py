"""JanusGraph on Cassandra gives the same answers as the reference in memory."""

import pytest

from bfsql.call import Limits
from bfsql.models import NodeRecord
from bfsql_gremlin import GremlinBackend, GremlinSettings
from bfsql_gremlin.indexes import prepare
from bfsql_gremlin.load.loader import load_graph
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.cluster import Cluster
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.suites.gremlin import GremlinMedlit, GremlinSuite, agreement
from bfsql_testing.conformance import RULES
from bfsql_testing.suite import test_name as name_of_test

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not THOROUGH, reason="`nox -s cluster` runs them"),
]


class TestMedlit(GremlinMedlit):
    limits = Limits(deadline=600.0)  # to list the nodes of a type, all vertices are read

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, cluster: Cluster) -> GremlinServer:
        return cluster.servers[1]


class TestAgreement:
    @pytest.fixture(autouse=True)
    def _on_the_cluster(self, cluster: Cluster) -> None:
        type(self).server = cluster.servers[0]

    test_the_cluster_and_the_reference_tell_the_same_of_every_graph = agreement(3, plain=True)


async def test_an_index_of_values_that_are_there_is_made_while_both_servers_run(
    cluster: Cluster,
) -> None:
    """Each server has to acknowledge it."""
    one, other = (
        GremlinSettings(uri=[server.uri], id_property="code") for server in cluster.servers
    )
    by_id = one.model_copy(update={"id_property": "entity_id"})
    await load_graph(by_id, [NodeRecord("a", "T", {"code": "c1"})])
    [made] = await prepare(one, True)
    assert "REINDEX" in made
    for settings in (one, other):
        assert await prepare(settings, False) == []
        backend = await GremlinBackend.open(settings)
        assert [node.id for node in await backend.get_nodes_batch(["c1"])] == ["c1"]
        await backend.close()


RULES_HERE = (
    *("every-edge", "whole-hub", "edge-evidence", "evidence-counted", "edges-part"),
    *("nodes-list", "nodes-conditions", "outline-names", "outline-counts", "stream-types"),
    *("found-by-id", "found-by-name", "round-trips", "may-write-not"),
)
"""Rules about what servers of several machines may do differently; the rest runs in memory."""


class TestConformance(GremlinSuite):
    @pytest.fixture(autouse=True)
    def _on_the_cluster(self, cluster: Cluster) -> None:
        self.server = cluster.servers[0]


for rule in RULES.values():
    if rule.id not in RULES_HERE:
        setattr(TestConformance, name_of_test(rule), None)
