"""open_graph: settings, plugin, cache and tools, put together in one place.

    async with bfsql.open_graph("sqlite", path="graph.db") as graph:
        answer = await graph.bfs_query(seeds=["RxNorm:3251"], max_hops=2)

Server, REST and command line call the methods of the object that it yields.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from bfsql import plugins, settings, tools
from bfsql.abc import GraphDbInterface
from bfsql.answers import Answer
from bfsql.cache import MAX_RECORDS, Breaker, CachedGraphDb, GuardedGraphDb
from bfsql.call import MAX_EDGES, MAX_NODES, Caller
from bfsql.errors import BfsqlError, StoreError, StoreUnavailable
from bfsql.models import Outline
from bfsql.observer import NO_OBSERVERS, Observer, Observers
from bfsql.plugins import NO_HOOKS, Hooks
from bfsql.plugins.registry import created
from bfsql.tools import Limits, Operations, Schema, ToolDefinition
from bfsql.tools.descriptions import INSTRUCTIONS, LINES
from bfsql.tools.schema import OUTLINE_SECONDS

log = logging.getLogger("bfsql")

Backend: TypeAlias = (
    str
    | GraphDbInterface
    | type[GraphDbInterface]
    | Callable[..., GraphDbInterface | Awaitable[GraphDbInterface]]
)
"""A plugin's name, an open backend, or what opens one."""

SCHEMA_SECONDS = 3.0
"""How long the start waits for the schema (`protocol.md` 21)."""

RIGHTS_SECONDS = 3.0
"""How long the start waits for what the store's account may do."""

NO_DESCRIPTION = "A knowledge graph. Its operator has given no description of it."


class Graph:
    """An open graph with the six operations as methods.

    Each takes the protocol's arguments by name, checks them, and returns an
    `Answer` whose `text` is what every client of the same graph gets.

    Args:
        db: The backend behind its cache.
        description: The operator's description of the graph.
        limits: What one call may cost.
        schema: The vocabulary, where it was known at the start.
        hooks: The hook plugins of the six operations; `db` itself is not redacted.
        observers: They learn of every call.
        breaker: Whether the store answers; None where nothing looks after that.

    Attributes:
        shown: The same graph with its metadata redacted by the hooks, for faces that
            send records to clients.
    """

    def __init__(
        self,
        db: GraphDbInterface,
        description: str,
        limits: Limits,
        schema: Schema | None,
        *,
        hooks: Hooks = NO_HOOKS,
        observers: Observers = NO_OBSERVERS,
        breaker: Breaker | None = None,
    ) -> None:
        self.db = db
        self.breaker = breaker
        self.schema = schema
        self.description = description
        self.limits = limits
        self.observers = observers
        self._operations = Operations(db, description, limits, hooks, observers)
        self.shown = self._operations.db

    async def call(
        self,
        tool: str,
        arguments: Any = None,
        *,
        caller: Caller | None = None,
        request_id: str | None = None,
    ) -> Answer:
        """Run a tool by name on raw arguments, as a client sends them.

        Args:
            tool: One of the six.
            arguments: Raw, by name.
            caller: The client and its subject, for hooks and observers.
            request_id: Names the call in logs; None for that of the call around this one, or
                else a new one.

        Raises:
            ToolError: A sentence for the model.
        """
        return await self._operations.run(tool, arguments, caller=caller, request_id=request_id)

    async def describe_schema(self, seeds: list[str] | str | None = None) -> Answer:
        """Orient: learn what the graph contains, or what is around some seeds."""
        return await self.call("describe_schema", {"seeds": seeds})

    async def search_entities(self, query: str, **arguments: Any) -> Answer:
        """Resolve: map a name to canonical ids. Also takes `node_types`."""
        return await self.call("search_entities", {"query": query, **arguments})

    async def bfs_query(
        self, seeds: list[str] | str, max_hops: int | None = None, **arguments: Any
    ) -> Answer:
        """Traverse: expand a neighbourhood, follow a `path`, or find connections `to` nodes.

        Also takes the filters, pages and `max_tokens`.
        """
        return await self.call("bfs_query", {"seeds": seeds, "max_hops": max_hops, **arguments})

    async def describe_entity(self, id: str) -> Answer:  # noqa: A002 - the protocol's name
        """Expand: full metadata for one entity."""
        return await self.call("describe_entity", {"id": id})

    async def describe_entities(self, ids: list[str] | str) -> Answer:
        """Expand (batch): full metadata for several entities."""
        return await self.call("describe_entities", {"ids": ids})

    async def intersect_subgraphs(
        self, seeds: list[str], k: int | None = None, **arguments: Any
    ) -> Answer:
        """Intersect: nodes reachable from every seed. Also takes filters and `max_tokens`."""
        return await self.call("intersect_subgraphs", {"seeds": seeds, "k": k, **arguments})

    def changed(self) -> Hashable | None:
        """What the store holds now, where that is another graph; None while it is this one."""
        return self.db.changed()

    @property
    def knows_schema(self) -> bool:
        """Whether the vocabulary of the graph has been read."""
        return self.schema is not None or self._operations.known.latest is not None

    async def reach(self) -> None:
        """Ask the store itself a small question, and for the schema where that is not known.

        Raises:
            BfsqlError: The store does not answer, or refuses.
        """
        await self.db.ping()
        if not self.knows_schema:
            await self._operations.schema()

    def begin(self) -> None:
        """Begin to count what the graph is made of, in the background."""
        self._operations.known.count()

    async def counted(self) -> None:
        """Wait until what the graph is made of is counted, or cannot be."""
        await self._operations.known.outline(OUTLINE_SECONDS)

    async def outline(self) -> tuple[Outline | None, bool]:
        """What the graph is made of, as the hooks let it be seen, and whether it is being counted.

        A call waits for it some seconds at the most.
        """
        return await self._operations.known.outline()

    async def node_counts(self) -> Mapping[str, int]:
        """Nodes by type, as far as they are counted within some seconds; empty otherwise."""
        outline, _ = await self._operations.known.outline()
        return outline.node_counts if outline else {}

    async def end(self) -> None:
        """Stop what runs in the background."""
        await self._operations.known.close()

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The six as a client lists them, this graph's schema injected where it is small."""
        known = self._operations.known
        return tools.definitions(known.latest or self.schema, known.known_outline)

    async def listed(self) -> tuple[ToolDefinition, ...]:
        """The same, after some seconds at the most in which the graph may be counted."""
        await self._operations.known.outline()
        return self.definitions()

    def instructions(self, operator: str | None = None) -> str:
        """What a client reads before its first call; the operator's own text stands last."""
        own = (INSTRUCTIONS, LINES) if self.limits.answer_format == "lines" else (INSTRUCTIONS,)
        return "\n\n".join([*own, *([operator] if operator else [])])


@asynccontextmanager
async def open_graph(
    backend: Backend = "sqlite",
    /,
    *,
    graph_description: str | None = None,
    limits: Limits | None = None,
    cache_records: int = MAX_RECORDS,
    cache_ttl: float | None = None,
    hooks: Iterable[object] | None = None,
    observers: Iterable[Observer] = (),
    max_pause: float | None = None,
    require_read_only: bool | None = None,
    **backend_settings: Any,
) -> AsyncIterator[Graph]:
    """Open a graph for reading, and close what was opened.

    Args:
        backend: A plugin's name, a backend class or factory, or an open backend,
            which stays open when the context ends.
        graph_description: The description of the graph that the model reads.
        limits: What one call may cost; generous by default.
        cache_records: Records that the cache holds at the most.
        cache_ttl: Seconds for which a cached answer is good; None for no end.
        hooks: The hook plugins to use; None for the installed ones.
        observers: They learn of calls, of those to the store, and of the cache.
        max_pause: Calls fail at once while the store does not answer; it is probed meanwhile
            with pauses of so many seconds at most. None: each call tries the store.
        require_read_only: What happens where the store's account could write: with True
            nothing is opened, with False a warning is logged. None: nobody looks.
        **backend_settings: The backend's own; what is missing comes from the
            environment variables that its settings model names.

    Raises:
        PluginError: There is no such backend, or it cannot be used.
        ConfigurationError: A setting is wrong.
        StoreError: The store is missing, unreadable, or not what it should be; or its account
            could write, and must not.
    """
    limits = limits or Limits()
    chosen, watching = plugins.load_hooks(hooks), Observers(observers)
    opened = await _open(backend, backend_settings)
    guarded = None if max_pause is None else GuardedGraphDb(opened, max_pause)
    breaker = None if guarded is None else guarded.breaker
    db = CachedGraphDb(
        guarded or opened,
        cache_records,
        ttl=cache_ttl,
        max_nodes=limits.max_nodes or MAX_NODES,
        max_edges=limits.max_edges or MAX_EDGES,
        observers=watching,
    )
    try:
        async with _rights_checked(opened, require=require_read_only):
            schema = await _schema_in_time(Operations(db, "", limits))
        graph = Graph(
            db,
            graph_description or NO_DESCRIPTION,
            limits,
            schema,
            hooks=chosen,
            observers=watching,
            breaker=breaker,
        )
        try:
            yield graph
        finally:
            await graph.end()
    finally:
        if breaker is not None:
            breaker.stop()
        if opened is backend:
            await db.release()
        else:
            await db.close()


async def _open(backend: Backend, given: dict[str, Any]) -> GraphDbInterface:
    if isinstance(backend, GraphDbInterface):
        return backend
    if isinstance(backend, str):
        plugin = plugins.load(backend)
        resolved = settings.resolve(plugin.settings, options=given, environment=os.environ)
        return await plugin.open(resolved.settings)
    create: Any = getattr(backend, "create", backend) if inspect.isclass(backend) else backend
    name = getattr(backend, "__name__", "backend")
    return await created(name, "the caller", create, **given)


@asynccontextmanager
async def _rights_checked(db: GraphDbInterface, *, require: bool | None) -> AsyncIterator[None]:
    """See, beside what runs inside, whether the store's account may only read.

    Args:
        db: The backend.
        require: Whether an account that could write is refused; None for not to look.

    Raises:
        StoreError: It could write, or nobody can tell, and it must not.
    """
    if require is None:
        yield
        return
    looking = asyncio.create_task(_rights(db))
    try:
        yield
        reason = await looking
    finally:
        looking.cancel()
    if reason and require:
        raise StoreError(f"{reason} The server does not start because of --require-read-only.")
    if reason:
        log.warning(
            "%s The server never writes, but an account that cannot write is safer.", reason
        )


async def _rights(db: GraphDbInterface) -> str | None:
    """Why the account could write, or why that is not known; None where it could not."""
    try:
        return await asyncio.wait_for(db.may_write(), RIGHTS_SECONDS)
    except Exception as fault:  # noqa: BLE001 - a driver's own; a server starts all the same
        why = "it took too long" if isinstance(fault, TimeoutError) else fault
        return f"Whether the store's account may write could not be determined: {why}."


async def _schema_in_time(operations: Operations) -> Schema | None:
    """The schema, or None where the store is too slow; serving starts without it.

    Raises:
        BfsqlError: The store has a sentence for the operator, and waiting would not help.
    """
    try:
        return await asyncio.wait_for(operations.schema(), SCHEMA_SECONDS)
    except StoreUnavailable as gone:
        log.warning("%s", gone)
        return None
    except TimeoutError:
        return None
    except BfsqlError:
        raise
    except Exception as fault:  # noqa: BLE001 - a driver's own; it may be well again later
        log.warning("The backend did not return its schema: %s: %s", type(fault).__name__, fault)
        return None
