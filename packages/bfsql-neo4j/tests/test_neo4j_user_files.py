"""Files as users have them, loaded into a real server."""

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.suites.user_files import ServerFilesSuite, Store


class TestUserFiles(ServerFilesSuite):
    KEEPS_NAME_KEYS = False
    ELSEWHERE = "--database"

    @pytest.fixture
    def store(self, neo4j_server):
        return Store(("--backend", "neo4j", "--uri", neo4j_server.uri, "--preserve-case"))

    if not THOROUGH:  # what is in the files is read before it comes to a store
        test_good_lines_are_loaded_although_others_are_refused = None
        test_edges_that_meet_no_node_are_loaded_and_reported_first = None
        test_edges_that_were_read_as_nodes_are_reported_first = None
        test_another_encoding_is_reported_and_can_be_named = None
        test_a_table_without_rows_is_not_loaded = None
