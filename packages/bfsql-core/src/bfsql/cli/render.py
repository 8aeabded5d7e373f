"""Text, tables and lists for a terminal.

Every cell is plain text: neither markup of rich nor terminal commands in it take effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import to_json
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.segment import SegmentLines
from rich.table import Table
from rich.text import Text

from bfsql.answers.notes import counted
from bfsql.cli.command import escape

_MOST_LINES = 30
"""Number of lines of an answer that are printed, unless all are asked for."""
_NUMBER = re.compile(r"-?[\d,.]+")


def print_lines(
    console: Console,
    parts: Iterable[RenderableType],
    *,
    every_line: bool = False,
    most: int = _MOST_LINES,
) -> None:
    """Print the first lines of an answer, and how to see the others if `most` is the default."""
    lines = console.render_lines(Group(*parts), pad=False)
    how = ": --all shows them." if most == _MOST_LINES else ""
    most = len(lines) if every_line or len(lines) == most + 1 else most
    console.print(SegmentLines(lines[:most], new_lines=True), end="")
    if len(lines) > most:
        more = counted(len(lines) - most, "more line")
        console.print(plain(f"... {more}{how}", "dim"))


def cell(value: Any) -> str:
    """A value in a cell: text unchanged, lists of texts with commas, other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return to_json(value).decode()


def plain(text: object, style: str = "") -> Text:
    """Text in which neither markup of rich nor terminal commands take effect."""
    return Text(escape(str(text)), style=style, overflow="fold")


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], styles: Sequence[str] = ()
) -> Table:
    """A table with a title for each column, and a style for each row or none.

    Numbers stand at the right of their column, and a column of ids is dim.
    """
    cells = [[str(one) for one in row] for row in rows]
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for head, column in zip(heads, zip(*cells, strict=True), strict=False):
        numeric = all(_NUMBER.fullmatch(one) for one in column if one)
        made.add_column(
            plain(head),
            overflow="fold",
            justify="right" if numeric else "left",
            style="dim" if head == "id" else "",
        )
    for position, row in enumerate(cells):
        style = styles[position] if styles else ""
        made.add_row(*(plain(one) for one in row), style=style)
    return made


def grid(rows: Iterable[Sequence[str]]) -> Padding:
    """Names with their values, without titles."""
    made = Table.grid(padding=(0, 2))
    made.add_column(overflow="fold", style="cyan", min_width=12)
    made.add_column(overflow="fold")
    for row in rows:
        made.add_row(*map(plain, row))
    return Padding(made, (0, 0, 0, 2), expand=False)


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], styles: Sequence[str] = ()
) -> None:
    """Print a table on standard output."""
    Console(highlight=False).print(table(heads, rows, styles))
