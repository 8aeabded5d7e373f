"""Tables of nodes and of edges: CSV, TSV and JSON Lines, a record at a time.

In CSV the separator is the one of comma, semicolon, tab and bar that occurs
most in the header. An empty cell is no value. Memory holds one row.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import GraphStream, Refusal
from bfsql.sources.columns import EdgeColumns, NodeColumns, columns_of
from bfsql.sources.fields import Unusable, is_sound, value_of
from bfsql.sources.formats import SourceOptions
from bfsql.sources.json_lines import objects, records
from bfsql.sources.text import encoding_of, not_text, open_text

_HEAD = 100
"""Lines of a JSONL file whose keys are its columns."""

_LONGEST_CELL = 1 << 24
"""Characters; a longer cell is rather a quote that is never closed."""

_SEPARATORS = ",;\t|"


class _Reader(Protocol):
    """What `csv.reader` gives."""

    @property
    def line_num(self) -> int: ...

    def __next__(self) -> list[str]: ...


def open_table(
    path: Path, format_: str, options: SourceOptions, account: SourceAccount
) -> GraphStream:
    """The nodes or the edges of a table.

    Args:
        path: The file.
        format_: `csv`, `tsv` or `jsonl`.
        options: Column names and defaults.
        account: Where it is told how the table is read.

    Raises:
        SourceError: The table is empty, or lacks a column that is needed.
    """
    account.encoding = encoding = encoding_of(path, options.encoding)
    header = header_of(path, format_, encoding)
    if format_ == "jsonl":
        if not header:
            return iter(())
        columns = columns_of(path, header, options)
        return records(path, lambda row: (columns.record(row),), encoding)
    return _rows(path, format_, encoding, header, columns_of(path, header, options))


def header_of(path: Path, format_: str, encoding: str = "utf-8") -> list[str]:
    """The columns of a table; of JSONL the keys of its first hundred lines.

    Raises:
        SourceError: There are none, a column occurs twice, or none of the
            first lines is JSON. An empty JSONL file is one without columns.
    """
    if format_ == "jsonl":
        return _keys(path, encoding)
    with open_text(path, encoding, strict=False) as stream:
        header = next(_reader(stream, _separator(path, format_, encoding)), [])
    if not any(header):
        raise SourceError(path, "the first line of a table names its columns, and here it is empty")
    named = [column or f"column_{number}" for number, column in enumerate(header, 1)]
    twice = sorted({column for column in named if named.count(column) > 1})
    if twice:
        raise SourceError(path, f"the column {twice[0]!r} occurs twice; rename one of them", 1)
    return named


def _keys(path: Path, encoding: str) -> list[str]:
    keys: dict[str, None] = {}
    refusal: Refusal | None = None
    for _, found in islice(objects(path, encoding), _HEAD):
        if isinstance(found, Refusal):
            refusal = refusal or found
        else:
            keys.update(dict.fromkeys(found))
    if refusal is not None and not keys:
        reason = f"{refusal.reason}; a JSONL file has an object a line"
        raise SourceError(path, reason, refusal.line)
    return list(keys)


def _rows(
    path: Path,
    format_: str,
    encoding: str,
    header: Sequence[str],
    columns: NodeColumns | EdgeColumns,
) -> GraphStream:
    with open_text(path, encoding, strict=False) as stream:
        rows = _reader(stream, _separator(path, format_, encoding))
        next(rows)
        while True:
            line = rows.line_num + 1
            try:
                cells = next(rows)
                if cells:
                    yield columns.record(_row(header, cells, encoding), value_of)
            except StopIteration:
                return
            except Unusable as reason:
                yield Refusal(path, line, str(reason))
            except csv.Error as error:
                yield Refusal(path, line, f"is no row of a table ({error}); is a quote left open?")


def _row(header: Sequence[str], cells: Sequence[str], encoding: str) -> dict[str, str]:
    if len(cells) > len(header):
        raise Unusable(f"has {len(cells)} cells, and the table {len(header)} columns")
    text = "".join(cells)
    if not (text.isascii() or is_sound(text)):
        raise Unusable(not_text(text.encode(encoding, "surrogateescape"), encoding))
    return {column: cell for column, cell in zip(header, cells, strict=False) if cell}


def _reader(stream: Iterator[str], separator: str) -> _Reader:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    return csv.reader(stream, delimiter=separator)


def _separator(path: Path, format_: str, encoding: str) -> str:
    if format_ == "tsv":
        return "\t"
    with open_text(path, encoding, strict=False) as stream:
        head = stream.readline(_LONGEST_CELL)
    return max(_SEPARATORS, key=head.count)
