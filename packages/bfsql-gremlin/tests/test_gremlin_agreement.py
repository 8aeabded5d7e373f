"""Three engines give the same answers as the reference in memory, whatever the records."""

import pytest

from bfsql_test_support.suites.gremlin import agreement


class TestTinkerGraph:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, tinkergraph):
        type(self).server = tinkergraph

    test_the_server_and_the_reference_tell_the_same_of_every_graph = agreement(4)
    test_types_in_a_property_and_answers_in_graphson_are_the_same = agreement(
        3, own_id=False, type_property="kind", serializer="graphson"
    )


class TestJanusGraph:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, janusgraph):
        type(self).server = janusgraph

    test_the_server_and_the_reference_tell_the_same_of_every_graph = agreement(4, plain=True)


class TestArcadeDB:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, arcadedb):
        type(self).server = arcadedb

    test_the_server_and_the_reference_tell_the_same_of_every_graph = agreement(4)
