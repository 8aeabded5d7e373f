"""Files as users have them, loaded into a real server."""

import pytest

from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.suites.user_files import ServerFilesSuite, Store


class TestUserFiles(ServerFilesSuite):
    ELSEWHERE = "--database"

    @pytest.fixture
    def store(self, neo4j_server: Neo4jServer) -> Store:
        return Store(("--backend", "neo4j", "--uri", neo4j_server.uri, "--preserve-case"))
