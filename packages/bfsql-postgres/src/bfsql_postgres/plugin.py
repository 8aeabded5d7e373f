"""What the entry point `postgres` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql.plugins import BackendPlugin
from bfsql_postgres.settings import PostgresSettings

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.models.records import GraphRecord, LoadReport


async def _open(settings: PostgresSettings) -> GraphDbInterface:
    from bfsql_postgres.backend import PostgresBackend

    return await PostgresBackend.open(settings)


async def _load(settings: PostgresSettings, records: Iterable[GraphRecord]) -> LoadReport:
    from bfsql_postgres.loader import load_graph

    return await load_graph(settings, records)


async def _prepare(settings: PostgresSettings, apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    from bfsql_postgres.indexes import prepare

    return await prepare(settings, apply)


plugin = BackendPlugin(
    summary="a graph in Postgres: kgraph's schema, or tables of your own",
    settings=PostgresSettings,
    open=_open,
    load=_load,
    prepare=_prepare,
)
