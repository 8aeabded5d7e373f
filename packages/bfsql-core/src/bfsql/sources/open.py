"""From a path to its records: determine the format, check everything possible, read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphStream, NodeRecord, Refusal
from bfsql.sources.files import Stamp, check_unchanged, faults_of, stamp
from bfsql.sources.headers import EdgeColumns, has_column, listed, named_columns
from bfsql.sources.id_columns import TypedEnds, reference_edges, typed_ends, with_unique_ids
from bfsql.sources.keys import TableReading
from bfsql.sources.options import EDGE_OPTIONS, NO_OPTIONS, NODE_OPTIONS, SourceOptions, option_of
from bfsql.sources.parquet import ParquetTable
from bfsql.sources.rdf import RdfStream, prefixes_of, read_together
from bfsql.sources.registry import format_of, graph_files, known_formats, note_on_name
from bfsql.sources.related_tables import RelatedTables, related_tables
from bfsql.sources.tables import AnyTable, Head, head_of, open_table

_TABLES = frozenset({"csv", "tsv", "jsonl"})
_ARANGO = ("_from", "_to")
RDF = frozenset({"turtle", "ntriples", "nquads", "trig", "rdfxml", "jsonld"})
"""The RDF formats."""


def open_source(path: Path | str, options: SourceOptions = NO_OPTIONS) -> GraphStream:
    """The records of one graph file or bundle, read on demand.

    A line that cannot be used is yielded as a `Refusal`, and reading continues. The
    file is closed with the stream.

    Args:
        path: A file, or the folder of a kgraph bundle.
        options: Options for what the file does not declare itself.

    Raises:
        SourceError: The path does not exist, has no known format, lacks a required
            column or part, or needs an extra that is not installed: all these are
            raised before the first record. Faults that only appear during reading,
            such as damaged gzip or broken XML, are raised later.
    """
    return read_all([path], options)


class Source(NamedTuple):
    """A graph file that is open for reading, once."""

    account: SourceAccount
    """How it is read; its counts are complete after the last record."""
    records: GraphStream
    table: AnyTable | None = None
    """The table behind the records, if there is only one and its file is read in place. The
    table's own records are not counted in the account.
    """
    stamp: Stamp | None = None
    """The stamp of the table's file before reading."""
    origin: Path = Path()
    """The path by which it was given: its own, or that of its folder."""
    references: GraphStream | None = None
    """Edges that columns of the table of nodes refer to, to be read after its records."""
    reading: TableReading | None = None
    """How the table was read, if it is one of several that refer to each other."""
    ends: TypedEnds | None = None
    """Nodes at the ends of the table's edges, for loads that create nodes, to be read after its
    records; they are not counted in the account."""
    rdf: RdfStream | None = None
    """The records of an RDF file, some of which depend on other files."""
    close: Callable[[], None] = lambda: None
    """Closes what remains open after its records were read, since they can be read again."""


def read_all(paths: Sequence[Path | str], options: SourceOptions = NO_OPTIONS) -> GraphStream:
    """The records of several files as one graph; arguments and errors as in `open_sources`."""
    sources = open_sources(paths, options)
    read_together(one.rdf for one in sources)
    return chain.from_iterable(chain(one.records, one.references or ()) for one in sources)


def open_sources(
    paths: Sequence[Path | str], options: SourceOptions = NO_OPTIONS, *, related: bool = True
) -> list[Source]:
    """Several files that form one graph, in the order of the paths.

    Tables that refer to each other are read by their keys, unless options name columns.

    At least one of the tables must have each column that the options name.
    RDF files share their prefixes, so that an IRI has the same id in all of them.
    A file with only a header in neo4j-admin's form provides the header of the
    following tables without one.

    Args:
        paths: Files and bundle folders, of the same or of different formats.
        options: Options for what the files do not declare themselves; they apply to all.
        related: Whether tables may be read by their keys.

    Raises:
        SourceError: As with `open_source`, for any of the files, before the
            first record of the first.
    """
    if related and (found := related_tables([*map(Path, paths)], options)) is not None:
        return _related(found)
    errors = _Errors()
    inputs = [one for path in map(Path, paths) for one in _inputs(path, options, errors)]
    inputs = [*{(one.path, one.origin): one for one in inputs}.values()]
    heads = _heads(inputs, options, errors)
    columns = _columns(inputs, heads, errors)
    if not errors.found:
        _check_named_columns(inputs, columns, options)
    groups = len(set().union(*(head.groups for head in heads.values()))) > 1
    inputs = [given for given in inputs if str(given.path) not in errors.found]
    if options.prefixes is not None:
        options = replace(options, prefixes=_prefixes(inputs, options))
    collections = _collections(heads)
    opened: list[tuple[_Input, SourceAccount, AnyTable | GraphStream]] = []
    for given in inputs:
        account = SourceAccount(str(given.path), given.format, notes=[*given.notes])
        have, head = columns.get(given.path), heads.get(given.path)
        own = _own_options(given, have, options, account, collections)
        with errors.of(given.path), _unused(given, have, options, account) as tell:
            if head is not None:
                records = open_table(given.path, head, own, account, groups=groups)
            else:
                records = known_formats()[given.format].read(given.path, own, account)
            tell(records)
            opened.append((given, account, records))
    errors.check()
    every = [column.name for _, account, _ in opened for column in account.columns]
    for column in options.edge_columns:
        if not has_column(every, column):
            names = ", ".join(account.name for _, account, _ in opened)
            raise _no_column(names, "edge_columns", column, [*dict.fromkeys(every)])
    alone = all(
        isinstance(one, AnyTable) and isinstance(one.columns, EdgeColumns) and not one.columns.nodes
        for *_, one in opened
    )
    return [_source(*one, options, alone=alone) for one in opened]


def _source(
    source: _Input,
    account: SourceAccount,
    opened: AnyTable | GraphStream,
    options: SourceOptions,
    *,
    alone: bool,
) -> Source:
    if not isinstance(opened, AnyTable):
        rdf = opened if isinstance(opened, RdfStream) else None
        return Source(account, _read(source, opened, account), origin=source.origin, rdf=rdf)
    options = options.of_file(source.path.name)
    references = reference_edges(opened, account, options)
    ends = typed_ends(opened, account, options, alone=alone)
    return Source(
        account,
        _read(source, with_unique_ids(opened), account),
        opened,
        source.stamp,
        source.origin,
        None if references is None else _read(source, references, account),
        ends=ends,
    )


def _related(tables: RelatedTables) -> list[Source]:
    """The sources of tables that refer to each other; the last one has all references."""
    sources = []
    for one in tables.readings:
        path, kind = one.table.path, one.table.path.suffix.lstrip(".")
        account = SourceAccount(f"{path}" if one.is_alone else f"{path}: {one.table.name}", kind)
        account.by_keys = True
        if one.kind == "left out":
            account.note("left out")
            sources.append(Source(account, iter(()), origin=path, reading=one))
            continue
        given = _Input(path, kind, stamp(path), path)
        table = tables.table(one, account)
        records = _read(given, table.records(), account)
        sources.append(Source(account, records, table, given.stamp, path, reading=one))
    references = (tables.references(one.reading, one.account) for one in sources if one.reading)
    every = chain.from_iterable(references)
    return [*sources[:-1], sources[-1]._replace(references=every, close=tables.close)]


class _Input(NamedTuple):
    """An input to be read."""

    path: Path
    """The path of the file or folder."""
    format: str
    stamp: Stamp | None
    """The stamp of a file before reading."""
    origin: Path
    """The path by which it was given."""
    notes: tuple[str, ...] = ()
    """Sentences for its account."""


def _inputs(path: Path, options: SourceOptions, errors: _Errors) -> Iterator[_Input]:
    """The input at a path; of a folder without a format of its own, its graph files."""
    inside = None
    with errors.of(path):
        if os.path.isdir(path):  # noqa: PTH112 - it raises nothing
            inside = graph_files(path, options.format)
    files, notes = inside or ([path], ())
    for file in files:
        with errors.of(file):
            format_ = format_of(file, options.format)
            with faults_of(file):
                before = stamp(file) if file.is_file() else None
            if before is not None and not before[1]:
                notes = (*notes, "it is empty")
            if options.format is None:
                notes = (*notes, *note_on_name(file, format_))
            yield _Input(file, format_, before, path, notes)
        notes = ()


class _Errors:
    """The errors of several files, so that all of them can be reported.

    Attributes:
        found: The first error of each file, by its path.
    """

    def __init__(self) -> None:
        self.found: dict[str, SourceError] = {}

    @contextmanager
    def of(self, path: Path) -> Iterator[None]:
        """Keep an error that is raised."""
        try:
            with faults_of(path):
                yield
        except SourceError as error:
            self.found.setdefault(str(path), error)

    def check(self) -> None:
        """Raise what was kept.

        Raises:
            SourceError: There is an error; of several, each in a line.
        """
        if self.found:
            first, *others = self.found.values()
            reasons = "\n".join([first.reason, *map(str, others)])
            raise SourceError(first.path, reasons, first.line) if others else first


def _read(source: _Input, records: GraphStream, account: SourceAccount) -> GraphStream:
    """The records, counted."""
    with faults_of(source.path):
        for record in records:
            match record:
                case NodeRecord():
                    account.nodes += 1
                case EdgeRecord():
                    account.edges += 1
                case EvidenceRecord():
                    account.evidence += 1
                case Refusal():
                    account.refused += 1
            yield record
        if source.stamp is not None:
            check_unchanged([(source.path, source.stamp)])
    account.note_empty_texts()


def _heads(inputs: Sequence[_Input], options: SourceOptions, errors: _Errors) -> dict[Path, Head]:
    """The heads of the tables; a header in its own file applies to the tables after it."""
    heads: dict[Path, Head] = {}
    header: Head | None = None
    for given in inputs:
        if given.format in _TABLES:
            with errors.of(given.path):
                own = options.of_file(given.path.name)
                heads[given.path] = head = head_of(given.path, given.format, own, header)
                if head.alone or head.path == given.path:
                    header = head if head.alone else None
    return heads


def _columns(
    inputs: Sequence[_Input], heads: Mapping[Path, Head], errors: _Errors
) -> dict[Path, list[str]]:
    """The columns of the tables."""
    columns = {path: head.columns for path, head in heads.items()}
    for given in (one for one in inputs if one.format == "parquet"):
        with errors.of(given.path):
            table = ParquetTable(given.path, SourceAccount(str(given.path), given.format))
            columns[given.path] = table.names
    return columns


def _check_named_columns(
    inputs: Sequence[_Input], columns: Mapping[Path, list[str]], options: SourceOptions
) -> None:
    if not columns:
        return
    for given in inputs:
        have = columns.get(given.path, [])
        for option, column in options.of_files.get(given.path.name, {}).items():
            if option in {*NODE_OPTIONS, *EDGE_OPTIONS} and column and not has_column(have, column):
                raise _no_column(str(given.path), option, column, have)
    names = {given.path.name.casefold() for given in inputs}
    wanted = [*named_columns(options).items()]
    wanted += [("id_prefix", key) for key in options.id_prefixes if key.casefold() not in names]
    every = [*dict.fromkeys(chain.from_iterable(columns.values()))]
    for option, column in wanted:
        if not any(has_column(have, column) for have in columns.values()):
            tables = ", ".join(str(given.path) for given in inputs if given.path in columns)
            raise _no_column(tables, option, column, every)


def _no_column(table: str, option: str, column: str, have: Sequence[str]) -> SourceError:
    return SourceError(
        table, f"there is no column {column!r} ({option}); the columns are: {listed(have)}"
    )


def _own_options(
    source: _Input,
    columns: Sequence[str] | None,
    options: SourceOptions,
    account: SourceAccount,
    collections: Collection[str],
) -> SourceOptions:
    """The options for a source: without columns that only other tables have."""
    options = options.of_file(source.path.name)
    without: dict[str, Any] = dict.fromkeys(_others(columns, options))
    own, collection = replace(options, **without), source.path.name.partition(".")[0]
    if columns and collection in collections and "_key" in columns and "_id" not in columns:
        own = replace(own, id_prefixes={"_key": f"{collection}/"} | dict(own.id_prefixes))
        account.note(f"its ids are written as {collection}/_key, as they are at the ends of edges")
    return own


def _others(columns: Sequence[str] | None, options: SourceOptions) -> dict[str, Any]:
    """The columns that the options name and a table lacks, by option."""
    named = named_columns(options) if columns is not None else {}
    return {name: one for name, one in named.items() if not has_column(columns or (), one)}


@contextmanager
def _unused(
    source: _Input, columns: Sequence[str] | None, options: SourceOptions, account: SourceAccount
) -> Iterator[Callable[[AnyTable | GraphStream], None]]:
    """Say which options do not apply to a table: in an error on its columns, or by the result."""
    others = {name: option_of(name, one) for name, one in _others(columns, options).items()}

    def tell(opened: AnyTable | GraphStream) -> None:
        if isinstance(opened, AnyTable) and isinstance(opened.columns, EdgeColumns):
            for name in (name for name in EDGE_OPTIONS if name in others):
                account.note(f"{others[name]} does not apply to it, which has no such column")

    try:
        yield tell
    except SourceError as error:
        if not others:
            raise
        reason = f"{error.reason}; {', '.join(others.values())} applies only to other tables"
        raise SourceError(source.path, reason, error.line) from error


def _collections(heads: Mapping[Path, Head]) -> set[str]:
    """The collections that the ends of ArangoDB's edges name."""
    ends = (row.get(end) for head in heads.values() for row in head.sample for end in _ARANGO)
    return {end.partition("/")[0] for end in ends if isinstance(end, str) and "/" in end}


def _prefixes(inputs: Sequence[_Input], options: SourceOptions) -> dict[str, str]:
    found = dict(options.prefixes or {})
    for given in inputs:
        if given.format in RDF:
            with faults_of(given.path):
                declared = prefixes_of(given.path, given.format, options.encoding)
            found |= {prefix: declared[prefix] for prefix in declared if prefix not in found}
    return found
