"""From a path to its records: determine the format, check everything possible, read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphStream, NodeRecord, Refusal
from bfsql.sources.files import Stamp, check_unchanged, faults_of, stamp
from bfsql.sources.formats import NO_OPTIONS, SourceOptions
from bfsql.sources.headers import has_column, listed, named_columns
from bfsql.sources.id_columns import with_unique_ids
from bfsql.sources.parquet import ParquetTable
from bfsql.sources.pipes import Copy, format_of_pipe, is_pipe, name_of
from bfsql.sources.registry import format_of, known_formats
from bfsql.sources.tables import AnyTable, Head, head_of, open_table

_TABLES = frozenset({"csv", "tsv", "jsonl"})
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


def read_all(paths: Sequence[Path | str], options: SourceOptions = NO_OPTIONS) -> GraphStream:
    """The records of several files as one graph; arguments and errors as in `open_sources`."""
    return chain.from_iterable(source.records for source in open_sources(paths, options))


def open_sources(paths: Sequence[Path | str], options: SourceOptions = NO_OPTIONS) -> list[Source]:
    """Several files that form one graph, in the order of the paths.

    At least one of the tables must have each column that the options name.
    RDF files share their prefixes, so that an IRI has the same id in all of them.
    A file with only a header in neo4j-admin's form provides the header of the
    following tables without one. Input from standard input (`-`) or another
    pipe is first copied to a temporary file.

    Args:
        paths: Files and bundle folders, of the same or of different formats.
        options: Options for what the files do not declare themselves; they apply to all.

    Raises:
        SourceError: As with `open_source`, for any of the files, before the
            first record of the first.
    """
    formats = {
        path: (format_of_pipe if is_pipe(path) else format_of)(path, options.format)
        for path in map(Path, paths)
    }
    inputs = [_input(path, format_) for path, format_ in formats.items()]
    heads = _heads(inputs, options)
    columns = _columns(inputs, heads)
    _check_named_columns(inputs, columns, options)
    groups = len(set().union(*(head.groups for head in heads.values()))) > 1
    if options.prefixes is not None:
        options = replace(options, prefixes=_prefixes(inputs, options))
    sources = []
    for given in inputs:
        account = SourceAccount(given.name, given.format)
        with _faults(given):
            opened: AnyTable | GraphStream
            head, own = heads.get(given.path), _own_options(columns.get(given.path), options)
            if head is not None:
                opened = open_table(given.path, head, own, account, groups=groups)
            else:
                opened = known_formats()[given.format].read(given.path, own, account)
        if isinstance(opened, AnyTable):
            table = opened if given.copy is None else None
            records = _read(given, with_unique_ids(opened), account)
            sources.append(Source(account, records, table, given.stamp))
        else:
            sources.append(Source(account, _read(given, opened, account)))
    return sources


class _Input(NamedTuple):
    """An input to be read."""

    path: Path
    """The path of the file, or of the copy."""
    name: str
    """The name of the input in messages."""
    format: str
    stamp: Stamp | None
    """The stamp of a file before reading."""
    copy: Copy | None
    """The copy of a pipe."""


def _input(path: Path, format_: str) -> _Input:
    if is_pipe(path):
        copy = Copy(path)
        return _Input(copy.path, name_of(path), format_, None, copy)
    with faults_of(path):
        return _Input(path, str(path), format_, stamp(path) if path.is_file() else None, None)


@contextmanager
def _faults(given: _Input) -> Iterator[None]:
    """Like `faults_of`, but with the name of the original input."""
    try:
        with faults_of(given.path):
            yield
    except SourceError as error:
        if given.copy is None or error.path != given.path:
            raise
        raise SourceError(given.name, error.reason, error.line) from error


def _read(given: _Input, records: GraphStream, account: SourceAccount) -> GraphStream:
    with _faults(given):
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
                    yield record if given.copy is None else replace(record, path=given.name)
                    continue
            yield record
        if given.stamp is not None:
            check_unchanged([(given.path, given.stamp)])
    if given.copy is not None:
        given.copy.close()


def _heads(inputs: Sequence[_Input], options: SourceOptions) -> dict[Path, Head]:
    """The heads of the tables; a header in its own file applies to the tables after it."""
    heads: dict[Path, Head] = {}
    header: Head | None = None
    for given in inputs:
        if given.format in _TABLES:
            with _faults(given):
                heads[given.path] = head = head_of(given.path, given.format, options, header)
            if head.alone:
                header = head
            elif head.path == given.path:
                header = None
    return heads


def _columns(inputs: Sequence[_Input], heads: Mapping[Path, Head]) -> dict[Path, list[str]]:
    """The columns of the tables."""
    columns = {path: head.columns for path, head in heads.items()}
    for given in inputs:
        if given.format == "parquet":
            with _faults(given):
                table = ParquetTable(given.path, SourceAccount(given.name, given.format))
                columns[given.path] = table.names
    return columns


def _check_named_columns(
    inputs: Sequence[_Input], columns: Mapping[Path, list[str]], options: SourceOptions
) -> None:
    if not columns:
        return
    for option, column in named_columns(options).items():
        if any(has_column(have, column) for have in columns.values()):
            continue
        every = dict.fromkeys(chain.from_iterable(columns.values()))
        raise SourceError(
            ", ".join(given.name for given in inputs if given.path in columns),
            f"there is no column {column!r} ({option}); the columns are: {listed([*every])}",
        )


def _own_options(columns: list[str] | None, options: SourceOptions) -> SourceOptions:
    """The options for a source; without an id column that only other tables have."""
    if columns is None or options.id_column is None or has_column(columns, options.id_column):
        return options
    return replace(options, id_column=None)


def _prefixes(inputs: Sequence[_Input], options: SourceOptions) -> dict[str, str]:
    found = dict(options.prefixes or {})
    for given in inputs:
        if given.format in RDF:
            from bfsql.sources.rdf import prefixes_of

            with _faults(given):
                declared = prefixes_of(given.path, given.format, options.encoding)
            for prefix, namespace in declared.items():
                found.setdefault(prefix, namespace)
    return found
