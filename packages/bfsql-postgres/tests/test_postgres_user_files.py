"""Files as users have them, loaded into Postgres by the command."""

import pytest

from bfsql_test_support.suites.user_files import ServerFilesSuite, Store


class TestUserFiles(ServerFilesSuite):
    ELSEWHERE = "--schema"

    @pytest.fixture
    def store(self, database, schema, tmp_path):
        url = tmp_path / "owner.url"
        url.write_text(database.owner_url, encoding="utf-8")
        return Store(("--backend", "postgres", "--schema", schema, "--dsn-file", str(url)))
