"""What the entry point `jsonld` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.plugins import BackendPlugin
from bfsql_jsonld.settings import JsonLdSettings

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface


async def _open(settings: JsonLdSettings) -> GraphDbInterface:
    from bfsql_jsonld.backend import JsonLdBackend

    return await JsonLdBackend.open(settings)


plugin = BackendPlugin(
    summary="a web API that speaks JSON-LD or JSON, bfsql serve --rest above all",
    settings=JsonLdSettings,
    open=_open,
)
