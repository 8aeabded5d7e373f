"""Tables of nodes and of edges: CSV, TSV and JSON Lines, one record at a time.

An empty cell has no value. Memory holds one block of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from bfsql.errors import SourceError
from bfsql.models.load import ColumnAccount, SourceAccount
from bfsql.models.records import EdgeRecord, GraphStream, NodeRecord
from bfsql.sources.fields import Unusable, records, texts, value_of
from bfsql.sources.headerless import EDGE_LISTS, RECURRENCE, becomes_of, first_row, looks_like_data
from bfsql.sources.headers import (
    Columns,
    EdgeColumns,
    Neo4jColumn,
    NodeColumns,
    ObjectTable,
    check_each_once,
    columns_of,
    listed,
    neo4j_columns,
)
from bfsql.sources.json_records import keys_of, object_table, objects
from bfsql.sources.options import SourceOptions, option_of
from bfsql.sources.rows import Dialect, dialect_of, rows_of
from bfsql.sources.text import encoding_of

_SAMPLE = 100
"""Number of rows that are inspected before the first is read."""
_DIRECTIONS = frozenset({"directed", "undirected", "mutual", "mixed"})
"""Gephi's values of the column `Type` of edges, in lower case."""
_RELATION = {"directed"}
"""In lower case throughout, this is more likely the relation of a director to a film."""
_KGX = ("knowledge_source", "provided_by", "category")
"""Endings of columns; an edge table of KGX has one of them."""
_SINGLE = frozenset({"name", "description", "iri", "deprecated", "id"})
"""Properties that KGX never writes as several values separated by bars."""


class Head(NamedTuple):
    """The findings from the first rows of a table."""

    columns: list[str]
    """The names of the columns, each once; for JSONL the keys of the first hundred lines."""
    encoding: str
    sample: list[dict[str, Any]]
    """The first rows."""
    dialect: Dialect = Dialect(",")
    notes: Sequence[str] = ()
    path: Path = Path()
    """The path of the file with the header."""
    is_suspect: bool = False
    """Whether the row that was taken as the header looks like data."""

    @property
    def groups(self) -> set[str]:
        """The groups of ids that the header names, in the form of neo4j-admin's import."""
        return {column.group for column in neo4j_columns(self.columns) or () if column.group}

    @property
    def alone(self) -> bool:
        """Whether this is a header of neo4j-admin's import without any rows."""
        return not self.sample and neo4j_columns(self.columns) is not None


def open_table(
    path: Path, head: Head, options: SourceOptions, account: SourceAccount, *, groups: bool = False
) -> AnyTable | GraphStream:
    """The nodes or the edges of a table.

    Args:
        path: The file.
        head: Its head.
        options: Column names and defaults.
        account: Records how the table is read.
        groups: Whether ids are written `group:id` if the header names their group.

    Raises:
        SourceError: The table lacks a required column.
    """
    account.encoding = head.encoding
    if not head.columns:
        return iter(())
    if account.format == "jsonl":
        items = lambda: objects(path, head.encoding)
        table = object_table(path, items, head.sample, options, account, groups=groups)
        _note_groups(account, head, groups=groups)
        if not table.is_mixed:
            _tell(account, head, table.columns)
        return table
    columns = _columns_of(path, head, options, groups=groups)
    check_each_once(path, head.columns)
    account.notes += head.notes
    if isinstance(columns, EdgeColumns) and columns.nodes is not None:
        if not _has_nodes(columns, head):
            columns = replace(columns, nodes=None)
        else:
            account.note("its rows with neither end of an edge are nodes, the others edges")
    if head.path not in (path, Path()):
        account.note(f"its columns are those of {head.path.name}")
    elif head.alone:
        account.note("it contains only a header, which applies to the tables after it")
    _note_groups(account, head, groups=groups)
    account.separator = head.dialect.separator
    have = head.columns
    column = columns.predicate if isinstance(columns, EdgeColumns) else None
    if column and options.predicate_column is None and _tells_direction(column, head.sample):
        have = [name for name in have if name != column]
        columns = columns_of(path, have, options, groups=groups)
        account.note(
            f"the column {column} states whether an edge is directed, and is not a predicate; "
            "undirected edges keep the direction in which they are written"
        )
    return Table(path, head, have, columns, account)


def _note_groups(account: SourceAccount, head: Head, *, groups: bool) -> None:
    if groups and head.groups:
        account.note("its ids are written as group:id, because there are several groups")


def _columns_of(path: Path, head: Head, options: SourceOptions, *, groups: bool) -> Columns:
    """As `columns_of`; if the header may be data, the error says so."""
    proposal = lambda: _proposal(path, head.columns, head.sample)
    try:
        return columns_of(path, head.columns, options, groups=groups, mixed=True, proposal=proposal)
    except SourceError as error:
        rows = [[row.get(column, "") for column in head.columns] for row in head.sample]
        becomes = becomes_of(head.columns, rows)
        reason = f"{error.reason}. If the first row is data, --no-header makes it {becomes}"
        if head.is_suspect:
            reason = (
                f"its first row looks like data, not like the names of its {len(head.columns)} "
                f"columns: {listed(head.columns)}. Add --no-header, which makes it {becomes}, and "
                "give columns by their numbers, for instance --id-column 1, or --subject-column 1 "
                "--object-column 2; or name all of them: --columns subject,predicate,object,since"
            )
        raise SourceError(path, reason) from error


def _proposal(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    """The options for the column that can be ids in these rows, and for columns of such ids."""
    unique = [
        column
        for column in columns
        if len({row.get(column) for row in rows} - {None}) == len(rows) > 1
        and not any(isinstance(value_of(row[column]), float) for row in rows)
    ]
    if not unique:
        return ""
    id_ = next((column for column in unique if column.casefold().endswith("id")), unique[0])
    ids, references = {row[id_] for row in rows}, list[str]()
    for column in columns:
        cells = [row[column] for row in rows if row.get(column, row[id_]) != row[id_]]
        parts = {part for cell in cells for part in texts(cell, column)}
        is_number = all(map(str.isdecimal, cells))  # may be an id by chance
        if column != id_ and not is_number and 2 * len(parts & ids) >= len(parts) > 0:
            references.append(column)
    named = [option_of("id_column", f"{path.name}={id_}")]
    named += [option_of("edge_column", column) for column in references]
    holds = f", and {listed(references)} has such values" if references else ""
    return (
        f"For a table of nodes add {' '.join(named)}, because {id_} has another value in each of "
        f"the first rows{holds}; for a table of edges name --subject-column and --object-column"
    )


def _has_nodes(columns: EdgeColumns, head: Head) -> bool:
    """Whether some of the rows are nodes, as in APOC's export of a whole graph."""
    ends = columns.subject, columns.object
    if {end.strip().casefold() for end in ends} == {"_start", "_end"}:
        return True
    return any(columns.is_node(*map(row.get, ends)) for row in head.sample)


def read_table(
    path: Path, options: SourceOptions, account: SourceAccount
) -> AnyTable | GraphStream:
    """The nodes or the edges of a table by itself; errors as with `head_of` and `open_table`."""
    return open_table(path, head_of(path, account.format, options), options, account)


def head_of(
    path: Path,
    format_: str,
    options: SourceOptions,
    header: Head | None = None,
    *,
    numbers_repeats: bool = False,
) -> Head:
    """The columns of a table and its first rows.

    Args:
        path: The file.
        format_: `csv`, `tsv` or `jsonl`.
        options: Only `encoding` is used.
        header: The header from a preceding header-only file; it applies to this table unless
            the table begins with its own.
        numbers_repeats: Whether a column that occurs twice gets a number, `id_2`, and is no error.

    Raises:
        SourceError: There are no columns, one occurs twice, none of the first lines is JSON, or
            the text is not in its encoding. An empty JSONL file has no columns.
    """
    encoding = encoding_of(path, options.encoding)
    if format_ == "jsonl":
        return _keys(path, encoding)
    if header is not None and (head := _continued(path, encoding, header)) is not None:
        return head
    dialect = dialect_of(path, encoding, tabs=format_ == "tsv", separator=options.separator)
    names, *rows = _first_rows(path, encoding, dialect, _SAMPLE) or [[]]
    if len(rows) == _SAMPLE and len(names) in EDGE_LISTS:
        rows = _first_rows(path, encoding, dialect, RECURRENCE)[1:]
    if not any(names):
        reason = "the first line of a table has to name its columns, but here it is empty"
        raise SourceError(path, reason)
    notes = list[str]()
    if any(name != name.strip() for name in names[1:]):
        dialect = dialect._replace(trim=True)
    elif column := _indented(names, rows):
        dialect = dialect._replace(trim=True)
        notes = [f"blanks around cells are removed, because those of {column} begin with one"]
    if dialect.trim:
        names, *rows = [[cell.strip() for cell in cells] for cells in (names, *rows)]
    own_names, note = first_row(path, names, rows, options)
    notes += [note] * bool(note)
    if own_names is not None:
        return Head(own_names, encoding, _sample(own_names, [names, *rows]), dialect, notes)
    suspect = looks_like_data(names, rows)
    names = _numbered(names) if numbers_repeats else names
    columns = _columns(path, names, notes, suspect=suspect)
    return Head(columns, encoding, _sample(columns, rows), dialect, notes, path, suspect)


def _continued(path: Path, encoding: str, header: Head) -> Head | None:
    """The head of a table whose columns are those of an earlier file; None if it has its own."""
    dialect = header.dialect._replace(skip=0)
    first = _first_rows(path, encoding, dialect, _SAMPLE)
    if not first or len(first[0]) != len(header.columns) or neo4j_columns(first[0]) is not None:
        return None
    sample = _sample(header.columns, first)
    return header._replace(encoding=encoding, sample=sample, dialect=dialect)


def _sample(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    return [_named(columns, cells) for cells in rows[:_SAMPLE]]


def _indented(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """A column, not the first, nine tenths of whose cells begin with a blank."""
    for at, name in enumerate(names[1:], 1):
        cells = [row[at] for row in rows if len(row) > at and row[at]]
        blank = sum(cell[0] == " " for cell in cells)
        if cells[2:] and blank * 10 >= len(cells) * 9:
            return name
    return None


def _first_rows(path: Path, encoding: str, dialect: Dialect, most: int) -> list[list[str]]:
    first = [*islice(rows_of(path, encoding, dialect), most + 1)]
    if first and isinstance(first[0][1], Unusable):
        raise SourceError(path, str(first[0][1]), first[0][0])
    return [cells for _, cells in first if isinstance(cells, list)]


def _numbered(names: Sequence[str]) -> list[str]:
    """The names, with a number behind each that occurs again."""
    seen, found = Counter[str](), list[str]()
    for name in names:
        seen[name] += 1
        found.append(f"{name}_{seen[name]}" if name and seen[name] > 1 else name)
    return found


def _columns(path: Path, names: Sequence[str], notes: list[str], *, suspect: bool) -> list[str]:
    """The columns of a header; adds a note on those without a name."""
    names = [name.strip().removeprefix("\ufeff") for name in names]
    names = [names[0].removeprefix("#").strip(), *names[1:]]
    columns = [name or f"column_{number}" for number, name in enumerate(names, 1)]
    if not suspect:  # otherwise an error on missing columns comes first, since it says more
        check_each_once(path, columns, line=1)
    unnamed = [column for column, name in zip(columns, names, strict=True) if not name]
    noun = "columns have no name and are" if unnamed[1:] else "column has no name and is"
    notes += [f"{len(unnamed):,} {noun} called {listed(unnamed)}"] * bool(unnamed)
    return columns


def _named(columns: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    return {column: cell for column, cell in zip(columns, cells, strict=False) if cell}


def _keys(path: Path, encoding: str) -> Head:
    found = [*islice(objects(path, encoding), _SAMPLE)]
    sample = [item for _, item in found if not isinstance(item, Unusable)]
    if found and not sample:
        line, fault = found[0]
        raise SourceError(path, f"{fault}; a JSONL file has one object per line", line)
    return Head(keys_of(sample), encoding, sample)


def _tell(account: SourceAccount, head: Head, columns: Columns) -> None:
    """Enter the columns into the account."""
    rows = reversed(head.sample)
    firsts = {name: value for row in rows for name, value in row.items() if value is not None}
    meanings = columns.meanings
    if isinstance(columns, EdgeColumns) and columns.nodes is not None:
        meanings = columns.nodes.meanings | meanings
    for column in head.columns:
        meaning = meanings.get(column, "metadata")
        example = str(firsts[column]) if column in firsts else None
        account.columns.append(ColumnAccount(column, meaning, example))
    account.empty_texts.append(columns.empty_texts)


def _tells_direction(column: str, sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether this is Gephi's column for the direction of edges."""
    told = {row[column] for row in sample if column in row}
    if column.casefold() != "type" or told in (set(), _RELATION):
        return False
    return {text.casefold() for text in told} <= _DIRECTIONS


Field: TypeAlias = tuple[int, str, Callable[[str], Any]]
"""A column of metadata: its position among the cells of a row, from 0, its key, and the conversion
of cells that are not empty."""


class Table:
    """The table in a CSV file, and its records; columns that are not in `have` are ignored.

    Attributes:
        path: The file.
        head: Its head.
        columns: The meaning of the columns.
        account: The account of the file.
        fields: The columns of metadata.
    """

    def __init__(
        self, path: Path, head: Head, have: Sequence[str], columns: Columns, account: SourceAccount
    ) -> None:
        self._have = have
        self.path = path
        self.head = head
        self.columns = columns
        self.account = account
        _tell(account, head, columns)
        self.fields = self._fields(have, columns)

    def _fields(self, have: Sequence[str], columns: Columns) -> list[Field]:
        """The columns of metadata; enters those that are ignored into the account."""
        header, meanings = neo4j_columns(self.head.columns), columns.meanings
        parsed: Sequence[Neo4jColumn | None] = header or [None] * len(self.head.columns)
        default = _split if _is_kgx(self.head.columns, columns) else value_of
        fields, kept = list[Field](), set(have)
        for place, (told, neo4j) in enumerate(zip(self.account.columns, parsed, strict=True)):
            if told.name in meanings:
                continue
            is_id = neo4j is not None and neo4j.kind == "id"  # of an edge
            if told.name not in kept or (neo4j is not None and neo4j.special and not is_id):
                if told.meaning == "metadata":
                    told.meaning = "ignored"
            elif neo4j is not None:
                fields.append((place, neo4j.name or "id", neo4j.value(value_of)))
            else:
                fields.append((place, told.name, value_of if told.name in _SINGLE else default))
        return fields

    def records(self) -> GraphStream:
        """The records, and refusals of rows that cannot be used."""
        width, record, short = len(self.head.columns), self.maker(), 0

        def make(cells: list[str]) -> tuple[NodeRecord | EdgeRecord]:
            nonlocal short
            if len(cells) != width:
                short += len(cells) < width
                cells = self.fitted(cells)
            return (record(cells),)

        yield from records(self.path, self._rows(self.tell_header), make)
        self.tell_short(short)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The cells that are not empty, by column, of every row that can be read."""
        rows = self._rows(lambda _: None)
        return (_named(self.head.columns, cells) for _, cells in rows if isinstance(cells, list))

    @property
    def has_header(self) -> bool:
        """Whether the first row names the columns."""
        return self.head.path == self.path

    def place(self, column: str) -> int:
        """The position of a column among the cells of a row, from 0."""
        return self.head.columns.index(column)

    def tell_header(self, line: int) -> None:
        """Note in the account that a line was left out."""
        self.account.note(f"line {line} repeats the header and was left out")

    def tell_short(self, count: int) -> None:
        """Note in the account how many rows are short, if any."""
        if count:
            have = "1 row has" if count == 1 else f"{count:,} rows have"
            self.account.note(f"{have} fewer cells than the table has columns")

    def _rows(self, skip: Callable[[int], object]) -> Iterator[tuple[int, list[str] | Unusable]]:
        """The rows after the header; `skip` is called with the line of each repeated header."""
        rows = rows_of(self.path, self.head.encoding, self.head.dialect)
        if not self.has_header:
            yield from rows
            return
        _, header = next(rows)
        for line, cells in rows:
            if cells == header:
                skip(line)
            else:
                yield line, cells

    def fitted(self, cells: list[str]) -> list[str]:
        """The cells of a row, as many as there are columns.

        Raises:
            Unusable: There are more cells, and not all of the extra ones are empty.
        """
        width = len(self.head.columns)
        if any(cells[width:]):
            raise Unusable(f"has {len(cells)} cells, but the table {width} columns")
        return (cells + [""] * (width - len(cells)))[:width]

    def maker(self) -> Callable[[Sequence[str]], NodeRecord | EdgeRecord]:
        """A function from the cells of a row to its record; it raises `Unusable`."""
        columns = self.columns
        make_edge = self._maker(columns, self.fields)
        if not isinstance(columns, EdgeColumns) or columns.nodes is None:
            return make_edge
        subject, object_ = self.place(columns.subject), self.place(columns.object)
        make_node = self._maker(columns.nodes, self._fields(self._have, columns.nodes))

        def make(cells: Sequence[str]) -> NodeRecord | EdgeRecord:
            is_node = columns.is_node(cells[subject], cells[object_])
            return make_node(cells) if is_node else make_edge(cells)

        return make

    def _maker(
        self, columns: Columns, fields: Sequence[Field]
    ) -> Callable[[Sequence[str]], NodeRecord | EdgeRecord]:
        make, names = columns.record_of, columns.roles
        # A column that the table lacks is the None after the cells.
        roles = itemgetter(*(-1 if name is None else self.place(name) for name in names))

        def record(cells: Sequence[str]) -> NodeRecord | EdgeRecord:
            metadata = {key: convert(cells[at]) for at, key, convert in fields if cells[at]}
            return make(roles((*cells, None)), metadata)

        return record


AnyTable: TypeAlias = Table | ObjectTable
"""A table whose records can be read any number of times."""


def _is_kgx(have: Sequence[str], columns: Columns) -> bool:
    """Whether this is a KGX table, whose cells hold several values separated by bars."""
    if isinstance(columns, NodeColumns):
        return columns.type == "category"
    return columns.meanings.keys() >= {"subject", "predicate", "object"} and any(
        column.endswith(_KGX) for column in have
    )


def _split(cell: str) -> Any:
    return [part for part in cell.split("|") if part] if "|" in cell else value_of(cell)
