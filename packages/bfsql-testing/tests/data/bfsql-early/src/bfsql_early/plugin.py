"""What the entry point `early` names.

The backend and the loader are imported when they are used, so that listing the
installed backends imports no driver.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql.plugins import BackendPlugin
from bfsql_early.settings import EarlySettings

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.models import GraphRecord, LoadOptions, LoadReport


async def _open(settings: EarlySettings) -> GraphDbInterface:
    from bfsql_early.backend import EarlyBackend

    return await EarlyBackend.open(settings)


async def _load(
    settings: EarlySettings, records: Iterable[GraphRecord], options: LoadOptions
) -> LoadReport:
    from bfsql_early.loader import load_graph

    return await load_graph(settings, records, options)


plugin = BackendPlugin(
    summary="a graph in a JSON file",
    settings=EarlySettings,
    open=_open,
    load=_load,
    contract=1,
)
