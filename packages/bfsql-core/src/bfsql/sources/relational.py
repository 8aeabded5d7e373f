"""Tables that refer to each other: of a folder, of a file that holds several, or of one table.

The reading of their keys is in `bfsql.sources.keys`. A kind of file is an entry of `OPENERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from bfsql.lazy import lazy_call
from bfsql.sources.fields import Unusable, value_of
from bfsql.sources.files import PACKED, faults_of, open_bytes
from bfsql.sources.options import NO_OPTIONS, SourceOptions
from bfsql.sources.rows import is_table, rows_of
from bfsql.sources.tables import Head, head_of
from bfsql.sources.text import beginning


class Column(NamedTuple):
    """A column of a table."""

    name: str
    type: str = ""
    """The declared type as the source spells it; empty where there is none."""


class ForeignKey(NamedTuple):
    """A declared reference."""

    columns: tuple[str, ...]
    table: str
    """The name of the table that it refers to."""
    referred: tuple[str, ...]
    """The columns there, in the same order."""


@dataclass
class RelationalTable:
    """A table of a file that is open, or was read, with its declared keys."""

    name: str
    """The file's name without ending, or that of the sheet or table."""
    path: Path
    columns: Sequence[Column]
    """Each name once."""
    rows: Callable[[], Iterator[tuple[Any, ...]]]
    """Its rows, any number of times: str, int, float, bool, Decimal, date, datetime, list or dict,
    and None where there is no value."""
    notes: list[str] = field(default_factory=list)
    """Sentences for the report, on blobs that were left out and the like."""
    key: tuple[str, ...] = ()
    """The declared primary key; empty without one."""
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    footers: set[str] = field(default_factory=set)
    """Texts of rows below the others, such as a total, once these were read."""


class FileTables(NamedTuple):
    """Some tables of a file."""

    tables: Sequence[RelationalTable]
    close: Callable[[], None] = lambda: None
    """Closes the file, if it is open."""


_FOOTER = re.compile(r"[\s:()]")
"""What the only cell of a row has that is a footer, and no key."""

Open = Callable[[Path, SourceOptions], FileTables | None]
"""Opens a file; None for one that holds a graph. It raises a `SourceError` if it cannot be read, or
lacks something."""


class Opener(NamedTuple):
    """A kind of files with tables."""

    suffixes: tuple[str, ...]
    """Endings of its files, in lower case."""
    open: Open
    magic: bytes = b""
    """Bytes at the beginning of such a file, which count more than its ending; empty if any."""
    offset: int = 0
    """Their place, below 24."""


class DelimitedTable(RelationalTable):
    """The table in a CSV or TSV file, whose cells are text."""

    def __init__(self, path: Path, head: Head) -> None:
        rows = lambda: (row for _, row in self.lines() if isinstance(row, tuple))
        columns = [*map(Column, head.columns)]
        super().__init__(stem(path), path, columns, rows, [*head.notes])
        self.head = head

    def lines(self) -> Iterator[tuple[int, tuple[str, ...] | Unusable]]:
        """The rows with their lines; an empty cell is empty. A footer is no row."""
        width, rows = len(self.columns), rows_of(self.path, self.head.encoding, self.head.dialect)
        last: list[tuple[int, tuple[str, ...]]] = []
        with faults_of(self.path):
            header = next(rows, (0, []))[1] if self.head.path == self.path else None
            for line, cells in rows:
                if last and (type(cells) is not list or len(cells) == width or len(last) == 10):
                    yield from last
                    last = []
                if type(cells) is list and len(cells) == width:
                    if cells != header:
                        yield line, tuple(cells)
                elif isinstance(cells, Unusable):
                    yield line, cells
                elif len(cells) == 1 and _FOOTER.search(cells[0]):
                    last.append((line, (cells[0], *[""] * (width - 1))))
                elif any(cells[width:]):
                    reason = f"has {len(cells)} cells, but the table {width} columns"
                    yield line, Unusable(reason)
                else:
                    yield line, (*cells[:width], *[""] * (width - len(cells)))
        self.footers.update(row[0] for _, row in last)


def open_delimited(path: Path, options: SourceOptions) -> FileTables | None:
    """The table in a CSV or TSV file; None for other text. Errors as with `head_of`."""
    if ".txt" in path.suffixes and not is_table(beginning(path)):
        return None
    format_ = "tsv" if {".tsv", ".tab"} & {*path.suffixes} else "csv"
    head = head_of(path, format_, options, numbers_repeats=True)
    if not options.columns and (head.path != path or _is_data(head)):
        unnamed = replace(options, columns=("",) * len(head.columns))
        head = head_of(path, format_, unnamed)
    return FileTables([DelimitedTable(path, head)])


def _is_data(head: Head) -> bool:
    """Whether the first cell of what was taken as the header is a number, as all below it."""
    first = head.columns[:1]
    cells = [*first, *(str(row.get(first[0])) for row in head.sample)] if first else []
    return head.is_suspect and all(not isinstance(value_of(cell), str) for cell in cells)


def stem(path: Path) -> str:
    """The name of a file without its endings."""
    name = path.name
    while (end := Path(name).suffix.lower()) in {
        *PACKED,
        *(s for o in OPENERS for s in o.suffixes),
    }:
        name = name[: -len(end)]
    return name


OPENERS: list[Opener] = [
    Opener((".csv", ".tsv", ".tab", ".txt"), open_delimited),
    Opener(
        (".sqlite", ".sqlite3", ".db3"),
        lazy_call("bfsql.sources.database_files:open_sqlite"),
        b"SQLite format 3\0",
    ),
    Opener((".duckdb", ".ddb"), lazy_call("bfsql.sources.database_files:open_duckdb"), b"DUCK", 8),
    Opener((".xlsx", ".xlsm"), lazy_call("bfsql.sources.workbook:open_workbook")),
    Opener((".parquet", ".pq"), lazy_call("bfsql.sources.parquet:open_tables"), b"PAR1"),
]
"""The kinds of files with tables; other modules by `lazy_call`, since they import this one."""


def open_relational(path: Path, options: SourceOptions = NO_OPTIONS) -> FileTables | None:
    """The tables of a file; None if it has none.

    Raises:
        SourceError: The file cannot be read.
    """
    opener = opener_of(path)
    with faults_of(path):
        return opener.open(path, options) if opener is not None else None


def files_in(folder: Path) -> list[Path]:
    """The files in a folder and in those in it, without hidden ones."""
    with faults_of(folder):
        found = sorted(one for one in folder.rglob("*") if one.is_file())
    return [one for one in found if not any(p[0] == "." for p in one.relative_to(folder).parts)]


def opener_of(path: Path) -> Opener | None:
    """What opens a file, by its first bytes, or else by its ending."""
    with faults_of(path), open_bytes(path) as stream:
        head = stream.read(32)
    marked = (one for one in OPENERS if one.magic and head.startswith(one.magic, one.offset))
    ends = [end.lower() for end in path.suffixes if end.lower() not in PACKED][-1:]
    named = (one for one in OPENERS if ends and ends[0] in one.suffixes)
    return next(marked, None) or next(named, None)
