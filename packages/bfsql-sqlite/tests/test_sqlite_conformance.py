"""The conformance kit on the embedded store."""

import stat
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_test_support.suites.conformance import WatchedSuite, closing
from bfsql_test_support.suites.shared_load import LoadedTogether
from bfsql_testing import Kind
from bfsql_testing.conformance import EVERYTHING


class Watched:
    """A connection that records the texts of its statements, without their values."""

    def __init__(self, connection, texts):
        self._connection = connection
        self._texts = texts

    def execute(self, text, *values):
        self._texts.append(text)
        return self._connection.execute(text, *values)

    def __getattr__(self, name):
        return getattr(self._connection, name)


def allow(path, mode):
    """Set the mode of a file, and give its folder rights that permit as much."""
    path.parent.chmod(stat.S_IRWXU)
    path.chmod(mode)
    path.parent.chmod(mode | stat.S_IXUSR)


@asynccontextmanager
async def opened(records, mode):
    """A backend over the records, in a file of this mode, in a folder that permits as much."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        await load_graph(SqliteSettings(path=path), records)
        allow(path, mode)
        try:
            async with closing(SqliteBackend.create(path=path, connections=2)) as backend:
                yield backend
        finally:
            allow(path, stat.S_IRUSR | stat.S_IWUSR)


class TestSqlite(LoadedTogether, WatchedSuite):
    keeps = EVERYTHING - {Kind.BINARY}

    @asynccontextmanager
    async def backend_with(self, records):
        self.texts = []
        async with opened(records, stat.S_IRUSR | stat.S_IWUSR) as backend:
            pool = backend._pool
            while not pool._idle.empty():
                pool._idle.get()
            pool._own, *others = [Watched(one, self.texts) for one in pool._all]
            for connection in others:
                pool._idle.put(connection)
            yield backend

    def read_only_with(self, records):
        return opened(records, stat.S_IRUSR)
