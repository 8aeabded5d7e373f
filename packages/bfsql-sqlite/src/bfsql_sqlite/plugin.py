"""The target of the entry point `sqlite`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import RDF_ENDINGS, BackendPlugin, GraphFiles
from bfsql_sqlite.settings import SqliteSettings

SOURCES = tuple(
    ending + packed
    for ending in (*RDF_ENDINGS, ".graphml", ".gexf")
    for packed in ("", ".gz", ".zst")
)
"""Endings of files, each a whole graph, that are loaded to be served."""

TABLES = (".duckdb", ".ddb", ".xlsx", ".xlsm", ".toml")
"""Endings of files of several tables, and of their reading, which are loaded to be served, too;
others are folders, and SQLite's databases, which have the endings of graphs."""

_open = lazy_call("bfsql_sqlite.backend:SqliteBackend.open")


async def _prepare(settings: SqliteSettings, _apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """Make no changes: the loader writes every index, and `open` checks the file.

    Raises:
        StoreError: The file has an older layout; the message names the command that makes it anew.
    """
    await (await _open(settings)).close()
    return []


plugin = BackendPlugin(
    summary="a graph in one file, nothing to install or start (SQLite)",
    settings=SqliteSettings,
    open=_open,
    load=lazy_call("bfsql_sqlite.loader:load_graph"),
    prepare=_prepare,
    files=GraphFiles(
        "path", (".db", ".sqlite", ".sqlite3", ".bfsql"), (*SOURCES, *TABLES), "more_files"
    ),
)
