"""Tables on a terminal; every cell is plain text, whatever it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bfsql.cli.visible import visible


def plain(text: object, style: str = "") -> Text:
    """Text that rich does not read markup out of, and the terminal no commands."""
    return Text(visible(str(text)), style=style, overflow="fold")


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], styles: Sequence[str] = ()
) -> Table:
    """A table.

    Args:
        heads: The columns' titles.
        rows: A cell a column.
        styles: A style for each row, or nothing.
    """
    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        made.add_column(head, overflow="fold")
    for position, row in enumerate(rows):
        style = styles[position] if styles else ""
        made.add_row(*(plain(cell, style) for cell in row))
    return made


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], styles: Sequence[str] = ()
) -> None:
    """Print a table on standard output."""
    Console(highlight=False).print(table(heads, rows, styles))
