"""The conformance kit: every rule of BFS-QL for backends is a test of its own."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bfsql.abc import GraphDbInterface
from bfsql.models import GraphRecord
from bfsql.testing import BackendSuite, Kind
from bfsql_early import EarlyBackend, EarlySettings
from bfsql_early.loader import load_graph


class TestEarly(BackendSuite):
    """What the store does not keep is declared; the kit leaves it out of its graphs."""

    keeps = frozenset(Kind) - {Kind.BINARY, Kind.EXACT_DECIMALS}

    @pytest.fixture(autouse=True)
    def _in_a_folder(self, tmp_path: Path) -> None:
        self.settings = EarlySettings(path=tmp_path / "graph.json")

    @asynccontextmanager
    async def backend_with(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        """An open backend whose store holds exactly these records."""
        await load_graph(self.settings, records)
        backend = await EarlyBackend.open(self.settings)
        yield backend
        await backend.close()
