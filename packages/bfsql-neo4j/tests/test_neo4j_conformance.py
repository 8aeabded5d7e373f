"""The conformance kit on a real server."""

from contextlib import asynccontextmanager

import pytest

from bfsql_neo4j import Neo4jBackend
from bfsql_neo4j.load.loader import load_graph
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.suites.conformance import (
    ASKED_TOGETHER,
    HoldingSuite,
    ServedSuite,
    WatchedSuite,
    closing,
    trying,
)
from bfsql_test_support.suites.numbers import AnyNumber
from bfsql_test_support.suites.shared_load import LoadedTogether
from bfsql_testing import Kind
from bfsql_testing.conformance import EVERYTHING, RULES

KEPT = EVERYTHING - {Kind.BINARY, Kind.DANGLING_EDGES, Kind.LONG_IDS, Kind.NUL_CHARACTERS}

TESTED_OTHERWISE = {
    "nodes-conditions",  # test_neo4j_nodes.py compares more conditions on more values
    # test_neo4j_parts.py compares more parts with those of the whole ring
    *("edges-part", "stream-part"),
    "every-edge",  # test_neo4j_agreement.py compares all edges of drawn graphs
    # test_neo4j_connection.py stops the server between calls, and within one
    *("store-returns", "ping-asks"),
} | (ASKED_TOGETHER - {"fresh-answers"})
"""Rules whose hundreds of statements the server plans once more without showing anything new."""


@trying(*RULES.keys() - TESTED_OTHERWISE)
class TestNeo4j(LoadedTogether, HoldingSuite, ServedSuite, WatchedSuite, AnyNumber):
    keeps = KEPT
    examples = 30 if THOROUGH else 3  # for each, the server plans every statement anew

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _nothing_is_held(cls, neo4j_server):
        neo4j_server.clear()  # other tests leave constraints
        TestNeo4j.held = None

    @pytest.fixture(autouse=True)
    def _on_the_server(self, settings, neo4j_server, statements):
        self.server = neo4j_server
        self.watched = statements
        # On a busy machine, hundreds of calls wait longer for 16 connections than by default.
        self.settings = settings.model_copy(update={"preserve_case": True, "connect_timeout": 60.0})

    @asynccontextmanager
    async def backend_with(self, records):
        await self.load_once(records, lambda: load_graph(self.settings, records))
        async with closing(Neo4jBackend.open(self.settings)) as backend:
            self.texts = self.watched(backend)
            yield backend
