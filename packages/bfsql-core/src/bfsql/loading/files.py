"""What `bfsql load` does: graph files go into a store, with a report of what could not be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any

from bfsql.errors import ConfigurationError, SourceError
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord, GraphStream, Refusal
from bfsql.plugins import BackendPlugin
from bfsql.plugins.declaration import Load
from bfsql.settings import BackendSettings
from bfsql.sources import SourceOptions, open_sources

KEPT = 100
"""Refusals that a report shows; all of them are counted."""

EVERY = 1_000
"""Records between two calls of `progress`."""

Progress = Callable[[int], None]
"""Called with the number of records read so far, from the thread that the loader reads in."""


async def load(
    plugin: BackendPlugin,
    settings: BackendSettings,
    paths: Sequence[Path],
    options: SourceOptions | None = None,
    *,
    how: LoadOptions = REPLACING,
    progress: Progress | None = None,
) -> LoadReport:
    """Fill a store from graph files: all of them or nothing.

    Args:
        plugin: The backend.
        settings: Its settings, which say where the store is.
        paths: Files and bundle folders; they become one graph.
        options: How to read them.
        how: What becomes of a graph that is there, and of what is missing.
        progress: Called now and then with the number of records read; an exception
            that it raises stops the import.

    Returns:
        The loader's report, with the lines refused before they came to it.

    Raises:
        ConfigurationError: The backend cannot be filled from files.
        SourceError: A file cannot be read, or a line was refused in strict mode;
            the store is as it was.
        StoreError: The store cannot be written; it is as it was.
    """
    if plugin.load is None:
        raise ConfigurationError(
            f"This backend ({plugin.summary}) cannot be filled from graph files. "
            "Choose another one with --backend, for instance sqlite."
        )
    options = options or SourceOptions()
    if plugin.keeps_iris:
        options = replace(options, prefixes=None)
    sources = open_sources(paths, options)
    read = chain.from_iterable(source.records for source in sources)
    records = RefusalFilter(read, strict=how.strict, progress=progress)
    report = await _with_options(plugin.load, how)(settings, records, how)
    return replace(
        report,
        refusals=[*records.refusals, *report.refusals][:KEPT],
        refused=records.refused + report.refused,
        sources=[source.account for source in sources],
    )


def _with_options(load: Load, how: LoadOptions) -> Load:
    """The loader; one that takes no options replaces what is there, and does nothing else.

    Raises:
        ConfigurationError: It takes none, and something else is asked for.
    """
    try:
        signature(load).bind(None, None, None)
    except TypeError:
        if how.mode is not LoadMode.REPLACE:
            raise ConfigurationError(
                "The loader of this backend replaces whatever the store holds, and can do nothing "
                "else. Give --replace if that is wanted."
            ) from None
        without: Any = load
        return lambda settings, records, _: without(settings, records)
    return load


class RefusalFilter:
    """A stream of records without its refusals, which it collects and counts.

    Args:
        stream: What the sources give.
        strict: Whether a refusal is an error.
        progress: Called now and then with the number of records that went through.
    """

    def __init__(
        self, stream: GraphStream, *, strict: bool = False, progress: Progress | None = None
    ) -> None:
        self.refusals: list[Refusal] = []
        self.refused = 0
        self._stream = stream
        self._strict = strict
        self._progress = progress or (lambda _: None)

    def __iter__(self) -> Iterator[GraphRecord]:
        """The records; they can be read once.

        Raises:
            SourceError: Every line was refused, or one in strict mode.
        """
        count = 0
        for record in self._stream:
            if isinstance(record, Refusal):
                self._refuse(record)
                continue
            yield record
            count += 1
            if count % EVERY == 0:
                self._progress(count)
        if not count and self.refusals:
            first = self.refusals[0]
            reason = f"{first.reason} (and no line of the source can be used: nothing was loaded)"
            raise SourceError(first.path, reason, first.line)
        self._progress(count)

    def _refuse(self, refusal: Refusal) -> None:
        if self._strict:
            reason = f"{refusal.reason} (the import is strict, so nothing was loaded)"
            raise SourceError(refusal.path, reason, refusal.line)
        self.refused += 1
        if len(self.refusals) < KEPT:
            self.refusals.append(refusal)
