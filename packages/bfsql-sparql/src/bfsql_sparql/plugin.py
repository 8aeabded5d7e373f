"""What the entry point `sparql` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql.plugins import BackendPlugin
from bfsql_sparql.settings import SparqlSettings

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.models.records import GraphRecord, LoadReport


async def _open(settings: SparqlSettings) -> GraphDbInterface:
    from bfsql_sparql.backend import SparqlBackend

    return await SparqlBackend.open(settings)


async def _load(settings: SparqlSettings, records: Iterable[GraphRecord]) -> LoadReport:
    from bfsql_sparql.loader import load_graph

    return await load_graph(settings, records)


plugin = BackendPlugin(
    summary="any SPARQL 1.1 endpoint, and RDF files in process",
    settings=SparqlSettings,
    open=_open,
    load=_load,
    keeps_iris=True,
)
