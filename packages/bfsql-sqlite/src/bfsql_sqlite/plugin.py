"""The target of the entry point `sqlite`."""

from bfsql.errors import StoreError
from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin, GraphFiles
from bfsql_sqlite.settings import SqliteSettings

_open = lazy_call("bfsql_sqlite.backend:SqliteBackend.open")


async def _prepare(settings: SqliteSettings, _apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """Make no changes: the loader writes every index, and `open` checks the file.

    Raises:
        StoreError: The file has an older layout; the message names the command that makes it anew.
    """
    backend = await _open(settings)
    await backend.close()
    if lacks := backend.shortcoming:
        raise StoreError(lacks)
    return []


plugin = BackendPlugin(
    summary="a graph in one file, nothing to install or start (SQLite)",
    settings=SqliteSettings,
    open=_open,
    load=lazy_call("bfsql_sqlite.loader:load_graph"),
    prepare=_prepare,
    files=GraphFiles("path", (".db", ".sqlite", ".sqlite3", ".bfsql")),
)
