"""The sheets of an Excel workbook (.xlsx, .xlsm) as tables, in memory.

The values are those that Excel saved, also of formulas; errors such as #N/A are empty. A merged
range has its value in each cell. Rows above the header, which is the first row that is half full,
and empty rows and columns are left out; pictures and comments are not read.

The library unpacks a file of any size and makes a rectangle of all cells of a sheet. So it gets a
copy in which cells and texts were counted.
"""

from __future__ import annotations

import datetime as dt
import tempfile
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from bfsql.errors import SourceError
from bfsql.models.json_values import iso_text
from bfsql.sources.files import check_library, faults_of
from bfsql.sources.options import SourceOptions
from bfsql.sources.relational import Column, FileTables, RelationalTable

MOST_BYTES = 1 << 29
"""Most bytes of the unpacked parts together."""
MOST_CELLS = 1 << 24
"""Most cells of all sheets, each from A1 to its last one; those of merged ranges count twice."""


def open_workbook(path: Path, _: SourceOptions | None = None) -> FileTables:
    """The sheets of a workbook that have cells.

    Raises:
        SourceError: The library is not installed; the file is encrypted, damaged or too large, or
            all its sheets are empty.
    """
    check_library(path, "Excel workbooks", "python_calamine", "xlsx")
    import python_calamine as calamine

    damage = (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, expat.ExpatError)
    with faults_of(path), tempfile.TemporaryFile() as copy:
        try:
            extent = _Extent(path)
            _copy(path, copy, extent)
            copy.seek(0)
            book = calamine.CalamineWorkbook.from_filelike(copy)
            names = [
                one.name
                for one in book.sheets_metadata
                if one.typ == calamine.SheetTypeEnum.WorkSheet
            ]
            sheets = [book.get_sheet_by_name(name) for name in names]
        except SourceError:
            raise
        except (*damage, calamine.CalamineError) as error:
            reason = (
                f"is not an Excel workbook, or is encrypted or damaged ({error}); save it again"
            )
            raise SourceError(path, reason) from error
    tables = [_table(path, sheet, extent) for sheet in sheets if sheet.start is not None]
    if not tables:
        raise SourceError(path, "has no sheet with cells; pictures and charts are not read")
    return FileTables(tables)


def _copy(path: Path, copy: IO[bytes], extent: _Extent) -> None:
    """Copy the parts that are XML, texts first, since cells refer to them."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        parts = {one.filename: one for one in source.infolist()}
        names = [name for name in parts if name.endswith((".xml", ".rels"))]
        if (size := sum(parts[name].file_size for name in names)) > MOST_BYTES:
            extent.refuse(f"unpacks to {size:,} bytes, and at most {MOST_BYTES:,} are read")
        for name in sorted(names, key=lambda name: "sharedStrings" not in name):
            with source.open(name) as part, target.open(name, "w") as to:
                extent.count(part, to)


class _Extent:
    """How much room the library needs for a workbook."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cells = self._longest = self._begin = 0

    def refuse(self, reason: str) -> None:
        """Refuse the workbook.

        Raises:
            SourceError: Always.
        """
        cure = (
            "remove far-off, merged and repeated cells, or save its sheets as CSV, and load those"
        )
        raise SourceError(self._path, f"{reason}; {cure}")

    def add_cells(self, number: int) -> None:
        """Count cells; raises as `refuse`."""
        self._cells += number
        if self._cells > MOST_CELLS:
            self.refuse(f"spans more than {MOST_CELLS:,} cells, which are the most that are read")

    def count(self, part: IO[bytes], to: IO[bytes]) -> None:
        """Copy a part, and count its cells and texts; raises as `refuse`."""
        parser = expat.ParserCreate()
        row = last_row = column = last_column = texts = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal row, last_row, column, last_column, texts
            name, place = name.rpartition(":")[2], attributes.get("r")
            if name == "row":
                row, column = int(place or row + 1), 0
                last_row = max(row, last_row)
            elif name == "c":
                column += 1
                if place:  # which need not be in the row that it is in
                    letters = place.rstrip("0123456789")
                    last_row = max(last_row, int(place[len(letters) :]))
                    column = _column(letters)
                last_column = max(column, last_column)
                texts += attributes.get("t") == "s"
            elif name == "si":
                self._begin = parser.CurrentByteIndex
                self.add_cells(1)

        def end(name: str) -> None:
            if name.rpartition(":")[2] == "si":
                self._longest = max(self._longest, parser.CurrentByteIndex - self._begin)

        parser.StartElementHandler, parser.EndElementHandler = start, end
        while chunk := part.read(1 << 16):
            parser.Parse(chunk)
            to.write(chunk)
        parser.Parse(b"", True)  # noqa: FBT003 - it has no name
        self.add_cells(last_row * last_column)
        if (size := texts * self._longest) > 8 * MOST_BYTES:
            self.refuse(f"repeats long texts, up to {size:,} bytes")


@lru_cache(1 << 15)
def _column(letters: str) -> int:
    """The number of a column: 27 for AA."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


def _table(path: Path, sheet: Any, extent: _Extent) -> RelationalTable:
    """The table of a sheet."""
    cells = [[_value(cell) for cell in row] for row in sheet.to_python()]
    merged = sheet.merged_cell_ranges or ()
    first, left = sheet.start
    for (top, begin), (bottom, end) in merged:
        extent.add_cells((bottom - top + 1) * (end - begin + 1))
        if first <= top < first + len(cells) and left <= begin < left + len(cells[0]):
            value = cells[top - first][begin - left]
            for row in cells[top - first : bottom - first + 1]:
                row[begin - left : end - left + 1] = [value] * len(
                    row[begin - left : end - left + 1]
                )
    header = _header(cells[:50])  # a longer preamble is data
    below = [row for row in cells[header + 1 :] if any(cell is not None for cell in row)]
    names: dict[str, int] = {}
    for place, cell in enumerate(cells[header]):
        if cell is not None or any(row[place] is not None for row in below):
            name = f"column_{place + 1}" if cell is None else " ".join(str(cell).split())
            names[f"{name}_{place + 1}" if name in names else name] = place
    notes = (
        [f"each cell of a merged range has its value ({len(merged):,} ranges)"] if merged else []
    )
    if header:
        notes.append(f"left out above the header: {header} rows")
    rows = [tuple(row[place] for place in names.values()) for row in below]
    return RelationalTable(sheet.name, path, [*map(Column, names)], lambda: iter(rows), notes)


def _value(cell: Any) -> Any:
    """A value of the library, which has every number as a float."""
    if type(cell) is str:
        return cell or None
    if type(cell) is float:
        return int(cell) if cell.is_integer() and abs(cell) < 2**53 else cell
    return iso_text(cell) if isinstance(cell, dt.time | dt.timedelta) else cell


def _header(rows: Sequence[Sequence[Any]]) -> int:
    """The place of the first row that is at least half full, with different values."""
    most = max(len({*row} - {None}) for row in rows)
    for place, row in enumerate(rows):
        other = {*row[1:]} - {None, row[0]}  # a title is in one cell, or merged over all
        if most == 1 or (other and 2 * len({*row} - {None}) >= most):
            return place
    return 0
