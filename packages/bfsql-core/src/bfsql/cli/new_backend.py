"""`bfsql new-backend`: the beginning of a backend of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from bfsql.scaffold import Names, write_distribution


@click.command("new-backend")
@click.argument("name")
@click.option(
    "--path",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    metavar="DIR",
    help="Folder to make the distribution in.  [default: the current one]",
)
def new_backend(name: str, path: Path) -> None:
    """Write a distribution with a backend that works, for you to make your own.

    NAME is what --backend will take; the distribution is called bfsql-NAME.
    """
    names = Names.checked(name)
    for written in write_distribution(names, path):
        click.echo(written)
    click.echo(
        f'Next: pip install -e "{path / names.distribution}[test]", then run pytest there. '
        "Its README.md says what to change first.",
        err=True,
    )
