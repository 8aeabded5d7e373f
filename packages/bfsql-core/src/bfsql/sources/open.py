"""From a path to its records: finds the format, checks what can be checked, reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphStream, NodeRecord, Refusal
from bfsql.sources.columns import named_columns
from bfsql.sources.files import faults_of, guarded
from bfsql.sources.formats import NO_OPTIONS, SourceOptions, format_of
from bfsql.sources.gexf import open_gexf
from bfsql.sources.gml import open_gml
from bfsql.sources.graphml import open_graphml
from bfsql.sources.json_graphs import open_json
from bfsql.sources.kgraph import open_bundle
from bfsql.sources.parquet_graphs import open_graphrag, open_parquet
from bfsql.sources.tables import header_of, open_table
from bfsql.sources.text import encoding_of

_TABLES = frozenset({"csv", "tsv", "jsonl"})
_GRAPHS = {
    "graphml": open_graphml,
    "gexf": open_gexf,
    "gml": open_gml,
    "json": open_json,
    "parquet": open_parquet,
    "graphrag": open_graphrag,
}
RDF = frozenset({"turtle", "ntriples", "nquads", "trig", "rdfxml", "jsonld"})
"""Formats of RDF."""


def open_source(path: Path | str, options: SourceOptions = NO_OPTIONS) -> GraphStream:
    """The records of one graph file or bundle, read as they are asked for.

    A line that cannot be used comes as a `Refusal`, and reading goes on. The
    file is closed with the stream.

    Args:
        path: A file, or the folder of a kgraph bundle.
        options: What the file does not say itself.

    Raises:
        SourceError: The path is not there, has no known format, lacks a column
            or a part that is needed, or needs an extra that is not installed:
            all that before the first record. Faults that only reading shows,
            such as damaged gzip or broken XML, raise it later.
    """
    return read_all([path], options)


class Source(NamedTuple):
    """A graph file that is open for reading, once."""

    account: SourceAccount
    """How it is read; its counts are complete after the last record."""
    records: GraphStream


def read_all(paths: Sequence[Path | str], options: SourceOptions = NO_OPTIONS) -> GraphStream:
    """The records of several files as one graph; arguments and errors as `open_sources`."""
    return chain.from_iterable(source.records for source in open_sources(paths, options))


def open_sources(paths: Sequence[Path | str], options: SourceOptions = NO_OPTIONS) -> list[Source]:
    """Several files that make one graph, in the order of the paths.

    A column that the options name has to be in one of the tables at least.
    RDF files share their prefixes, so that one IRI is one id in all of them.

    Args:
        paths: Files and bundle folders, of the same or of different formats.
        options: What the files do not say themselves; they hold for all.

    Raises:
        SourceError: As with `open_source`, for any of the files, before the
            first record of the first.
    """
    formats = {path: format_of(path, options.format) for path in map(Path, paths)}
    _check_named_columns(formats, options)
    if options.prefixes is not None:
        options = replace(options, prefixes=_prefixes(formats, options))
    sources = []
    for path, format_ in formats.items():
        account = SourceAccount(str(path), format_)
        with faults_of(path):
            records = _open(path, options, account)
        sources.append(Source(account, guarded(path, _counted(records, account))))
    return sources


def _counted(records: GraphStream, account: SourceAccount) -> GraphStream:
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


def _open(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    format_ = account.format
    if format_ in _TABLES:
        return open_table(path, format_, options, account)
    if format_ in RDF:
        from bfsql.sources.rdf import open_rdf

        return open_rdf(path, format_, options, account)
    if format_ in _GRAPHS:
        return _GRAPHS[format_](path, options, account)
    return open_bundle(path, options, account)


def _check_named_columns(formats: Mapping[Path, str], options: SourceOptions) -> None:
    named = named_columns(options)
    tables = {path: format_ for path, format_ in formats.items() if format_ in _TABLES}
    if not named or not tables:
        return
    headers = {}
    for path, format_ in tables.items():
        with faults_of(path):
            headers[path] = header_of(path, format_, encoding_of(path, options.encoding))
    for option, column in named.items():
        if any(column in header for header in headers.values()):
            continue
        raise SourceError(
            ", ".join(map(str, headers)),
            f"there is no column {column!r} ({option}); the columns are: "
            f"{', '.join(dict.fromkeys(chain.from_iterable(headers.values())))}",
        )


def _prefixes(formats: Mapping[Path, str], options: SourceOptions) -> dict[str, str]:
    found = dict(options.prefixes or {})
    for path, format_ in formats.items():
        if format_ in RDF:
            from bfsql.sources.rdf import prefixes_of

            for prefix, namespace in prefixes_of(path, format_, options.encoding).items():
                found.setdefault(prefix, namespace)
    return found
