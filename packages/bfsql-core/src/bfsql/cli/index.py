"""`bfsql index`: what a store lacks for speed or search."""

from __future__ import annotations

import asyncio

import click

from bfsql.cli.configured import ConfiguredCommand
from bfsql.cli.visible import visible
from bfsql.config import Configuration
from bfsql.errors import ConfigurationError


@click.command("index", cls=ConfiguredCommand)
@click.option("--apply", is_flag=True, help="Create it; otherwise it is only shown.")
def index(configuration: Configuration, *, apply: bool) -> None:
    """Show what a store lacks for speed or search; --apply creates it."""
    prepare = configuration.choice.plugin.prepare
    if prepare is None:
        raise ConfigurationError(
            f"The backend {configuration.choice.backend!r} has no index to make: "
            "it works with its store as it is."
        )

    async def prepared() -> list[str]:
        return await prepare(configuration.backend.settings, apply)

    statements = asyncio.run(prepared())
    for statement in statements:
        click.echo(visible(statement))
    if not statements:
        click.echo("Nothing is missing.", err=True)
    elif apply:
        click.echo(f"Created: {len(statements)}.", err=True)
    else:
        click.echo(f"Missing: {len(statements)}. Create with --apply.", err=True)
