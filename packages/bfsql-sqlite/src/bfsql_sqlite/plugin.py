"""What the entry point `sqlite` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql.plugins import BackendPlugin
from bfsql_sqlite.settings import SqliteSettings

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.models.records import GraphRecord, LoadReport


async def _open(settings: SqliteSettings) -> GraphDbInterface:
    from bfsql_sqlite.backend import SqliteBackend

    return await SqliteBackend.open(settings)


async def _load(settings: SqliteSettings, records: Iterable[GraphRecord]) -> LoadReport:
    from bfsql_sqlite.loader import load_graph

    return await load_graph(settings, records)


async def _prepare(settings: SqliteSettings, _apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """Nothing: the loader writes every index, and checking the file is `open`'s work."""
    await (await _open(settings)).close()
    return []


plugin = BackendPlugin(
    summary="a graph in one file, nothing to install or start (SQLite)",
    settings=SqliteSettings,
    open=_open,
    load=_load,
    prepare=_prepare,
)
