"""`bfsql load` into Oxigraph, with files as users have them."""

import pytest

from bfsql_test_support.suites.user_files import ServerFilesSuite, Store


class TestUserFiles(ServerFilesSuite):
    KEEPS_NAME_KEYS = False
    ELSEWHERE = "--graph"

    @pytest.fixture
    def store(self, oxigraph):
        oxigraph.clear()
        read = ("--backend", "sparql", "--endpoint", oxigraph.query_url)
        return Store((*read, "--update-endpoint", oxigraph.update_url), read)
