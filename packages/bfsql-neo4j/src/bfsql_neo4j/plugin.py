"""What the entry point `neo4j` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql.plugins import BackendPlugin
from bfsql_neo4j.settings import Neo4jSettings

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.models.records import GraphRecord, LoadReport


async def _open(settings: Neo4jSettings) -> GraphDbInterface:
    from bfsql_neo4j.backend import Neo4jBackend

    return await Neo4jBackend.open(settings)


async def _load(settings: Neo4jSettings, records: Iterable[GraphRecord]) -> LoadReport:
    from bfsql_neo4j.loader import load_graph

    return await load_graph(settings, records)


async def _prepare(settings: Neo4jSettings, apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    from bfsql_neo4j.indexes import prepare

    return await prepare(settings, apply)


plugin = BackendPlugin(
    summary="any Neo4j graph, as it is (Bolt)",
    settings=Neo4jSettings,
    open=_open,
    load=_load,
    prepare=_prepare,
)
