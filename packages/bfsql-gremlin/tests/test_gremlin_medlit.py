"""A real graph on three engines, with the figures published by the protocol's author."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bfsql.models import GraphRecord
from bfsql_gremlin import GremlinBackend, GremlinSettings
from bfsql_gremlin.load.loader import load_graph
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.suites.medlit import (
    MedlitSuite,
    MisspelledNames,
    SameMetadata,
    assert_whole,
)


def loaded(server: GremlinServer, records: list[GraphRecord]) -> GremlinSettings:
    settings = GremlinSettings(uri=[server.uri], **server.login)
    assert_whole(asyncio.run(load_graph(settings, records)))
    return settings


class OnServer(MedlitSuite, SameMetadata):
    @pytest.fixture
    async def backend(self, settings: GremlinSettings) -> AsyncIterator[GremlinBackend]:
        opened = await GremlinBackend.open(settings)
        yield opened
        await opened.close()


class TestTinkerGraph(OnServer):
    @pytest.fixture(scope="class")
    @classmethod
    def settings(
        cls, medlit_records: list[GraphRecord], tinkergraph: GremlinServer
    ) -> GremlinSettings:
        return loaded(tinkergraph, medlit_records)


class TestJanusGraph(OnServer, MisspelledNames):
    @pytest.fixture(scope="class")
    @classmethod
    def settings(
        cls, medlit_records: list[GraphRecord], janusgraph: GremlinServer
    ) -> GremlinSettings:
        return loaded(janusgraph, medlit_records)


class TestArcadeDB(OnServer):
    @pytest.fixture(scope="class")
    @classmethod
    def settings(
        cls, medlit_records: list[GraphRecord], arcadedb: GremlinServer
    ) -> GremlinSettings:
        return loaded(arcadedb, medlit_records)
