"""Writes a graph into a SPARQL store: all of it, or nothing.

All records are read and merged first. Then the statements go, batch by batch,
into a named graph of the load's own, and one last update puts them where they
belong. Whatever ends the load before that is followed by the removal of the
load's own graph. Readers of a store whose default graph is the union of all
graphs (RDF4J, Virtuoso) see it meanwhile.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager
from itertools import chain

from bfsql.errors import ConfigurationError, StoreError
from bfsql.loading import StagedNode, Staging, batches, check_graph, graph_is_there, staged
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.merge import UNTYPED
from bfsql.models.records import GraphRecord
from bfsql_sparql import writing
from bfsql_sparql.dataset import Refused
from bfsql_sparql.endpoint import UpdateEndpoint
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.present import PresentGraph
from bfsql_sparql.settings import SparqlSettings, with_preset

STATEMENTS = 8_000
"""Statements in one update at the most; halved where an endpoint refuses so many."""
IN_TEMPLATE = 800
"""The same where they cannot be given as data, which is where the text becomes a program."""
CHARACTERS = 2_000_000
"""Characters in one update, roughly, unless one node or edge has more."""
PATIENCE = 3_600.0
"""Seconds that the last update may take: it moves everything at once."""
CLEANING = 60.0
"""Seconds that removing what is left of a load may take."""
_SHOWN = 200

Lines = list[str]
"""The statements of one node or edge, which stay together."""


async def load_graph(
    settings: SparqlSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Fill a store with the graph of these records.

    Cancelling the call stops it. A note of the `CancelledError` states what is in the store
    then, where that is not what was there before.

    Args:
        settings: `update_endpoint` is where updates go; `graph` names the graph to fill,
            otherwise the default graph is. Unless that graph is replaced, `endpoint` is asked
            what it holds.
        records: Nodes, edges and evidence in any order. They are read once, in a thread;
            memory does not grow with their number.
        options: What becomes of a graph that is there, and of what is missing in the new one.

    Returns:
        What was found and written. Edges without both of their nodes are kept out.

    Raises:
        ConfigurationError: The settings name no place to load into.
        LoadRefused: The graph is not empty, and the mode is NEW; or nothing in the new one would
            be worth loading.
        StoreError: The store cannot be written; the sentence says what is in it now.
        StoreUnavailable: It does not answer, or not any more.
    """
    settings = with_preset(settings)
    mapping = RdfMapping.of(settings)
    load = _Load(settings, mapping, _target(settings, mapping), options)
    writer = writing.StatementWriter(mapping, settings)
    async with load.connected(), staged(records, check=writer.check, options=options) as staging:
        load.progress("merging", None)
        await staging.run(staging.merge)
        check_graph(staging.report, options)
        load.total = staging.report.nodes + staging.report.edges
        await load.fill(map(writer.node, _described(staging, options)), staging)
        await load.fill(map(writer.edge, staging.edges()), staging)
        await load.finish()
        staging.report.place = load.shown
    return staging.report


def _described(staging: Staging, options: LoadOptions) -> Iterator[StagedNode]:
    """The nodes to write: without a type, the end of an edge is one by that edge alone."""
    if options.default_type != UNTYPED or not staging.report.created_nodes:
        return staging.nodes()
    created = staging.connection.execute("SELECT id FROM created ORDER BY id")
    return _without(staging.nodes(), (id_ for (id_,) in created))


def _without(nodes: Iterator[StagedNode], left_out: Iterator[str]) -> Iterator[StagedNode]:
    """The nodes but those of some ids; both are in the same order."""
    first = next(left_out, None)
    for node in nodes:
        if node.id == first:
            first = next(left_out, None)
        else:
            yield node


def _target(settings: SparqlSettings, mapping: RdfMapping) -> str:
    """What updates call the graph that is loaded into.

    Raises:
        ConfigurationError: There is none, or it is not clear which.
    """
    if settings.data:
        raise ConfigurationError(
            f"Files are served as they are ({settings.data[0]}), and nothing is loaded into them. "
            "Name the URL of a server that takes updates with --update-endpoint, and no --data."
        )
    if mapping.all_graphs or len(mapping.graphs) > 1:
        raise ConfigurationError(
            f"graph is {', '.join(settings.graph)}, and a load fills one graph: name that one "
            "alone, or none for the default graph."
        )
    return writing.named(mapping.graphs[0]) if mapping.graphs else writing.DEFAULT


class _Load:
    """One load, and how far it is.

    Args:
        settings: With their preset applied.
        mapping: Of these settings.
        target: What updates call the graph that is loaded into.
        options: What becomes of what is in it.
    """

    def __init__(
        self, settings: SparqlSettings, mapping: RdfMapping, target: str, options: LoadOptions
    ) -> None:
        self._settings = settings
        self._target = target
        self._mode = options.mode
        self.progress = options.progress or (lambda _, __: None)
        self.total = 0
        """Nodes and edges that are to be written."""
        self._written = 0
        self._place = f"{mapping.base}loading:{uuid.uuid4()}"
        self._most = STATEMENTS
        self._as_data = True
        self._wrote = False
        self._finishing = False
        self._endpoint: UpdateEndpoint

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Open the endpoint; an error that ends the load states what the load leaves behind."""
        self._endpoint = await UpdateEndpoint.of(self._settings)
        try:
            await self._try()
            if self._mode is LoadMode.REPLACE:
                yield
            else:
                async with aclosing(await PresentGraph.open(self._settings)) as present:
                    await self._look(present)
                    yield
        except asyncio.CancelledError as cancelled:
            cancelled.add_note(await self._left())
            raise
        except Refused as error:
            self._finishing = False
            raise Refused(f"{error} {await self._left()}", error.status) from error
        except StoreError as error:
            raise type(error)(f"{error} {await self._left()}") from error
        except BaseException:
            await self._left()
            raise
        finally:
            await self._endpoint.close()

    async def _try(self) -> None:
        """See, before anything is read, how updates are taken, by some that change nothing."""
        try:
            await self._update(writing.add_nothing(self._place, self._target))
        except Refused as refused:
            if self._target != writing.DEFAULT:
                raise
            raise Refused(
                f"{refused} If it has no default graph, as Virtuoso, name the graph to fill with "
                "--graph.",
                refused.status,
            ) from refused
        try:
            await self._update(writing.try_data(self._place))
        except Refused:
            self._as_data, self._most = False, IN_TEMPLATE

    async def _look(self, present: PresentGraph) -> None:
        """See what is in the graph.

        Raises:
            LoadRefused: Something is, and the graph has to be new.
        """
        if self._target == writing.DEFAULT and await self._is_union(present):
            present = present.unnamed_only()
        if self._mode is LoadMode.NEW and not await present.is_empty():
            raise graph_is_there(self.shown, *await present.size())

    async def _is_union(self, present: PresentGraph) -> bool:
        """Whether queries that name no graph see named ones, such as that of this load."""
        self._wrote = True
        await self._update(writing.insert_mark(self._place))
        is_union = await present.sees(self._place)
        await self._update(writing.drop(self._place))
        self._wrote = False
        return is_union

    async def fill(self, groups: Iterator[Lines], staging: Staging) -> None:
        """Write all statements into the graph of this load.

        Args:
            groups: Made in a thread, a batch ahead of what is being written.
            staging: Where they come from.
        """
        await staging.feed(batches(groups, _size, lambda: self._most, CHARACTERS), self._write)

    async def finish(self) -> None:
        """Put what was written where it belongs."""
        replace = self._mode is LoadMode.REPLACE
        if self._wrote:
            self._finishing = True
            put = writing.move if replace else writing.add
            await self._update(put(self._place, self._target), PATIENCE)
        elif replace:
            self._finishing = True
            await self._update(writing.clear(self._target), PATIENCE)

    async def _write(self, groups: list[Lines]) -> None:
        """Write some statements, in halves where they are refused together."""
        try:
            self._wrote = True
            lines = chain.from_iterable(groups)
            await self._update(writing.insert(self._place, lines, as_data=self._as_data))
            self._written += len(groups)
            self.progress("writing", min(1.0, self._written / max(1, self.total)))
        except Refused as refused:
            if len(groups) == 1:
                first = groups[0][0].strip()
                raise Refused(f"{refused} It began: {first[:_SHOWN]}", refused.status) from refused
            half = len(groups) // 2
            self._most = max(1, min(self._most, sum(map(len, groups)) // 2))
            await self._write(groups[:half])
            await self._write(groups[half:])

    async def _update(self, text: str, seconds: float | None = None) -> None:
        await self._endpoint.update(text, seconds or self._settings.query_timeout)

    async def _left(self) -> str:
        """Remove the graph of this load, and say in which state the store is."""
        said = [f"Nothing in {self.shown} was changed."]
        if self._finishing:
            unknown = (
                f"Nobody knows whether {self.shown} was changed: the load ended in the very last "
                "step, which puts the new graph there. Look, or load everything again with "
                "--replace."
            )
            said = [unknown]
        if self._wrote:
            cleaning = asyncio.ensure_future(
                self._endpoint.update(writing.drop(self._place), CLEANING)
            )
            while not cleaning.done():  # a second cancellation does not stop it
                try:
                    await asyncio.wait([cleaning])
                except asyncio.CancelledError:
                    continue
            if cleaning.exception() is not None:
                said.append(
                    f"What was written stands in a graph of its own, {self._place}, which could "
                    f"not be removed; this update does: {writing.drop(self._place)}"
                )
        return " ".join(said)

    @property
    def shown(self) -> str:
        """The graph that is loaded into, as a person names it."""
        graph = self._target.removeprefix("GRAPH ")
        where = "the default graph" if graph == writing.DEFAULT else f"the graph {graph}"
        return f"{where} of {self._endpoint.name}"


def _size(group: Lines) -> tuple[int, int]:
    return len(group), sum(map(len, group))
