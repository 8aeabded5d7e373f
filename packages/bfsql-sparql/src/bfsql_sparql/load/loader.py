"""Writes a graph into a SPARQL store completely, or not at all.

All records are read and merged first. The statements are then written, batch by batch, into a
named graph of the load's own, and one last update moves them to their place. If the load ends
before that, its own graph is removed. Readers of a store whose default graph is the union of all
graphs (RDF4J, Virtuoso) see this graph meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager
from itertools import chain

from bfsql.errors import ConfigurationError, LoadRefused, StoreError
from bfsql.loading import Staging, batches, check_graph, graph_is_there, staged
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.merge import UNTYPED
from bfsql.models.records import GraphRecord
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


async def load_graph(
    settings: SparqlSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Fill a store with the graph of these records.

    Cancelling the call stops the load. If the store has changed by then, a note of the
    `CancelledError` describes its content.

    Args:
        settings: `update_endpoint` receives the updates; `graph` names the graph to
            fill, by default the default graph. Unless that graph is replaced, `endpoint` is asked
            whether it is empty.
        records: Nodes, edges and evidence in any order. They are read once, in a thread;
            memory does not grow with their number.
        options: What happens to an existing graph, and to whatever is missing in the new one.

    Returns:
        A report of the records found and written. Edges without both of their nodes are left out.

    Raises:
        ConfigurationError: The settings name no place to load into.
        LoadRefused: The graph is not empty, and is not to be replaced; or the new graph has
            nothing worth loading.
        StoreError: The store cannot be written; the message states its present content.
        StoreUnavailable: The store does not answer, or stopped answering.
    """
    settings = with_preset(settings)
    mapping = RdfMapping.of(settings)
    load = _Load(settings, mapping, _target(settings, mapping), options)
    statements = writer.StatementWriter(mapping, settings)
    async with (
        load.connected(),
        staged(records, check=statements.check, options=options) as staging,
    ):
        await staging.run(lambda: _merge(staging, options))
        check_graph(staging.report, options)
        await load.fill(map(statements.node, staging.nodes()), staging)
        await load.fill(map(statements.edge, staging.edges()), staging)
        await load.finish()
        staging.report.place = load.graph_label
    return staging.report


def _merge(staging: Staging, options: LoadOptions) -> None:
    """Merge, and leave out nodes that need no statement: the ends of edges, without a type."""
    staging.merge()
    if options.default_type == UNTYPED and staging.report.created_nodes:
        staging.connection.execute("DELETE FROM described WHERE n IN (SELECT n FROM created)")


def _target(settings: SparqlSettings, mapping: RdfMapping) -> str:
    """The name that updates use for the graph to load into.

    Raises:
        ConfigurationError: No graph is named, or it is unclear which.
    """
    if settings.data:
        raise ConfigurationError(
            f"RDF files can only be read, so nothing can be loaded into {settings.data[0]}. To "
            "load into a SPARQL server, omit --data and name the URL at which the server accepts "
            "updates with --update-endpoint; to load into a graph file, use another backend."
        )
    if mapping.all_graphs or len(mapping.graphs) > 1:
        raise ConfigurationError(
            f"graph is {', '.join(settings.graph)}, but a load fills one graph: name only that "
            "one, or none for the default graph."
        )
    return writer.named(mapping.graphs[0]) if mapping.graphs else writer.DEFAULT


class _Load:
    """One load and its progress; `target` is the graph to load into, as updates name it."""

    def __init__(
        self, settings: SparqlSettings, mapping: RdfMapping, target: str, options: LoadOptions
    ) -> None:
        self._settings = settings
        self._target = target
        self._mode = options.mode
        self._written = 0
        self._number = str(uuid.uuid4())
        self._prefix = f"{mapping.base}loading:"
        self._place = f"{self._prefix}{self._number}"
        self._most = STATEMENTS
        self._as_data = True
        self._wrote: set[str] = set()
        self._finishing = self._finished = False
        self._endpoint: UpdateEndpoint

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Open the endpoint; an error that ends the load states what the load leaves behind.

        Raises:
            LoadRefused: The graph is not empty, and is not to be replaced.
        """
        self._endpoint = await UpdateEndpoint.of(self._settings)
        stack = ExitStack()
        try:
            await self._try()
            stack.enter_context(load_lock(self._number))
            await self._remove_abandoned()
            await self._write([[mark(self._place)]], f"{self._place}:owner")
            if self._mode is not LoadMode.REPLACE:
                await self._check_empty()
            yield
        except asyncio.CancelledError as cancelled:
            cancelled.add_note(await self._withdraw())
            raise
        except LoadRefused:  # the error itself states that nothing was done
            await self._withdraw()
            raise
        except Refused as error:
            self._finishing = False
            raise Refused(f"{error} {await self._withdraw()}", error.status) from error
        except StoreError as error:
            raise type(error)(f"{error} {await self._withdraw()}") from error
        except BaseException:
            await self._withdraw()
            raise
        finally:
            stack.close()
            await self._endpoint.close()

    async def _remove_abandoned(self) -> None:
        """Remove the leftovers of killed loads, if the store can be searched for them."""
        if self._settings.endpoint is None:
            return
        try:
            dataset = await Endpoint.open(self._settings)
            try:
                graphs = await abandoned_graphs(dataset, self._prefix)
            finally:
                await dataset.close()
            if graphs:
                await self._update(" ;\n".join(map(writer.drop, graphs)), CLEANING)
        except (StoreError, TimeoutError) as error:
            log.warning("The remains of interrupted loads were not looked for: %s", error)

    async def _try(self) -> None:
        """Test, before anything is read, how updates are accepted, by some that change nothing."""
        try:
            await self._update(writer.add_nothing(self._place, self._target))
        except Refused as refused:
            if self._target != writer.DEFAULT:
                raise
            raise Refused(
                f"{refused} If it has no default graph, like Virtuoso, name the graph to fill "
                "with --graph.",
                refused.status,
            ) from refused
        try:
            await self._update(writer.try_data(self._place))
        except Refused:
            self._as_data, self._most = False, IN_TEMPLATE

    async def _check_empty(self) -> None:
        """Make sure that the graph holds nothing.

        Raises:
            LoadRefused: It holds something.
        """
        existing = await ExistingGraph.open(self._settings)
        try:
            if self._target == writer.DEFAULT and await self._is_union(existing):
                existing = existing.unnamed_only()
            if not await existing.is_empty():
                raise graph_is_there(
                    self.graph_label,
                    *await existing.size(),
                    elsewhere="name another graph with --graph",
                )
        finally:
            await existing.close()

    async def _is_union(self, existing: ExistingGraph) -> bool:
        """Whether queries that name no graph see named ones, such as that of this load."""
        self._wrote.add(self._place)
        await self._update(writer.insert_mark(self._place))
        is_union = await existing.sees(self._place)
        await self._update(writer.drop(self._place))
        self._wrote.discard(self._place)
        return is_union

    async def fill(self, groups: Iterator[Lines], staging: Staging) -> None:
        """Write all statements into the graph of this load.

        The groups are made in a thread, a batch ahead of the one being written.
        """
        total = max(1, staging.report.nodes + staging.report.edges)

        async def write(some: list[Lines]) -> None:
            await self._write(some, self._place)
            self._written += len(some)
            staging.tell("writing", min(1.0, self._written / total))

        await staging.feed(batches(groups, _size, lambda: self._most, CHARACTERS), write)

    async def finish(self) -> None:
        """Move the written statements to their place."""
        wrote = self._place in self._wrote
        if self._mode is LoadMode.REPLACE:
            put = writer.move(self._place, self._target) if wrote else writer.clear(self._target)
        else:  # what another program has written meanwhile remains
            put = writer.add(self._place, self._target) if wrote else ""
        self._finishing = True
        last = filter(None, (put, *map(writer.drop, sorted(self._wrote))))
        await self._update(" ;\n".join(last), 3_600.0)  # it moves everything at once
        self._finishing = False
        self._finished = True
        self._wrote.clear()

    async def _write(self, groups: list[Lines], graph: str) -> None:
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
            await self._write(groups[:half], graph)
            await self._write(groups[half:], graph)

    async def _update(self, text: str, seconds: float | None = None) -> None:
        await self._endpoint.update(text, seconds or self._settings.query_timeout)

    async def _withdraw(self) -> str:
        """Remove the graph of this load, and describe the state of the store."""
        said = [f"Nothing in {self.graph_label} was changed."]
        if self._finished:
            said = [f"The load into {self.graph_label} was complete."]
        if self._finishing:
            unknown = (
                f"Whether {self.graph_label} was changed is unknown: the load failed in its last "
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
                    f"What was written is in a separate graph, {self._place}, which could not be "
                    f"removed; this update removes it: {drop}"
                )
        return " ".join(said)

    @property
    def graph_label(self) -> str:
        """The graph to load into, as a person names it."""
        graph = self._target.removeprefix("GRAPH ")
        where = "the default graph" if graph == writer.DEFAULT else f"the graph {graph}"
        return f"{where} of {self._endpoint.name}"


def _size(group: Lines) -> tuple[int, int]:
    return len(group), sum(map(len, group))
