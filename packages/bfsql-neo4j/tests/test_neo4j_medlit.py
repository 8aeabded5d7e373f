"""A real graph, loaded, with the figures published by the protocol's author."""

import asyncio

import pytest

from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.load.loader import load_graph
from bfsql_test_support.suites.medlit import MedlitSuite, MisspelledNames, SameGraph, assert_whole


@pytest.fixture(scope="module")
def loaded(medlit_records, neo4j_server):
    """The address of a server that holds only this graph."""
    settings = Neo4jSettings(uri=neo4j_server.uri)
    assert_whole(asyncio.run(load_graph(settings, medlit_records)))
    return settings.uri


class OnNeo4j(MedlitSuite, MisspelledNames):
    preserve_case: bool

    @pytest.fixture
    async def backend(self, loaded):
        opened = await Neo4jBackend.create(uri=loaded, preserve_case=self.preserve_case)
        yield opened
        await opened.close()

    async def test_the_advice_is_short(self, backend):
        assert len(await backend.next_steps()) < 3_000


class TestCaseKept(OnNeo4j, SameGraph):
    preserve_case = True


class TestLowerCase(OnNeo4j):
    preserve_case = False

    @staticmethod
    def spelled(predicates):
        return sorted(predicate.lower() for predicate in predicates)
