"""The hook plugin, which imports no settings: adds `bfsql federation` to the command line."""

from bfsql.plugins import CommandDeclaration, hookimpl


@hookimpl
def cli_commands() -> list[CommandDeclaration]:
    """`bfsql federation`."""
    return [
        CommandDeclaration(
            "federation", "Show where graphs meet.", "bfsql_federation.report:federation"
        )
    ]
