"""What the entry point `jsonld` names."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin
from bfsql_jsonld.settings import JsonLdSettings

plugin = BackendPlugin(
    summary="a web API that speaks JSON-LD or JSON, bfsql serve --rest above all",
    settings=JsonLdSettings,
    open=lazy_call("bfsql_jsonld.backend:JsonLdBackend.open"),
)
