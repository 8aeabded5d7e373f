"""The rows of a CSV file, read in blocks, including the lines that are not rows.

A quote that is never closed would swallow the following rows. Quotes are therefore read strictly.
If that fails, the line in which the row begins is examined separately: if its quotes are merely
untidy, it is read as it is; if a quote remains open, it is refused and reading continues after it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from bfsql.errors import SourceError
from bfsql.models.json_values import is_text
from bfsql.sources.fields import Unusable
from bfsql.sources.text import not_text, open_text

Row: TypeAlias = "tuple[int, list[str] | Unusable]"
"""The 1-based number of the line in which a row begins; and its cells, or why it has none."""

_LONGEST = 1 << 24
"""Maximum characters of a row or a cell; a longer one probably has a quote that is never closed."""
_SEPARATORS = ",;\t|"
SEPARATORS = {"tab": "\t", "blank": " "}
"""Names of separators that are hard to write; a blank stands for any number of blanks and tabs."""
_SNIFFED = 100
"""Number of lines by which a dialect is determined."""
_NAMED = re.compile(r"sep=(.)[\r\n]*\Z", re.IGNORECASE)
"""The first line by which Excel names the separator."""
_OPEN = "unexpected end of data"
"""The csv module's message for a quote that is open at the end of the last line."""
_QUOTED = re.compile(r'"[^"]*"')
_WHITE_SPACE = re.compile(r'("[^"]*")|[ \t]+([\r\n]|\Z)?')
"""A quoted text, the end of a line after white space, or white space, which becomes one blank."""


class Dialect(NamedTuple):
    """How the cells of a table are written."""

    separator: str
    skip: int = 0
    """Number of lines before the header."""
    trim: bool = False
    """Whether blanks around cells are ignored."""


def dialect_of(
    path: Path, encoding: str, *, tabs: bool = False, separator: str | None = None
) -> Dialect:
    """The dialect, by the first lines.

    The separator is the one that occurs most in the first line, outside of quotes; of several, the
    one that more lines have. It is white space if the first line has none of them, or a line has no
    tab, and all lines have the same number of words. Comments before the first line are skipped,
    except for a last one that has as many cells as the first line: the header.

    Args:
        path: The file.
        encoding: Its encoding.
        tabs: Whether tabs separate the cells, if there are any.
        separator: The separator that the caller names: a character, or one of `SEPARATORS`.

    Raises:
        SourceError: The named separator is not a single character.
    """
    with open_text(path, encoding) as stream:
        first = stream.readline(_LONGEST)
        if separator is None and (named := _NAMED.match(first)):
            return Dialect(named[1], skip=1)
        lines = [first, *islice(iter(partial(stream.readline, 1 << 16), ""), _SNIFFED)]
    skip = next((at for at, line in enumerate(lines) if not _is_comment(line)), 0)
    rows = [line for line in lines[skip:-1] if line.strip()] or lines[skip:]
    head = _QUOTED.sub("", rows[0])
    held = {one: sum(one in row for row in rows) for one in _SEPARATORS}
    found = max(_SEPARATORS, key=lambda one: (head.count(one), held[one]))
    found = "\t" if tabs and held["\t"] else found
    is_blank = found not in head.strip() or (found == "\t" and held[found] < len(rows))
    if separator is not None:
        found = _character(path, separator)
    elif is_blank and _words(rows) > 1:
        found = " "
    if skip and found != " " and lines[skip - 1][0] == "#":
        skip -= _QUOTED.sub("", lines[skip - 1]).count(found) == head.count(found) > 0
    return Dialect(found, skip)


def _is_comment(line: str) -> bool:
    return line[:1] in {"#", "%"} or (not line.strip() and line != "")


def _words(lines: Sequence[str]) -> int:
    """The number of words in each line; 0 if it differs."""
    numbers = {len(_QUOTED.sub("_", line).split()) for line in lines}
    return numbers.pop() if len(numbers) == 1 else 0


def _character(path: Path, named: str) -> str:
    found = SEPARATORS.get(named, named)
    if len(found) != 1 or found in '"\r\n':
        raise SourceError(
            path,
            f"the separator {named!r} is not a single character: write one, or "
            f"{' or '.join(SEPARATORS)}",
        )
    return found


def is_table(text: str) -> bool:
    """Whether lines of text look like the rows of a table, each with the same number of cells."""
    lines = text.splitlines()
    if not text.endswith("\n"):
        lines = lines[:-1] or lines  # the last one may be incomplete
    lines = [line for line in lines if not _is_comment(line)][:_SNIFFED]
    if not lines or "\0" in text or lines[0].lstrip()[:1] in {"<", "{", "[", "@", "*", ""}:
        return False
    plain = [_QUOTED.sub("_", line) for line in lines]
    numbers = ({line.count(separator) for line in plain} for separator in _SEPARATORS)
    return any(len(each) == 1 and each != {0} for each in numbers) or (
        len(plain) > 1 and _words(plain) > 1
    )


def rows_of(path: Path, encoding: str, dialect: Dialect) -> Iterator[Row]:
    """Every row that is not empty."""
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    rows = _Rows(path, encoding, dialect).read()
    return ((line, _trimmed(cells)) for line, cells in rows) if dialect.trim else rows


def _trimmed(cells: list[str] | Unusable) -> list[str] | Unusable:
    return cells if isinstance(cells, Unusable) else [cell.strip() for cell in cells]


class _Rows:
    """Lines that were read but are not rows yet, and the position of the first of them."""

    def __init__(self, path: Path, encoding: str, dialect: Dialect) -> None:
        self._path, self._encoding, self._dialect = path, encoding, dialect
        self._lines: list[str] = []
        self._number, self._width, self._dirty = 1, 0, False

    def read(self) -> Iterator[Row]:
        """The rows."""
        with open_text(self._path, self._encoding) as stream:
            for _ in range(self._dialect.skip):
                stream.readline(_LONGEST)
                self._number += 1
            rest, ended = "", False
            while not ended:
                block = stream.read(max(1 << 15, len(rest), sum(map(len, self._lines))))
                ended = not block
                rest += block
                whole, rest = (rest, "") if ended else _whole_lines(rest)
                if self._dialect.separator == " " and any(x in whole for x in ("\t", " \n", " \r")):
                    whole = _WHITE_SPACE.sub(
                        lambda m: m[m.lastindex] if m.lastindex else " ", whole
                    )
                self._lines += io.StringIO(whole, newline="")
                self._dirty |= not is_text(whole)
                yield from self._rows(ended=ended)
                if len(rest) > _LONGEST:
                    yield from self._rows(ended=True)
                    reason = f"is longer than {_LONGEST >> 20} million characters"
                    yield self._number, Unusable(f"{reason}; is this a table?")
                    self._number += 1
                    rest = _behind_line(stream)

    def _rows(self, *, ended: bool) -> Iterator[Row]:
        """The rows of the lines; an incomplete last one stays, unless there are no more lines."""
        lines, at = self._lines, 0
        while at < len(lines):
            reader, start, fault = self._reader(lines[at:] if at else lines), at, ""
            try:
                for cells in reader:
                    first, at = at, start + reader.line_num
                    if at - first > 1 and self._swallowed(lines[first:at]):
                        at, fault = first, "a row"
                        break
                    if cells:
                        self._width = self._width or len(cells)
                        yield self._number + first, self._fault(cells) if self._dirty else cells
            except csv.Error as error:
                fault = str(error)
            if fault == _OPEN and not ended and sum(map(len, lines[at:])) <= _LONGEST:
                break
            if fault:
                yield self._number + at, self._alone(lines[at])
                at += 1
        self._number += at
        self._lines = lines[at:]

    def _reader(self, lines: Sequence[str], *, strict: bool = True) -> Any:
        separator = self._dialect.separator
        trim = self._dialect.trim or separator == " "
        return csv.reader(lines, delimiter=separator, skipinitialspace=trim, strict=strict)

    def _swallowed(self, lines: Sequence[str]) -> bool:
        """Whether the lines within a cell look like rows, each with a separator per column."""
        within = lines[1:-1]
        separators, width = self._dialect.separator, self._width
        return len(within) > 1 < width and all(x.count(separators) == width - 1 for x in within)

    def _alone(self, line: str) -> list[str] | Unusable:
        """The cells of a line that is a row by itself; or the reason why it is not a row."""
        try:
            for _ in self._reader([line]):
                pass
        except csv.Error as error:
            if str(error) == _OPEN:
                return Unusable(
                    "opens a quote that is not closed in it, or not at the end of a cell; close "
                    'it, or write it twice ("") if it is part of the text'
                )
        try:
            cells: list[str] = next(self._reader([line], strict=False), [])
        except csv.Error as error:
            return Unusable(f"is not a row of a table ({error})")
        return self._fault(cells) if self._dirty else cells

    def _fault(self, cells: list[str]) -> list[str] | Unusable:
        """The cells, or the fault if they are not text."""
        text = self._dialect.separator.join(cells)  # as the line is written
        if not is_text(text):
            return Unusable(
                not_text(text.encode(self._encoding, "surrogateescape"), self._encoding)
            )
        return cells


def _whole_lines(text: str) -> tuple[str, str]:
    # A carriage return at the end may be the first half of a line end.
    cut = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
    return text[:cut], text[cut:]


def _behind_line(stream: io.TextIOWrapper) -> str:
    """Read on to the next line, and return its part that has been read."""
    while block := stream.read(1 << 22):
        if end := re.search(r"[\r\n]", block):
            return block[end.end() :]
    return ""
