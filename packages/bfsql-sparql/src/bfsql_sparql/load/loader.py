"""Writes a graph into a SPARQL store completely, or not at all.

The statements are written, batch by batch, into a named graph of the load's own, and one last
update moves them to their place. If the load ends before that, its own graph is removed. Readers of
a store whose default graph is the union of all graphs (RDF4J, Virtuoso) see this graph meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import chain

from bfsql.errors import ConfigurationError, StoreError
from bfsql.loading import GraphWriter, Step, batches, graph_is_there
from bfsql.models.load import LoadMode, LoadOptions
from bfsql.models.merge import UNTYPED
from bfsql_sparql.dataset import Refused
from bfsql_sparql.endpoint import Endpoint, UpdateEndpoint
from bfsql_sparql.load import writer
from bfsql_sparql.load.existing import ExistingGraph
from bfsql_sparql.load.leftovers import abandoned_graphs, load_lock, mark
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.settings import SparqlSettings, with_preset

STATEMENTS = 8_000
"""Most statements in one update; halved if an endpoint refuses as many."""
IN_TEMPLATE = 800
"""Most statements where they cannot be given as data and the text becomes a program."""
CHARACTERS = 2_000_000
"""Approximate limit of characters in one update, unless one node or edge has more."""
CLEANING = 60.0
"""Most seconds for removing the leftovers of a load."""

log = logging.getLogger("bfsql")

Lines = list[str]
"""The statements of one node or edge, which stay together."""


def _target(settings: SparqlSettings, mapping: RdfMapping) -> str:
    """The name that updates use for the graph to load into.

    Raises:
        ConfigurationError: No graph is named, or it is unclear which.
    """
    if mapping.all_graphs or len(mapping.graphs) > 1:
        raise ConfigurationError(
            f"graph is {', '.join(settings.graph)}, but a load fills one graph: name only that "
            "one, or none for the default graph."
        )
    return writer.named(mapping.graphs[0]) if mapping.graphs else writer.DEFAULT


class SparqlWriter(GraphWriter[SparqlSettings]):
    """Fills a graph of its own, and puts it in place at the end."""

    def __init__(self, settings: SparqlSettings, options: LoadOptions) -> None:
        super().__init__(with_preset(settings), options)
        mapping = RdfMapping.of(self.settings)
        self._target = _target(self.settings, mapping)
        self._statements = writer.StatementWriter(mapping, self.settings)
        self.check = self._statements.check
        self._number = str(uuid.uuid4())
        self._prefix = f"{mapping.base}loading:"
        self._graph = f"{self._prefix}{self._number}"
        self._endpoint: UpdateEndpoint
        self._most = STATEMENTS
        self._as_data = True
        self._wrote: set[str] = set()
        self._finishing = self._finished = False

    @asynccontextmanager
    async def resources(self) -> AsyncIterator[None]:
        """The endpoint for updates, and a lock that shows that this load is running."""
        self._endpoint = await UpdateEndpoint.of(self.settings)
        graph = self._target.removeprefix("GRAPH ")
        where = "the default graph" if graph == writer.DEFAULT else f"the graph {graph}"
        self.place = f"{where} of {self._endpoint.name}"
        try:
            with load_lock(self._number):
                yield
        finally:
            await self._endpoint.close()

    async def begin(self) -> None:
        """Find out how updates are accepted, and whether the graph is empty; mark the load."""
        await self._try()
        await self._remove_abandoned()
        await self._insert([[mark(self._graph)]], f"{self._graph}:owner")
        if self.options.mode is not LoadMode.REPLACE:
            await self._check_empty()

    async def _try(self) -> None:
        """Test, before anything is read, how updates are accepted, by some that change nothing."""
        try:
            await self._update(writer.add_nothing(self._graph, self._target))
        except Refused as refused:
            if self._target != writer.DEFAULT:
                raise
            raise Refused(
                f"{refused} If it has no default graph, like Virtuoso, name the graph to fill "
                "with --graph.",
                refused.status,
            ) from refused
        try:
            await self._update(writer.try_data(self._graph))
        except Refused:
            self._as_data, self._most = False, IN_TEMPLATE

    async def _remove_abandoned(self) -> None:
        """Remove the leftovers of killed loads, if the store can be searched for them."""
        if self.settings.endpoint is None:
            return
        try:
            dataset = await Endpoint.open(self.settings)
            try:
                graphs = await abandoned_graphs(dataset, self._prefix)
            finally:
                await dataset.close()
            if graphs:
                await self._update(" ;\n".join(map(writer.drop, graphs)), CLEANING)
        except (StoreError, TimeoutError) as error:
            log.warning("The remains of interrupted loads were not looked for: %s", error)

    async def _check_empty(self) -> None:
        """Make sure that the graph holds nothing.

        Raises:
            LoadRefused: It holds something.
        """
        existing = await ExistingGraph.open(self.settings)
        try:
            if self._target == writer.DEFAULT and await self._is_union(existing):
                existing = existing.unnamed_only()
            if not await existing.is_empty():
                raise graph_is_there(
                    self.place, *await existing.size(), elsewhere="name another graph with --graph"
                )
        finally:
            await existing.close()

    async def _is_union(self, existing: ExistingGraph) -> bool:
        """Whether queries that name no graph see named ones, such as that of this load."""
        self._wrote.add(self._graph)
        await self._update(writer.insert_mark(self._graph))
        is_union = await existing.sees(self._graph)
        await self._update(writer.drop(self._graph))
        self._wrote.discard(self._graph)
        return is_union

    def merge(self) -> None:
        """Merge, and leave out nodes that need no statement: the ends of edges, without a type."""
        self.staging.merge()
        if self.options.default_type == UNTYPED and self.staging.report.created_nodes:
            self.staging.connection.execute(
                "DELETE FROM described WHERE n IN (SELECT n FROM created)"
            )

    def steps(self) -> Iterator[Step]:
        """The statements of nodes, and of edges; an update for each batch."""
        yield self._batches(map(self._statements.node, self.staging.nodes())), self._write_own
        yield self._batches(map(self._statements.edge, self.staging.edges())), self._write_own

    def _batches(self, groups: Iterator[Lines]) -> Iterator[list[Lines]]:
        size = lambda group: (len(group), sum(map(len, group)))
        return batches(groups, size, lambda: self._most, CHARACTERS)

    async def _write_own(self, groups: list[Lines]) -> int:
        await self._insert(groups, self._graph)
        return len(groups)

    async def _insert(self, groups: list[Lines], graph: str) -> None:
        """Write some statements, in halves if they are refused together."""
        try:
            self._wrote.add(graph)
            lines = chain.from_iterable(groups)
            await self._update(writer.insert(graph, lines, as_data=self._as_data))
        except Refused as refused:
            if len(groups) == 1:
                first = groups[0][0].strip()
                raise Refused(
                    f"{refused} It starts with: {first[:200]}", refused.status
                ) from refused
            half = len(groups) // 2
            self._most = max(1, min(self._most, sum(map(len, groups)) // 2))
            await self._insert(groups[:half], graph)
            await self._insert(groups[half:], graph)

    async def _update(self, text: str, seconds: float | None = None) -> None:
        await self._endpoint.update(text, seconds or self.settings.query_timeout)

    async def finish(self) -> None:
        """Move the written statements to their place."""
        wrote = self._graph in self._wrote
        if self.options.mode is LoadMode.REPLACE:
            put = writer.move(self._graph, self._target) if wrote else writer.clear(self._target)
        else:  # what another program has written meanwhile remains
            put = writer.add(self._graph, self._target) if wrote else ""
        self._finishing = True
        last = filter(None, (put, *map(writer.drop, sorted(self._wrote))))
        try:
            await self._update(" ;\n".join(last), 3_600.0)  # it moves everything at once
        except Refused:
            self._finishing = False
            raise
        self._finishing = False
        self._finished = True
        self._wrote.clear()

    async def leftovers(self) -> str:
        """Remove the graph of this load, and describe the state of the store."""
        said = [f"Nothing in {self.place} was changed."]
        if self._finished:
            said = [f"The load into {self.place} was complete."]
        if self._finishing:
            unknown = (
                f"Whether {self.place} was changed is unknown: the load failed in its last "
                "step, which puts the new graph in place. Check its content, or load everything "
                "again with --replace."
            )
            said = [unknown]
        if self._wrote:
            drop = " ;\n".join(map(writer.drop, sorted(self._wrote)))
            cleaning = asyncio.ensure_future(self._endpoint.update(drop, CLEANING))
            while not cleaning.done():  # a second cancellation does not stop it
                try:
                    await asyncio.wait([cleaning])
                except asyncio.CancelledError:
                    continue
            if cleaning.exception() is not None:
                said.append(
                    f"What was written is in a separate graph, {self._graph}, which could not be "
                    f"removed; this update removes it: {drop}"
                )
        return " ".join(said)


load_graph = SparqlWriter.load_graph
