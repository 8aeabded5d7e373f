"""Files as users have them, good and broken: what `bfsql load` says, and how it exits."""

from pathlib import Path

import pytest
from bfsql_trials.user_files import Store, UserFilesSuite


class TestUserFiles(UserFilesSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return Store(("--path", str(tmp_path / "graph.db")))
