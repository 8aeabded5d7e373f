"""Loads graph files into a store, and reports what could not be used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from inspect import signature
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from bfsql.errors import ConfigurationError, LoadRefused, SourceError
from bfsql.loading.advice import NodeTables, add_advice, unread_references, with_typed_ends
from bfsql.loading.intake import MAX_REFUSALS, check_graph
from bfsql.loading.staging import StagedEdge, StagedNode, staged
from bfsql.models.load import (
    MADE_TYPE,
    REPLACING,
    LoadMode,
    LoadOptions,
    LoadReport,
    Progress,
    SourceAccount,
)
from bfsql.models.merge import UNTYPED
from bfsql.models.name_keys import ANY_TYPE
from bfsql.models.outline import MOST_KEYS, MOST_RELATIONS
from bfsql.models.rdf_names import NAME_PROPERTIES
from bfsql.models.records import EdgeRecord, GraphRecord, GraphStream, NodeRecord, Refusal
from bfsql.plugins import BackendPlugin
from bfsql.plugins.declaration import Load
from bfsql.settings import BackendSettings
from bfsql.sources import RDF, SourceOptions, open_sources
from bfsql.sources.files import ReadSoFar
from bfsql.sources.headers import neo4j_columns
from bfsql.sources.open import Source
from bfsql.sources.rdf import read_together

EVERY = 1_000
"""Number of records between two calls of `progress`."""


async def load(
    plugin: BackendPlugin,
    settings: BackendSettings,
    paths: Sequence[Path],
    options: SourceOptions | None = None,
    *,
    remove: Sequence[Path] = (),
    how: LoadOptions = REPLACING,
) -> LoadReport:
    """Fill a store from graph files: either all of them or none.

    Args:
        plugin: The backend.
        settings: Its settings, with the location of the store.
        paths: Files and bundle folders; they become one graph.
        options: How to read them.
        remove: Files with the nodes and edges to remove, in mode APPEND; they replace `how.remove`.
        how: How to treat an existing graph and missing records. An empty `default_type` means
            `owl:Thing` if a file is RDF, otherwise `Node`. An exception in `progress` stops the
            import.

    Returns:
        The loader's report, including the lines that were refused before they reached it.

    Raises:
        ConfigurationError: The backend cannot be filled from files.
        SourceError: A file cannot be read, or a line was refused in strict mode; the store is
            unchanged.
        StoreError: The store cannot be written; it is unchanged.
    """
    how = replace(how, time_keys=settings.time_keys)
    return await fill(plugin, settings, Reading(plugin, paths, options, remove=remove, how=how))


async def fill(plugin: BackendPlugin, settings: BackendSettings, reading: Reading) -> LoadReport:
    """Fill a store from open files; returns and raises as `load` does."""
    if plugin.load is None:
        raise ConfigurationError(
            f"This backend ({plugin.summary}) cannot be filled from graph files. "
            "Choose another one with --backend, for instance sqlite."
        )
    load_records = _with_options(plugin.load, reading.how)
    try:
        return reading.completed(await load_records(settings, reading.records, reading.how))
    finally:
        reading.close()


class Rehearsal(NamedTuple):
    """What a load would do, as far as its files show."""

    report: LoadReport
    """The report on the graph of the files."""
    nodes: list[StagedNode]
    """The first three, by id."""
    edges: list[StagedEdge]
    """The first three, by subject, predicate and object."""
    error: LoadRefused | None
    """Why nothing would be loaded."""


async def rehearse(reading: Reading) -> Rehearsal:
    """Read and merge as `load` does, without accessing the store.

    Args:
        reading: The files; those with nodes and edges to remove are read but have no effect.

    Raises:
        SourceError: As with `load`.
        StagingError: There is no room for a temporary file.
    """
    how, error = reading.how, None
    async with staged(reading.records, options=replace(how, remove=())) as staging:
        await staging.run(staging.merge)
        if how.mode is not LoadMode.APPEND:
            try:
                check_graph(staging.report, how)
            except LoadRefused as refused:
                error = refused
        nodes = await staging.run(lambda: list(islice(staging.nodes(), 3)))
        edges = await staging.run(lambda: list(islice(staging.edges(), 3)))
        await staging.run(lambda: sum(1 for _ in reading.removed))
    return Rehearsal(reading.completed(staging.report), nodes, edges, error)


class Reading:
    """The open files of a load, and the errors found in them; the arguments are those of `load`.

    Raises:
        ConfigurationError: The mode is APPEND, which the backend does not support.
        SourceError: One of the files cannot be opened.
    """

    def __init__(
        self,
        plugin: BackendPlugin,
        paths: Sequence[Path],
        options: SourceOptions | None = None,
        *,
        remove: Sequence[Path] = (),
        how: LoadOptions = REPLACING,
    ) -> None:
        if how.mode is LoadMode.APPEND:
            _check_appends(plugin)
        options = options or SourceOptions()
        if plugin.keeps_iris:
            options = replace(options, prefixes=None)
        if both := set(paths) & set(remove):
            raise SourceError(
                min(both),
                "this file is given both as a SOURCE and with --remove; leave out one of the two",
            )
        # Together, since they share prefixes, and a named column may be in any of them.
        sources = open_sources([*paths, *remove], options, related=not remove)
        removals = [source for source in sources if source.origin in remove]
        sources = [source for source in sources if source.origin not in remove]
        self.readings = [one.reading for one in sources if one.reading is not None]
        """How tables are read by their keys; none if they are read by the names of columns."""
        read_together(source.rdf for source in sources)
        self._accounts = [source.account for source in sources]
        self._node_tables = NodeTables(sources)
        self._sources = sources
        self._removals = [source.account for source in removals]
        self._ends = [one.ends for one in sources if how.create_nodes and one.ends is not None]
        sources = [
            *sources,
            # The references of tables of nodes are sources of their own.
            *(Source(SourceAccount("", ""), one.references) for one in sources if one.references),
            *(Source(SourceAccount("", ""), one.records()) for one in self._ends),
        ]
        if how.count_duplicates:  # a table that a store reads in bulk would have no such records
            sources = [one._replace(records=_counted(one.records), table=None) for one in sources]
        self.records = RefusalFilter(
            chain.from_iterable(source.records for source in sources),
            strict=how.strict,
            progress=_reporter(how.progress, paths),
            sources=sources,
            dates=how.time_keys.keys if how.time_keys else (),
        )
        """The content of the files."""
        self.removed = RefusalFilter(
            chain.from_iterable(_named(one, options.default_type) for one in removals),
            strict=how.strict,
        )
        """The nodes and edges to remove."""
        untyped = UNTYPED if any(one.format in RDF for one in self._accounts) else MADE_TYPE
        self.how = replace(
            how,
            default_type=how.default_type or untyped,
            remove=self.removed if remove else how.remove,
            possible_ids=self._node_tables.possible_ids,
        )
        """What is asked of the loader."""

    def close(self) -> None:
        """Close the files of tables, which could be read again until then."""
        for source in self._sources:
            source.close()

    def completed(self, report: LoadReport) -> LoadReport:
        """The report with the findings from reading the files."""
        filters = (self.records, self.removed)
        for account in self._accounts:  # a table that a store reads in bulk has no other end
            account.note_empty_texts()
        rdf = [account for account in self._accounts if account.format in RDF]
        statements = sum(account.nodes - account.joined_nodes for account in rdf)
        refusals = chain(*(one.refusals for one in filters), report.refusals)
        report = with_typed_ends(report, self._ends)
        add_advice(self._sources, self._node_tables.samples, report, self.how.time_keys)
        unread = [] if report.edges else unread_references(self._sources)
        merged = report.duplicate_edges if not rdf and not self.how.count_duplicates else 0
        return replace(
            report,
            duplicate_nodes=max(0, report.duplicate_nodes - statements),
            duplicate_edges=max(0, report.duplicate_edges - sum(one.statements for one in rdf)),
            many_duplicates=10 * merged > report.edges + merged,
            refusals=list(islice(refusals, MAX_REFUSALS)),
            refused=sum(one.refused for one in filters) + report.refused,
            unknown_dates=self.how.time_keys.unknown(self.records.properties),
            wrong_columns=[*self._node_tables.wrong_columns(report, self._accounts), *unread],
            sources=self._accounts,
            removals=self._removals,
        )


def _counted(records: GraphStream) -> GraphStream:
    """Records whose edges all have a `multiplicity`, so that those of a single record have one."""
    for record in records:
        if isinstance(record, EdgeRecord):
            record = replace(record, metadata={"multiplicity": 1} | record.metadata)  # noqa: PLW2901
        yield record


def _named(source: Source, untyped: str) -> GraphStream:
    """The nodes and edges to remove of a source; an RDF statement does not name its ends."""
    if source.account.format not in RDF:
        return source.records
    return (
        record
        for record in source.records
        if not isinstance(record, NodeRecord) or record != NodeRecord(record.id, untyped)
    )


def _reporter(progress: Progress | None, paths: Sequence[Path]) -> Callable[[int], object] | None:
    if progress is None:
        return None
    read = ReadSoFar(paths)
    return lambda _: progress("reading", read.share())


def _check_appends(plugin: BackendPlugin) -> None:
    """Raise a `ConfigurationError` if the loader of a backend only makes or replaces graphs."""
    if plugin.load is not None and not (plugin.appends and _takes_options(plugin.load)):
        raise ConfigurationError(
            f"--append and --remove are not available for this backend ({plugin.summary}): a load "
            "into it makes a graph or replaces one. Change the graph with the store's own tools, "
            "load into another database or schema, or use a graph file: bfsql load SOURCE "
            "--append --backend sqlite --path graph.db"
        )


def _takes_options(load: Load) -> bool:
    """Whether a loader takes options; without them, it can only replace the content of a store."""
    try:
        signature(load).bind(None, None, None)
    except TypeError:
        return False
    return True


def _with_options(load: Load, how: LoadOptions) -> Load:
    """The loader; a `ConfigurationError` if it can only replace, and something else is asked."""
    if _takes_options(load):
        return load
    if how.mode is not LoadMode.REPLACE:
        raise ConfigurationError(
            "The loader of this backend can only replace the content of the store. Use "
            "--replace if you want that."
        )
    without: Any = load
    return lambda settings, records, _: without(settings, records)


class RefusalFilter:
    """A stream of records without refusals, which are collected and counted.

    Args:
        stream: The records of the sources.
        strict: Whether a refusal is an error.
        progress: Called from time to time with the number of records so far.
        sources: The sources of the stream.
        dates: Keys to collect, with others of the same records; none without any.

    Attributes:
        sources: The sources of the stream. Instead of all records, a loader may take those of one
            source after the other from `records_of`, or read the table of a source itself, if the
            graph is the same and it updates the account, `count` and `properties`; then `finish`.
        strict: Whether a refusal is an error.
        progress: Has to be called from time to time while a table is read.
        count: Number of records so far.
        properties: The keys of edges by predicate, and under "" those of nodes.
        name_keys: The types of nodes, with keys of their names, once all records were read here.
    """

    def __init__(
        self,
        stream: GraphStream,
        *,
        strict: bool = False,
        progress: Callable[[int], object] | None = None,
        sources: Sequence[Source] = (),
        dates: Collection[str] = (),
    ) -> None:
        self.refusals: list[Refusal] = []
        self.refused = 0
        self.sources = sources
        self.strict = strict
        self.progress = progress or (lambda _: None)
        self.name_keys: list[tuple[str, str]] = []
        self.properties = defaultdict[str, set[str]](set)
        self._stream = stream
        self.dates = dates
        self.count = 0

    def __iter__(self) -> Iterator[GraphRecord]:
        """The records; they can be read once.

        Raises:
            SourceError: Every line was refused, or one in strict mode.
        """
        for source in self.sources:
            types = set[str]()
            for record in self.records_of(source.records):
                if type(record) is NodeRecord:
                    types.add(record.entity_type)
                yield record
            named = keys_of_names(source.account, types)
            self.name_keys += ((kind, key) for key, own in named for kind in own)
        yield from self.records_of(self._stream)
        self.finish()

    def records_of(self, stream: GraphStream) -> Iterator[GraphRecord]:
        """The records of a part of the stream; errors as with all of it, except at its end."""
        for record in stream:
            if isinstance(record, Refusal):
                self._refuse(record)
                continue
            if self.dates and isinstance(record, NodeRecord | EdgeRecord):
                keys = self.properties[record.predicate if isinstance(record, EdgeRecord) else ""]
                few = record.metadata if len(keys) < MOST_KEYS else self.dates
                keys.update(filter(record.metadata.__contains__, few))
            yield record
            self.count += 1
            if self.count % EVERY == 0:
                self.progress(self.count)
                if len(self.properties) > MOST_RELATIONS:
                    self.dates = ()  # so many that nothing is said of them

    def finish(self) -> None:
        """Check that there was a record.

        Raises:
            SourceError: Every line was refused.
        """
        if not self.count and self.refusals:
            first = self.refusals[0]
            reason = f"{first.reason} (no line of the source can be used, so nothing was loaded)"
            raise SourceError(first.path, reason, first.line)
        self.progress(self.count)

    def _refuse(self, refusal: Refusal) -> None:
        if self.strict:
            reason = f"{refusal.reason} (the import is strict, so nothing was loaded)"
            raise SourceError(refusal.path, reason, refusal.line)
        self.refused += 1
        if len(self.refusals) < MAX_REFUSALS:
            self.refusals.append(refusal)


def keys_of_names(
    account: SourceAccount, types: Collection[str]
) -> list[tuple[str, Collection[str]]]:
    """The keys, other than `name`, of what became the name, with the types of the nodes."""
    if account.format in RDF:
        chosen = [column.name for column in account.columns]
        return [(key, (ANY_TYPE,)) for key in chosen or NAME_PROPERTIES]
    keys = [column.name.strip() for column in account.columns]
    if typed := neo4j_columns(keys):
        keys = [one.name for one in typed]
    pairs = zip(keys, account.columns, strict=True)
    return [(key, types) for key, column in pairs if column.meaning == "name" != key]
