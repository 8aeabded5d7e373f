"""The plugin behind the entry point `federation`, and its command."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin, CommandDeclaration, hookimpl
from bfsql_federation.settings import FederationSettings

plugin = BackendPlugin(
    summary="several graphs as one, joined by shared ids",
    settings=FederationSettings,
    open=lazy_call("bfsql_federation.backend:FederationBackend.open"),
)


@hookimpl
def cli_commands() -> list[CommandDeclaration]:
    """`bfsql federation`."""
    return [
        CommandDeclaration(
            "federation", "Show where graphs meet.", "bfsql_federation.report:federation"
        )
    ]
