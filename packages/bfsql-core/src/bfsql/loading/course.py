"""The course of a load into a server: one for all stores, each of which has its own `GraphWriter`.

All records are read and merged before anything is changed, so that a failing source changes
nothing. From then on a load is many requests. The error that ends it states what it leaves in the
store: what was written, or nothing where the writer puts a whole graph in place at the end.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from bfsql.errors import LoadRefused, StoreError
from bfsql.loading.intake import check_graph
from bfsql.loading.staging import JSON, Codec, Staging, staged
from bfsql.models.load import REPLACING, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql.settings import BackendSettings

S = TypeVar("S", bound=BackendSettings)
Step: TypeAlias = tuple[Iterator[Any], Callable[[Any], Awaitable[int]]]
"""Batches, which are made in a thread, and what writes one and returns the number of its items."""


class GraphWriter(ABC, Generic[S]):
    """One load into a server. A subclass has what is the store's own; core calls its methods.

    Args:
        settings: Those of the store.
        options: What happens to an existing graph, and to whatever is missing in the new one.
    """

    codec: ClassVar[Codec] = JSON
    """How metadata waits in the staging."""
    refusals: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors after which nothing of a batch is in the store."""
    nouns: ClassVar[tuple[str, str, str, str]] = ("node", "nodes", "edges", "store")
    """What the store calls a node, nodes, edges and itself."""
    check: Callable[[GraphRecord], None]
    """Raises a `ValueError` for a record that the store cannot hold, with the reason."""
    place: str
    """The location of the graph, as a person names it."""
    staging: Staging
    """All records, once they are read."""

    def __init__(self, settings: S, options: LoadOptions) -> None:
        self.settings = settings
        self.options = replace(options, time_keys=settings.time_keys)
        self.clearing = self._under_way = False
        self._total, self._written = (0, 0), [0, 0]  # nodes, and edges

    @classmethod
    async def load_graph(
        cls, settings: S, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
    ) -> LoadReport:
        """Fill a store with the graph of these records. Cancelling the call stops the load.

        Args:
            settings: The place to load into.
            records: Nodes, edges and evidence in any order. They are read once, in a thread; memory
                does not grow with their number.
            options: What happens to an existing graph, and to whatever is missing in the new one.

        Returns:
            A report of the records found and the graph made. Edges without both of their nodes are
            left out.

        Raises:
            ConfigurationError: The settings name no place to load into.
            LoadRefused: The store holds a graph that is not to be replaced, or the graph is not
                worth loading; nothing is changed.
            StoreError: The store cannot be written. The message states its present content, as a
                note of a `CancelledError` does.
            StoreUnavailable: No server answers, or they stopped answering; likewise.
        """
        writer = cls(settings, options)
        async with writer.resources():
            try:
                return await writer._load(records)
            except BaseException as error:
                content = await writer.leftovers()
                if isinstance(error, asyncio.CancelledError):
                    error.add_note(content)
                elif isinstance(error, StoreError) and not isinstance(error, LoadRefused):
                    error.args = (f"{error} {content}", *error.args[1:])
                raise

    async def _load(self, records: Iterable[GraphRecord]) -> LoadReport:
        async with self.session():
            await self.begin()
        async with staged(
            records, check=self.check, codec=self.codec, options=self.options
        ) as self.staging:
            report = self.staging.report
            await self.staging.run(self.merge)
            check_graph(report, self.options)
            self._total = (report.nodes, report.edges)
            async with self.session():
                await self.prepare()
                for kind, step in enumerate(self.steps()):
                    await self._write(kind, *step)
                await self.finish()
        report.place = self.place
        return report

    async def _write(
        self, kind: int, batches: Iterator[Any], write: Callable[[Any], Awaitable[int]]
    ) -> None:
        async def write_batch(batch: Any) -> None:
            self._under_way = True
            try:
                self._written[kind] += await write(batch)
            except self.refusals:
                self._under_way = False
                raise
            self._under_way = False
            self.staging.tell("writing", sum(self._written) / sum(self._total))

        await self.staging.feed(self.staging.with_own_ids(batches), write_batch)

    # --- what is the store's own, in the order of its calls -----------------------

    def resources(self) -> AbstractAsyncContextManager[Any]:
        """What the whole load needs, such as a client."""
        return nullcontext()

    def session(self) -> AbstractAsyncContextManager[Any]:
        """What `begin` needs, and then once more `prepare` and all that is written."""
        return nullcontext()

    @abstractmethod
    async def begin(self) -> None:
        """Raise `LoadRefused`, before anything is read, if a graph is there that is to remain."""

    def merge(self) -> None:
        """Merge the records, in a thread, and find out what the writer has to know of them."""
        self.staging.merge()

    async def prepare(self) -> None:
        """Make the store ready: look again whether it may be filled, and delete its content."""

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """How nodes are written, and then edges."""

    async def finish(self) -> None:
        """Complete the graph, for instance with indexes."""

    async def leftovers(self) -> str:
        """What a load that failed leaves in the store, and advice on it; it may be removed here."""
        node, nodes, edges, store = self.nouns
        if not (self.clearing or self._under_way or any(self._written)):
            return f"No {node} in it has been changed."
        before = "the previous graph may have been deleted, and " if self.clearing else ""
        more = ", and perhaps the batch that was being written" if self._under_way else ""
        return (
            f"The load is incomplete: {before}of the new graph, {self._written[0]:,} of "
            f"{self._total[0]:,} {nodes} and {self._written[1]:,} of {self._total[1]:,} {edges} "
            f"are in the {store}{more}. Load again with --replace, which deletes them first."
        )
