"""The same tables as a folder of CSV or Parquet, and as a file of SQLite, DuckDB or Excel."""

import csv
import datetime as dt
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bfsql_test_support.northwind import Table

_SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def _csv(folder: Path, tables: Mapping[str, Table]) -> Path:
    folder.mkdir()
    for name, table in tables.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*table.rows[0]])
            writer.writeheader()
            writer.writerows(table.rows)
    return folder


def _parquet(folder: Path, tables: Mapping[str, Table]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    for name, table in tables.items():
        pq.write_table(pa.Table.from_pylist([*table.rows]), folder / f"{name}.parquet")
    return folder


def _statements(tables: Mapping[str, Table]) -> Iterable[tuple[str, list[list[Any]]]]:
    """For each table its definition with keys, and its rows; referenced tables first."""
    types: dict[type, str] = {int: "INTEGER", float: "DOUBLE", bool: "BOOLEAN"}
    types |= {dt.date: "DATE", dt.datetime: "TIMESTAMP"}
    for name, table in tables.items():
        values = {c: [row[c] for row in table.rows] for c in table.rows[0]}
        kinds = {c: next((type(v) for v in of if v is not None), str) for c, of in values.items()}
        parts = [f'"{c}" {types.get(kind, "VARCHAR")}' for c, kind in kinds.items()]
        parts.append("PRIMARY KEY ({})".format(", ".join(f'"{c}"' for c in table.key)))
        parts += [
            f'FOREIGN KEY ("{c}") REFERENCES "{of}"' for c, (of, _) in table.references.items()
        ]
        rows = sorted(
            ([*map(_stored, row.values())] for row in table.rows), key=lambda row: None not in row
        )
        yield f'CREATE TABLE "{name}" ({", ".join(parts)})', rows  # the top of a hierarchy first


def _stored(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


def _sqlite(path: Path, tables: Mapping[str, Table]) -> Path:
    return _database(
        sqlite3.connect(path.with_suffix(".sqlite")), path.with_suffix(".sqlite"), tables
    )


def _duckdb(path: Path, tables: Mapping[str, Table]) -> Path:
    import duckdb

    return _database(
        duckdb.connect(path.with_suffix(".duckdb")), path.with_suffix(".duckdb"), tables
    )


def _database(connection: Any, path: Path, tables: Mapping[str, Table]) -> Path:
    with closing(connection):
        for name, (definition, rows) in zip(tables, _statements(tables), strict=True):
            connection.execute(definition)
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
        connection.commit()
    return path


def _xlsx(path: Path, tables: Mapping[str, Table]) -> Path:
    sheets = {n: [[*t.rows[0]], *([*row.values()] for row in t.rows)] for n, t in tables.items()}
    return workbook(path.with_suffix(".xlsx"), {name: sheet(rows) for name, rows in sheets.items()})


WRITERS: Mapping[str, Callable[[Path, Mapping[str, Table]], Path]] = {
    "csv": _csv,
    "parquet": _parquet,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "xlsx": _xlsx,
}
"""Each writes tables beside a path, with the ending of its kind, and returns what it made."""


def sheet(rows: Sequence[Sequence[Any]], more: str = "") -> str:
    """A sheet of numbers, Booleans, texts and dates (style 1); None is an empty cell.

    Args:
        rows: From the first row on.
        more: XML after the cells, such as that of merged ones.
    """

    def cell(value: Any) -> str:
        match value:
            case None:
                return "<c/>"
            case bool():
                return f'<c t="b"><v>{value:d}</v></c>'
            case dt.datetime():
                days = (value - dt.datetime(1899, 12, 30)) / dt.timedelta(days=1)  # noqa: DTZ001
                return f'<c s="2"><v>{days!r}</v></c>'
            case dt.date():
                return f'<c s="1"><v>{(value - dt.date(1899, 12, 30)).days}</v></c>'
            case int() | float():
                return f"<c><v>{value!r}</v></c>"
        return f'<c t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'

    written = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    return f"<sheetData>{written}</sheetData>{more}"


DATES = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs>'
"""Styles of which 1 is that of dates, 2 that of dates with a time."""


def workbook(path: Path, sheets: Mapping[str, str], texts: str = "", styles: str = DATES) -> Path:
    """An Excel workbook.

    Args:
        path: Its place.
        sheets: Name to XML, as of `sheet`.
        texts: XML of the texts that cells refer to.
        styles: XML of the number formats.
    """
    parts = {
        f"worksheets/sheet{n}.xml": ("worksheet", xml) for n, xml in enumerate(sheets.values())
    }
    parts |= {"sharedStrings.xml": ("sst", texts), "styles.xml": ("styleSheet", styles)}
    named = [f'<sheet name="{escape(n)}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(sheets)]
    kinds = ["worksheet"] * len(sheets) + ["sharedStrings", "styles"]
    links = [
        f'<Relationship Id="r{n}" Type="{_OFFICE}/{kind}" Target="{part}"/>'
        for n, (kind, part) in enumerate(zip(kinds, parts, strict=True))
    ]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", f'<Types xmlns="{_PACKAGE}/content-types"/>')
        of = f'<Relationship Id="b" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        for place, inside in (("_rels/.rels", of), ("xl/_rels/workbook.xml.rels", "".join(links))):
            xml = f'<Relationships xmlns="{_PACKAGE}/relationships">{inside}</Relationships>'
            file.writestr(place, xml)
        begin = f'<workbook xmlns="{_SPREADSHEET}" xmlns:r="{_OFFICE}"><sheets>'
        file.writestr("xl/workbook.xml", f"{begin}{''.join(named)}</sheets></workbook>")
        for part, (root, xml) in parts.items():
            file.writestr(f"xl/{part}", f'<{root} xmlns="{_SPREADSHEET}">{xml}</{root}>')
    return path
