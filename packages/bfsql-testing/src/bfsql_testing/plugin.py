"""The hook plugin: adds `bfsql check` and `bfsql new-backend` to the command line."""

from __future__ import annotations

from bfsql.plugins import CommandDeclaration, hookimpl


@hookimpl
def cli_commands() -> list[CommandDeclaration]:
    """The kit's commands."""
    return [
        CommandDeclaration(
            "check", "Test a backend against its store.", "bfsql_testing.commands:check"
        ),
        CommandDeclaration(
            "new-backend", "Start a backend of your own.", "bfsql_testing.commands:new_backend"
        ),
    ]
