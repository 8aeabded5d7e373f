"""Three engines give the same answers as the reference in memory, whatever the records."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from bfsql.answers.clean import clean_metadata
from bfsql.models import GraphRecord
from bfsql_gremlin import GremlinBackend, GremlinSettings
from bfsql_gremlin.load.loader import load_graph
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.suites.agreement import assert_agreed, graphs, values, without_dangling

IDS = st.sampled_from(["a", "b", "B", "ä", "c d", "e'\"`", "42", "007", "4.20", "true", "🜁", ""])
TYPES = st.sampled_from(["drug", "Disease", "two words", "it's", ""])
PREDICATES = st.sampled_from(["TREATS", "treats", "is\na", "a`b\\u0060", "it's ${1}"])
# JanusGraph allows no quotation marks and braces in labels.
PLAIN = st.sampled_from(["TREATS", "treats", "is\na", "a`b\\u0060", "it's $1"])
WITHOUT_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
VALUES = values(null=False)


async def agree(server: GremlinServer, records: list[GraphRecord], **options: Any) -> None:
    settings = GremlinSettings(uri=[server.uri], **server.login, **options)
    able = without_dangling(records)  # an edge in Gremlin has two vertices
    await load_graph(settings, able)
    backend = await GremlinBackend.open(settings)
    try:
        await assert_agreed(backend, able, cleaned=clean_metadata)
    finally:
        await backend.close()


class TestTinkerGraph:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, tinkergraph: GremlinServer) -> None:
        type(self).server = tinkergraph

    @given(graphs(IDS, PREDICATES, TYPES, any_value=VALUES, node={"entity_id": VALUES}))
    @examples(max_examples=6, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_the_server_and_the_reference_tell_the_same_of_every_graph(
        self, records: list[GraphRecord]
    ) -> None:
        await agree(self.server, records)

    @given(graphs(IDS, PREDICATES, TYPES, any_value=VALUES))
    @examples(max_examples=3, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_types_in_a_property_and_answers_in_graphson_are_the_same(
        self, records: list[GraphRecord]
    ) -> None:
        await agree(self.server, records, type_property="kind", serializer="graphson")


class TestJanusGraph:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, janusgraph: GremlinServer) -> None:
        type(self).server = janusgraph

    @given(graphs(IDS, PLAIN, TYPES, any_value=VALUES, node={"entity_id": VALUES}))
    @examples(max_examples=6, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_the_server_and_the_reference_tell_the_same_of_every_graph(
        self, records: list[GraphRecord]
    ) -> None:
        await agree(self.server, records)


class TestArcadeDB:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, arcadedb: GremlinServer) -> None:
        type(self).server = arcadedb

    @given(graphs(IDS, PREDICATES, TYPES, any_value=VALUES, node={"entity_id": VALUES}))
    @examples(max_examples=6, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_the_server_and_the_reference_tell_the_same_of_every_graph(
        self, records: list[GraphRecord]
    ) -> None:
        await agree(self.server, records)
