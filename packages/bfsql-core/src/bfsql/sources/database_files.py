"""The tables and views of SQLite and DuckDB files, read-only and in one state.

Values are what their columns declare: `BOOLEAN`, dates and times in ISO 8601 and `JSON` also in
SQLite, which stores them as numbers and texts. What metadata has no type for is text, and blobs are
left out and counted. A file may be a stranger's: nothing in it may write, load extensions or read
other files, and a view that fails or does not end when the file is opened is left out.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from decimal import Decimal
from functools import partial
from itertools import groupby, repeat
from operator import itemgetter
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any
from weakref import finalize

from bfsql.errors import SourceError
from bfsql.models.json_values import iso_text
from bfsql.sources.files import PACKED, check_library, faults_of
from bfsql.sources.headers import listed
from bfsql.sources.options import SourceOptions
from bfsql.sources.relational import Column, FileTables, ForeignKey, RelationalTable

if TYPE_CHECKING:
    import duckdb

VIEW_STEPS = 2_000_000_000
"""Most steps of SQLite's machine that a view may take: about half a minute."""
VIEW_SECONDS = 30.0
"""Most seconds that a view of DuckDB may take, which counts no steps."""

Batches = Iterator[list[tuple[Any, ...]]]
_STEPS = 10_000
_READY = frozenset({str, int, float, bool, type(None), Decimal, dt.date, dt.datetime})
_NO_BLOB = "CASE typeof({0}) WHEN 'blob' THEN x'' ELSE {0} END"
"""A value of SQLite, without reading a blob, which is left out."""
_SHADOW = re.compile("_(content|data|idx|docsize|config|segments|segdir|stat|node|parent|rowid)")
"""Ends of names of tables in which a virtual table keeps its rows."""
# With a folder for it, DuckDB would write what is too large for memory beside the file.
_DUCKDB_LIMITS = """SET temp_directory = ''; SET memory_limit = '1GB';
SET autoload_known_extensions = false; SET autoinstall_known_extensions = false;
SET enable_external_access = false; SET lock_configuration = true"""
_IN_UTC = "strftime(make_timestamp(epoch_us({})), '%Y-%m-%dT%H:%M:%S.%f+00:00')"
"""A moment, which DuckDB would give in the zone of the machine."""
_DUCKDB_COLUMNS = """SELECT schema_name, table_name, list(column_name ORDER BY column_index),
list(data_type ORDER BY column_index), EXISTS (FROM duckdb_views() v
WHERE v.schema_name = c.schema_name AND view_name = table_name) FROM duckdb_columns() c
WHERE NOT internal AND database_name = current_database() GROUP BY ALL ORDER BY ALL"""
_DUCKDB_KEYS = """SELECT schema_name, table_name, constraint_column_names, referenced_table,
referenced_column_names FROM duckdb_constraints() WHERE constraint_type LIKE '% KEY'"""


def _table(
    path: Path, name: str, columns: Sequence[Column], read: Callable[[], Batches]
) -> RelationalTable:
    """A table whose rows are given as the database has them; its notes count its blobs."""
    notes: list[str] = []
    return RelationalTable(name, path, columns, lambda: _rows(columns, read(), notes), notes)


def _rows(
    columns: Sequence[Column], batches: Batches, notes: list[str]
) -> Iterator[tuple[Any, ...]]:
    blobs = Counter[str]()
    for batch in batches:
        converted = []
        for (name, type_), values in zip(columns, zip(*batch, strict=True), strict=True):
            if bytes in (kinds := {*map(type, values)}):
                blobs[name] += sum(type(value) is bytes for value in values)
            convert = _conversion(type_.upper(), ready=_READY.issuperset(kinds))
            converted.append(values if convert is None else map(convert, values))
        yield from zip(*converted, strict=True)
    found = [f"{n:,} binary values of the column {c!r} were left out" for c, n in blobs.items()]
    notes += (note for note in found if note not in notes)


def _file(
    path: Path, close: Callable[[], None], find: Callable[[list[str]], Sequence[RelationalTable]]
) -> FileTables:
    """The tables that are found; what this adds to a list is said with the first."""
    with ExitStack() as stack:
        stack.callback(close)
        remarks: list[str] = []
        tables = find(remarks)
        if not tables:
            raise SourceError(path, "; ".join(["has no table", *remarks]))
        tables[0].notes[:0] = remarks
        stack.pop_all()
    return FileTables(tables, close)


def _conversion(type_: str, *, ready: bool) -> Callable[[Any], Any] | None:
    """How values of a declared type are read, beyond what the database does."""
    if type_.startswith("BOOL"):
        return lambda value: bool(value) if value in (0, 1) else _plain(value)
    if type_.startswith(("DATE", "TIMESTAMP")):
        return _date
    if type_.startswith("JSON"):
        return _json
    return None if ready else _plain


def _date(value: Any) -> Any:
    """A date or a time of ISO 8601 text; any other value as it is."""
    try:
        if type(value) is str:
            return (dt.date if len(value) <= 10 else dt.datetime).fromisoformat(value)
    except ValueError:
        return value
    return _plain(value)


def _json(value: Any) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(value) if isinstance(value, str) else _plain(value)
    return value


def _plain(value: Any) -> Any:
    """A value as metadata can have it, at any depth."""
    match value:
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case dt.time() | dt.timedelta():
            return iso_text(value)
        case bytes():
            return None
    return value if type(value) in _READY else str(value)


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _check_unpacked(path: Path) -> None:
    if path.suffix.lower() in PACKED:
        raise SourceError(path, "a database is not read from a compressed file; unpack it first")


# --- SQLite ---


def open_sqlite(path: Path, _: SourceOptions | None = None) -> FileTables:
    """The tables of an SQLite file, which stays in a read transaction until it is closed.

    Raises:
        SourceError: It is locked, encrypted, damaged, a graph that bfsql made, or has no table.
    """
    _check_unpacked(path)
    with faults_of(path), path.open("rb") as file:
        head = file.read(100)
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise SourceError(path, "is not an SQLite file, or is encrypted; decrypt it first")
    if head[68:72] == b"BFSQ":  # the application id of a graph
        cure = f"not a source of one; serve it: bfsql serve {path}"
        raise SourceError(path, f"is a graph that bfsql load made, {cure}")
    with _sqlite_faults(path):
        connection = _connected(path, in_wal=head[18] == 2)
        return _file(path, connection.close, lambda notes: _Sqlite(path, connection).tables(notes))


def _connected(path: Path, *, in_wal: bool) -> sqlite3.Connection:
    """A connection that cannot write, in a transaction."""
    place = Path(os.path.realpath(path))
    log = place.with_name(f"{place.name}-wal")
    # SQLite would otherwise make an empty log beside a file that has none.
    rests = "&immutable=1" if in_wal and not (log.exists() and log.stat().st_size) else ""
    connection = sqlite3.connect(
        f"{place.as_uri()}?mode=ro{rests}",
        timeout=2,
        uri=True,
        check_same_thread=False,
        isolation_level=None,
    )
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    connection.execute("BEGIN")
    return connection


class _Sqlite:
    """The tables of a connection, which is closed with the last of them."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        finalize(self, connection.close)

    def _rows(self, query: str, steps: int, *values: str) -> Batches:
        """The rows of a query, which is interrupted after so many steps."""
        left = repeat(0, steps // _STEPS).__next__  # it raises at its end
        with _sqlite_faults(self._path), closing(self._connection.cursor()) as cursor:
            self._connection.set_progress_handler(left, _STEPS)
            cursor.execute(query, values)
            while batch := cursor.fetchmany(1_000):
                yield batch
                self._connection.set_progress_handler(left, _STEPS)

    def _all(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        return [row for batch in self._rows(query, VIEW_STEPS, *values) for row in batch]

    def tables(self, remarks: list[str]) -> list[RelationalTable]:
        """The tables and views, but no virtual tables."""
        found = self._all(
            "SELECT name, type, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_master WHERE type IN "
            r"('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'"
        )
        virtual = [name for name, _, is_virtual in found if is_virtual]
        if virtual:
            remarks.append(f"the virtual tables {listed(virtual)} were left out")
        tables = []
        for name, type_, _ in found:
            if name in virtual or any(_is_shadow(name, one) for one in virtual):
                continue
            try:
                tables.append(self._table(name, is_view=type_ == "view"))
            except SourceError as error:
                if type_ == "table":
                    raise
                remarks.append(f"the view {name!r} was left out: {error.reason}")
        for table in tables:
            table.foreign_keys += self._foreign_keys(table, {t.name.lower(): t for t in tables})
        return tables

    def _table(self, name: str, *, is_view: bool) -> RelationalTable:
        query = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1"
        found = self._all(query, name)
        ((size,),) = self._all(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        )
        # More than a table of this size can take; a damaged one can be endless.
        steps = (size + 100_000) * (len(found) + 20)
        if is_view:
            steps = VIEW_STEPS
            counts = ", ".join(f"count({_quoted(column)})" for column, *_ in found)
            self._all(f"SELECT {counts} FROM {_quoted(name)}")  # noqa: S608 - of names, quoted
        quoted = ((_quoted(column), type_.upper()) for column, type_, _ in found)
        cells = (_NO_BLOB.format(c) if "BLOB" in type_ else c for c, type_ in quoted)
        query = f"SELECT {', '.join(cells)} FROM {_quoted(name)}"  # noqa: S608
        key = tuple(column for place, column in sorted((pk, c) for c, _, pk in found) if place)
        columns = [Column(column, type_) for column, type_, _ in found]
        table = _table(self._path, name, columns, lambda: self._rows(query, steps))
        table.key = key
        return table

    def _foreign_keys(
        self, table: RelationalTable, tables: dict[str, RelationalTable]
    ) -> Iterator[ForeignKey]:
        """The keys; SQLite compares names without case, and the table need not exist."""
        query = 'SELECT id, lower("table"), "from", "to" FROM pragma_foreign_key_list(?)'
        found = self._all(f"{query} ORDER BY id, seq", table.name)
        for (_, name), pairs in groupby(found, itemgetter(0, 1)):
            own, theirs = zip(*(pair[2:] for pair in pairs), strict=True)
            if (other := tables.get(name)) is None:
                continue
            to = other.key if None in theirs else _spelled(other, theirs)
            if len(to) == len(own):
                yield ForeignKey(_spelled(table, own), other.name, to)


def _is_shadow(name: str, virtual: str) -> bool:
    return name.startswith(virtual) and bool(_SHADOW.fullmatch(name[len(virtual) :]))


def _spelled(table: RelationalTable, names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns as the table has them."""
    known = {column.name.lower(): column.name for column in table.columns}
    return tuple(known.get(name.lower(), name) for name in names)


_SQLITE_ERRORS = {
    "locked": "another program is writing to it; close that, or load a copy",
    "interrupted": "a read does not end; save a view as a table, and a damaged file again",
    "unable to open": "it has a log beside it (-wal, -journal), and can only be read in a folder "
    "that this user can write to; copy both files to one, or close the program that writes to it",
    "readonly": "a program that wrote to it was killed; open it once with that, which mends it",
    "": "it cannot be read as a database; is it complete?",
}


@contextmanager
def _sqlite_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:  # its own messages may not be UTF-8
        reason = next(cure for text, cure in _SQLITE_ERRORS.items() if text in str(error))
        raise SourceError(path, f"{reason} ({error})") from error


# --- DuckDB ---


def open_duckdb(path: Path, _: SourceOptions | None = None) -> FileTables:
    """The tables of a DuckDB file; the name of one in another schema than `main` is `schema.table`.

    Raises:
        SourceError: DuckDB is not installed, or is older than the file; the file is open in
            another program, encrypted or damaged, or has no table.
    """
    check_library(path, "DuckDB files", "duckdb", "duckdb")
    _check_unpacked(path)
    import duckdb

    with _duckdb_faults(path):
        connection = duckdb.connect(path, read_only=True)
        is_locked = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
        if is_locked == (False,):  # otherwise it is open in this process already
            connection.execute(_DUCKDB_LIMITS)
        return _file(path, connection.close, lambda notes: _duckdb_tables(path, connection, notes))


def _duckdb_tables(
    path: Path, connection: duckdb.DuckDBPyConnection, remarks: list[str]
) -> list[RelationalTable]:
    tables = {}
    for schema, name, columns, types, is_view in connection.execute(_DUCKDB_COLUMNS).fetchall():
        place = f"{_quoted(schema)}.{_quoted(name)}"
        shown = name if schema == "main" else f"{schema}.{name}"
        reason = _fault_of_view(connection, place) if is_view else None
        if reason is not None:
            remarks.append(f"the view {shown!r} was left out: {reason}")
            continue
        cells = (
            (_IN_UTC if type_ == "TIMESTAMP WITH TIME ZONE" else "{}").format(_quoted(c))
            for c, type_ in zip(columns, types, strict=True)
        )
        query = f"SELECT {', '.join(cells)} FROM {place}"  # noqa: S608 - names, quoted
        read = partial(_duckdb_rows, path, connection, query)
        tables[schema, name] = _table(path, shown, [*map(Column, columns, types)], read)
    for schema, name, columns, target, referred in connection.execute(_DUCKDB_KEYS).fetchall():
        if target is None:
            tables[schema, name].key = tuple(columns)
        else:
            key = ForeignKey(tuple(columns), tables[schema, target].name, tuple(referred))
            tables[schema, name].foreign_keys.append(key)
    return [*tables.values()]


def _duckdb_rows(path: Path, connection: duckdb.DuckDBPyConnection, query: str) -> Batches:
    with _duckdb_faults(path), connection.cursor() as cursor:
        cursor.execute(query)
        while batch := cursor.fetchmany(1_000):
            yield batch


def _fault_of_view(connection: duckdb.DuckDBPyConnection, place: str) -> str | None:
    """Why a view cannot be read to its end, or None."""
    import duckdb

    timer = Timer(VIEW_SECONDS, connection.interrupt)
    timer.start()
    try:
        connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {place}").fetchall()  # noqa: S608
    except duckdb.InterruptException:
        return f"it does not end within {VIEW_SECONDS:.0f} s; save it as a table"
    except duckdb.Error as error:
        return str(error).partition("\n")[0]
    finally:
        timer.cancel()
    return None


_CLOSE = "close the program that has it open, or load a copy"
_DUCKDB_CURES = {
    "Could not set lock": _CLOSE,
    "different configuration": _CLOSE,
    "Cannot open encrypted": "copy it with DuckDB into a file without a key",
    "version number": "install a newer DuckDB: pip install --upgrade duckdb",
    "": "is it complete?",
}


@contextmanager
def _duckdb_faults(path: Path) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        text = str(error).partition("\n")[0]
        cure = next(cure for part, cure in _DUCKDB_CURES.items() if part in text)
        version = f"DuckDB {duckdb.__version__}"
        raise SourceError(path, f"cannot be read with {version} ({text}); {cure}") from error
