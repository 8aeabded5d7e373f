"""The target of the entry point `jsonld`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin
from bfsql_jsonld.settings import JsonLdSettings

plugin = BackendPlugin(
    summary="a web API that returns JSON-LD or JSON, such as bfsql serve --rest",
    settings=JsonLdSettings,
    open=lazy_call("bfsql_jsonld.backend:JsonLdBackend.open"),
)
