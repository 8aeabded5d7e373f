"""The plugin behind the entry point `federation`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin
from bfsql_federation.settings import FederationSettings

plugin = BackendPlugin(
    summary="several graphs as one, joined by shared ids",
    settings=FederationSettings,
    open=lazy_call("bfsql_federation.backend:FederationBackend.open"),
)
