"""`bfsql load` into Oxigraph, with files as users have them."""

import pytest
from bfsql_trials.user_files import ServerFilesSuite, Store

from bfsql_servers.oxigraph import OxigraphServer


class TestUserFiles(ServerFilesSuite):
    ELSEWHERE = "--graph"

    @pytest.fixture
    def store(self, oxigraph: OxigraphServer) -> Store:
        oxigraph.clear()
        read = ("--backend", "sparql", "--endpoint", oxigraph.query_url)
        return Store((*read, "--update-endpoint", oxigraph.update_url), read)
