"""Makes a plain copy of a table: CSV that every reader parses into the same rows.

The copy is UTF-8 with a byte order mark. It has one line per row, with as many cells in each as
there are columns, and well-formed quotes. Most blocks of lines already have this form, which
numpy and one regular expression detect. Every other line is read by the function of the reader
of records, and is refused as that function does or rewritten. A table that has rows of several
lines is not made plain.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bfsql.errors import SourceError
from bfsql.loading.intake import MAX_REFUSALS
from bfsql.models.json_values import is_text
from bfsql.models.records import Refusal
from bfsql.sources.fields import Unusable
from bfsql.sources.files import Stamp, check_unchanged, guarded
from bfsql.sources.rows import lone_row
from bfsql.sources.tables import Table
from bfsql.sources.text import open_text

_WIDEST = 500
"""Most columns; DuckDB's time grows with the square of their number."""
_BLOCK = 1 << 21
"""Characters that are read at a time."""
_JUMPS = 4_000_000
"""Most rows whose line number is stored; each takes 16 bytes."""
_SEPARATORS = frozenset(",;\t|")
_LINE_END = ord("\n")


class NeedsRecordReader(Exception):
    """The table has to be read by the reader of records; the reason is a clause about it."""


class NormalisedCsv:
    """A plain copy of a table, and the findings from making it.

    Attributes:
        table: The table.
        path: Path of the copy.
        rows: Its number of rows.
        header: The cells of the header, which is not in the copy; None if it is in another file.
        short: Rows with fewer cells than there are columns.
        refusals: The first refusals of lines, which are not in the copy.
        refused: The number of all refused lines.
    """

    def __init__(self, table: Table, path: Path) -> None:
        self.table = table
        self.path = path
        self.rows = 0
        self.header: list[str] | None = None
        self.short = 0
        self.refusals: list[Refusal] = []
        self.refused = 0
        self._firsts = array("q")
        self._lines = array("q")

    def line_of(self, row: int) -> int:
        """The line number of a row of the copy; rows count from 0."""
        place = bisect_right(self._firsts, row) - 1
        return self._lines[place] + row - self._firsts[place]

    def begin(self, line: int) -> None:
        """Note that the next row of the copy is this line of the table.

        Raises:
            NeedsRecordReader: This happens too often.
        """
        if self._firsts and self._firsts[-1] == self.rows:
            self._lines[-1] = line
            return
        if len(self._firsts) > _JUMPS:
            raise NeedsRecordReader("too many of its lines are empty, refused or written anew")
        self._firsts.append(self.rows)
        self._lines.append(line)

    def refuse(self, line: int, reason: str) -> None:
        """Count a line that is left out."""
        self.refused += 1
        if len(self.refusals) < MAX_REFUSALS:
            self.refusals.append(Refusal(self.table.path, line, reason))


def copy(
    result: NormalisedCsv,
    stamp: Stamp | None,
    stopped: Callable[[], bool],
    progress: Callable[[int], object],
) -> None:
    """Make a plain copy of a table.

    Args:
        result: The table, and the path of the copy.
        stamp: The stamp of the table's file before reading.
        stopped: Whether to stop.
        progress: Called periodically.

    Raises:
        NeedsRecordReader: The table does not allow a plain copy.
        InterruptedError: `stopped` returned true.
        OSError: The copy cannot be written.
    """
    table = result.table
    dialect = table.head.dialect
    if dialect.trim or dialect.separator not in _SEPARATORS:
        raise NeedsRecordReader(
            "its cells are separated by something other than , ; | or a tab alone"
        )
    if len(table.head.columns) > _WIDEST:
        raise NeedsRecordReader(f"it has more than {_WIDEST} columns")
    with result.path.open("wb") as target:
        target.write(BOM_UTF8)  # without it, DuckDB would strip one from the first cell
        lines = _Lines(result, target)
        try:
            for block in guarded(table.path, _blocks(table)):
                if stopped():
                    raise InterruptedError
                lines.take(block)
                progress(result.rows)
            if stamp is not None:
                check_unchanged([(table.path, stamp)])
        except SourceError as error:
            raise NeedsRecordReader("it cannot be read to its end") from error
    if table.has_header and result.header is None:
        raise NeedsRecordReader("it has no header")


def _blocks(table: Table) -> Iterator[str]:
    """The text in whole lines that end in a line feed, after the skipped lines."""
    with open_text(table.path, table.head.encoding) as stream:
        for _ in range(table.head.dialect.skip):
            stream.readline()
        rest = ""
        while block := stream.read(_BLOCK):
            cut = block.rfind("\n") + 1
            if cut:
                yield _with_line_feeds(rest + block[:cut])
                rest = block[cut:]
            else:
                rest += block
            if len(rest) > 1 << 20:
                raise NeedsRecordReader("one of its lines is very long")
        if rest:
            yield _with_line_feeds(f"{rest}\n")


def _with_line_feeds(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\r" in text or "\0" in text:
        raise NeedsRecordReader("one of its lines contains a carriage return or a NUL character")
    return text


class _Lines:
    """Writes the lines of a table into its copy."""

    def __init__(self, result: NormalisedCsv, target: BinaryIO) -> None:
        head = result.table.head
        self._result = result
        self._target = target
        self._encoding = head.encoding
        self._dialect = head.dialect
        self._separator = head.dialect.separator.encode()
        self._width = len(head.columns)
        self._line = 1 + head.dialect.skip
        self._in_header = result.table.has_header
        self._special = re.compile(f'["{re.escape(head.dialect.separator)}]')
        self._text = _rows(self._separator, self._width, b"")
        self._dirty = _rows(self._separator, self._width, rb"\xed")
        result.begin(self._line)

    def take(self, text: str) -> None:
        """Write a block of lines."""
        while self._in_header and text:
            end = text.index("\n") + 1
            self._header(text[:end])
            text = text[end:]
        if not text:
            return
        sound = is_text(text)
        data = text.encode("utf-8", "strict" if sound else "surrogatepass")
        if sound and b'"' not in data and self._is_even(data):
            self._write(data)
            return
        plain, at = self._text if sound else self._dirty, 0
        while at < len(data):
            found = plain.match(data, at)
            assert found is not None
            if found.end() > at:
                self._write(data[at : found.end()])
            at = found.end()
            if at < len(data):
                end = data.index(b"\n", at) + 1
                self._take_alone(data[at:end].decode("utf-8", "surrogatepass"))
                at = end

    def _header(self, line: str) -> None:
        cells = self._row(line)
        if isinstance(cells, Unusable):
            raise NeedsRecordReader("its header cannot be read")
        if cells:
            self._result.header = cells
            self._in_header = False
        self._line += 1
        self._result.begin(self._line)

    def _is_even(self, data: bytes) -> bool:
        """Whether each line without quotes has as many cells as there are columns."""
        block = np.frombuffer(data, np.uint8)
        ends = block == _LINE_END
        marks = np.flatnonzero(ends | (block == self._separator[0]))
        if len(marks) % self._width:
            return False
        expected = np.zeros(self._width, np.bool_)
        expected[-1] = True
        if not (ends[marks].reshape(-1, self._width) == expected).all():
            return False
        return self._width > 1 or int(np.diff(marks, prepend=-1).min()) > 1

    def _write(self, data: bytes) -> None:
        self._target.write(data)
        count = data.count(b"\n")
        self._result.rows += count
        self._line += count

    def _take_alone(self, line: str) -> None:
        """Write a line that is not a plain row, refuse it, or leave it out if it is empty."""
        cells, table = self._row(line), self._result.table
        try:
            if isinstance(cells, Unusable):
                raise cells
            if cells:
                self._result.short += len(cells) < self._width
                self._write(self._encoded_row(table.fitted(cells)))
                return
        except Unusable as reason:
            self._result.refuse(self._line, str(reason))
        self._line += 1
        self._result.begin(self._line)

    def _row(self, line: str) -> list[str] | Unusable:
        cells = lone_row(line, self._encoding, self._dialect)
        if cells is None or (isinstance(cells, list) and any("\n" in cell for cell in cells)):
            raise NeedsRecordReader(
                f"the quote that opens in line {self._line} is not closed in it"
            )
        return cells

    def _encoded_row(self, cells: list[str]) -> bytes:
        written = (
            quoted(cell) if not cell or self._special.search(cell) else cell for cell in cells
        )
        return (self._dialect.separator.join(written) + "\n").encode()


def _rows(separator: bytes, width: int, without: bytes) -> re.Pattern[bytes]:
    """A pattern for consecutive plain rows; unquoted cells have none of the bytes `without`."""
    between = re.escape(separator)
    bare = rb'[^"\n' + between + without + rb"]*+"
    quoted = rb'"(?:[^"\n' + without + rb']++|"")*+"'
    cell = rb"(?:" + quoted + rb"|" + bare + rb")"
    more = rb"(?:" + between + cell + rb"){%d}" % (width - 1)
    first = rb"(?!\n)" if width == 1 else b""
    return re.compile(rb"(?:" + first + cell + more + rb"\n)*+")


def quoted(cell: str) -> str:
    """A cell in quotes."""
    return '"' + cell.replace('"', '""') + '"'
