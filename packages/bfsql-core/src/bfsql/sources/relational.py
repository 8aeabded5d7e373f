"""Tables that refer to each other: of a folder, of a file that holds several, or of one table.

The reading of their keys is in `bfsql.sources.keys`. A kind of file is an entry of `OPENERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

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


class RelationalTable(Protocol):
    """A table with its declared keys."""

    @property
    def name(self) -> str:
        """Of the table: the file's name without ending, the sheet, the table."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def columns(self) -> Sequence[Column]:
        """Its columns, each name once."""

    @property
    def key(self) -> tuple[str, ...]:
        """The declared primary key; empty without one."""

    @property
    def foreign_keys(self) -> Sequence[ForeignKey]:
        """The declared references."""

    @property
    def notes(self) -> list[str]:
        """Sentences for the report, on blobs that were left out and the like."""

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, any number of times; a value is None where there is none.

        Others are str, int, float, bool, Decimal, date, datetime, list or dict.
        """


class RelationalSource(Protocol):
    """The tables of one file."""

    @property
    def tables(self) -> Sequence[RelationalTable]:
        """Its tables."""

    def close(self) -> None:
        """Release the file."""


Open = Callable[[Path, SourceOptions], RelationalSource | None]
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


@dataclass(frozen=True)
class DelimitedTable:
    """The table in a CSV or TSV file."""

    name: str
    path: Path
    head: Head
    columns: Sequence[Column]
    key: tuple[str, ...] = ()
    foreign_keys: Sequence[ForeignKey] = ()
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[tuple[int, tuple[str, ...] | Unusable]]:
        """The rows with their lines; an empty cell is empty. A footer is no row."""
        width, rows = len(self.columns), rows_of(self.path, self.head.encoding, self.head.dialect)
        last: list[tuple[int, tuple[str, ...]]] = []
        with faults_of(self.path):
            header = next(rows, (0, []))[1] if self.head.path == self.path else None
            for line, cells in rows:
                if isinstance(cells, list) and len(cells) == 1 < width and len(last) < 10:
                    last.append((line, (*cells, *[""] * (width - 1))))
                    continue
                if last:
                    yield from last
                    last = []
                if type(cells) is list and len(cells) == width:
                    if cells != header:
                        yield line, tuple(cells)
                elif isinstance(cells, Unusable):
                    yield line, cells
                elif any(cells[width:]):
                    reason = f"has {len(cells)} cells, but the table {width} columns"
                    yield line, Unusable(reason)
                else:
                    yield line, (*cells[:width], *[""] * (width - len(cells)))
        yield from ((line, Unusable("has one cell, as a footer has")) for line, _ in last)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """As `RelationalTable.rows`, without rows that cannot be read."""
        return (row for _, row in self.lines() if isinstance(row, tuple))


@dataclass
class OpenTable:
    """A table of a file that is open, or was read."""

    name: str
    path: Path
    columns: Sequence[Column]
    rows: Callable[[], Iterator[tuple[Any, ...]]]
    """As `RelationalTable.rows`."""
    notes: list[str] = field(default_factory=list)
    key: tuple[str, ...] = ()
    foreign_keys: list[ForeignKey] = field(default_factory=list)


class FileTables(NamedTuple):
    """Some tables of a file."""

    tables: Sequence[RelationalTable]
    close: Callable[[], None] = lambda: None
    """Closes the file, if it is open."""


def open_delimited(path: Path, options: SourceOptions) -> FileTables | None:
    """The table in a CSV or TSV file; None for other text. Errors as with `head_of`."""
    if ".txt" in path.suffixes and not is_table(beginning(path)):
        return None
    format_ = "tsv" if {".tsv", ".tab"} & {*path.suffixes} else "csv"
    head = head_of(path, format_, options, numbers_repeats=True)
    if not options.columns and (head.path != path or _is_data(head)):
        unnamed = replace(options, columns=("",) * len(head.columns))
        head = head_of(path, format_, unnamed)
    columns = [*map(Column, head.columns)]
    return FileTables([DelimitedTable(stem(path), path, head, columns, notes=[*head.notes])])


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


def open_relational(path: Path, options: SourceOptions = NO_OPTIONS) -> RelationalSource | None:
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
