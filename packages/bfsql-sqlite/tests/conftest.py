"""Fixtures that load and open graphs."""

import pytest

from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph


@pytest.fixture
def file(tmp_path):
    return tmp_path / "graph.db"


@pytest.fixture
def load(file):
    """Loads records into `file`."""
    return lambda records: load_graph(SqliteSettings(path=file), records)


@pytest.fixture
async def opened(tmp_path):
    """Opens a backend over records, and closes it after the test."""
    backends = []

    async def open_records(records):
        path = tmp_path / f"graph-{len(backends)}.db"
        await load_graph(SqliteSettings(path=path), records)
        backends.append(await SqliteBackend.create(path=path, connections=2))
        return backends[-1]

    yield open_records
    for backend in backends:
        await backend.close()
