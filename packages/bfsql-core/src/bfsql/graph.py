"""open_graph: settings, plugin, cache and tools, assembled in one place.

    async with bfsql.open_graph("sqlite", path="graph.db") as graph:
        answer = await graph.bfs_query(seeds=["RxNorm:3251"], max_hops=2)

The server, the REST interface and the command line call the methods of the object it yields.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from bfsql import plugins, settings, tools
from bfsql.abc import GraphDbInterface
from bfsql.answers import Answer
from bfsql.answers.clean import clean_text
from bfsql.cache import MAX_RECORDS, Breaker, CachedGraphDb, CircuitBreakerBackend
from bfsql.call import MAX_EDGES, MAX_NODES, Caller, start_optional
from bfsql.errors import BfsqlError, CircuitOpen, StoreError, StoreUnavailable
from bfsql.masking import one_line
from bfsql.models import Outline
from bfsql.observer import NO_OBSERVERS, Observer, Observers
from bfsql.plugins import NO_HOOKS, Hooks
from bfsql.plugins.registry import created, open_backend
from bfsql.settings.roles import Role
from bfsql.tools import Limits, Operations, Schema, ToolDefinition
from bfsql.tools.descriptions import INSTRUCTIONS, LINES
from bfsql.tools.role_graph import hidden_keys, visible_to
from bfsql.tools.schema import OUTLINE_SECONDS
from bfsql.tools.skill import Skill, skill_of
from bfsql.tools.verify import Verdict, Verifier

log = logging.getLogger("bfsql")

Backend: TypeAlias = (
    str
    | GraphDbInterface
    | type[GraphDbInterface]
    | Callable[..., GraphDbInterface | Awaitable[GraphDbInterface]]
)
"""A plugin's name, an open backend, or a function or class that opens one."""

NO_DESCRIPTION = "A knowledge graph. Its operator has not described it."


class Graph:
    """An open graph with the six operations as methods.

    Each takes the protocol's arguments by name, checks them, and returns an
    `Answer` whose `text` is the same for every client of the graph.

    Args:
        db: The backend behind its cache.
        description: The operator's description of the graph.
        limits: The limits of one call.
        schema: The vocabulary, if it was known at startup.
        title: The graph's name for people; empty if nobody gave one.
        hooks: The hook plugins of the six operations; `db` itself is not redacted.
        observers: Notified of every call.
        breaker: Tracks whether the store answers; None if this is not monitored.

    Attributes:
        shown: The same graph with its metadata redacted by the hooks, for interfaces that
            send records to clients.
        memory: The memory that calls take.
        scope: Begins a call within the limits, for interfaces that read the graph themselves.
        entity_page: Lists entities in the order of their ids, within such a call.
        graph_schema: The types, predicates and relations of the graph, as far as they are known.
        parts: Those that roles may see, by the names of the roles.
        role_graphs: Those that were opened for roles with settings of their own, by name.
        open_identity: Opens that of a role and a `Role.identity`; None where nothing can.
    """

    def __init__(
        self,
        db: GraphDbInterface,
        description: str,
        limits: Limits,
        schema: Schema | None,
        *,
        title: str = "",
        hooks: Hooks = NO_HOOKS,
        observers: Observers = NO_OBSERVERS,
        breaker: Breaker | None = None,
    ) -> None:
        self.db = db
        self.title = title
        self.breaker = breaker
        self.schema = schema
        self.description = description
        self.limits = limits
        self.observers = observers
        self._operations = Operations(db, description, limits, hooks, observers)
        self.shown = self._operations.db
        self.memory = self._operations.memory
        self.scope = self._operations.scope
        self.entity_page = self._operations.entity_page
        self.graph_schema = self._operations.graph_schema
        self._hooks = hooks
        self._skill: tuple[Outline | None, Skill] | None = None
        self.parts: dict[str, tuple[Role, Graph]] = {}
        self.role_graphs: dict[str, Graph] = {}
        self.open_identity: Callable[[Role, str], AbstractAsyncContextManager[Graph]] | None = None

    def for_role(self, role: Role | None) -> Graph:
        """The part of the graph that a role may see, over the same cache; None for all of it."""
        if role is None:
            return self
        if role.name in self.role_graphs:
            return self.role_graphs[role.name]
        known, part = self.parts.get(role.name, (None, self))
        if known != role:
            limits = replace(self.limits.at_most(role.ceilings), account=self.memory)
            part = Graph(
                visible_to(role, self.db),
                self.description,
                replace(limits, tools=role.tools),
                None,
                title=self.title,
                hooks=Hooks(self._hooks.plugins, hidden_keys(role, self.db)),
                observers=self.observers,
                breaker=self.breaker,
            )
            self.parts[role.name] = role, part
        return part

    def changed(self) -> Hashable | None:
        """Whether a store has changed, also one of a role: `GraphDbInterface.changed`."""
        found = tuple(one.db.changed() for one in (self, *self.role_graphs.values()))
        return None if found.count(None) == len(found) else found

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
            tool: The name of one of the six tools.
            arguments: The raw arguments, by name.
            caller: The client and its subject, for hooks and observers.
            request_id: Identifies the call in logs; None for the id of the enclosing call, or else
                a new one.

        Raises:
            ToolError: A sentence for the model.
        """
        return await self._operations.run(tool, arguments, caller=caller, request_id=request_id)

    async def describe_schema(self, seeds: list[str] | str | None = None, **at: Any) -> Answer:
        """Orient: learn what the graph contains, or what is around some seeds. Also takes `at`."""
        return await self.call("describe_schema", {"seeds": seeds, **at})

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

    async def describe_entity(self, id: str, **at: Any) -> Answer:  # noqa: A002 - the protocol's
        """Expand: full metadata for one entity. Also takes `at`."""
        return await self.call("describe_entity", {"id": id, **at})

    async def describe_entities(self, ids: list[str] | str) -> Answer:
        """Expand (batch): full metadata for several entities."""
        return await self.call("describe_entities", {"ids": ids})

    async def intersect_subgraphs(
        self, seeds: list[str], k: int | None = None, **arguments: Any
    ) -> Answer:
        """Intersect: nodes reachable from every seed. Also takes filters and `max_tokens`."""
        return await self.call("intersect_subgraphs", {"seeds": seeds, "k": k, **arguments})

    async def verify(self, text: str, *, caller: Caller | None = None) -> list[Verdict]:
        """Check claims such as `Tom Hanks -ACTED_IN-> Apollo 13`, one a line or in `[[ ]]`."""
        return await Verifier(self._operations, self.limits, caller).verify(text)

    async def skill(self, *, caller: Caller | None = None) -> Skill:
        """Make the skill for agents that ask this graph, from calls that it answers."""
        known = self._skill
        # Hooks may show each caller something else.
        if known is None or self._hooks or known[0] is not self.graph_schema.known_outline:
            made = await skill_of(self._operations, self.description, caller)
            self._skill = known = self.graph_schema.known_outline, made
        return known[1]

    async def counted(self) -> None:
        """Wait until the contents of the graph are counted, or cannot be."""
        await self.graph_schema.outline(OUTLINE_SECONDS)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The six tools as a client lists them, with the graph's schema inserted if it is small."""
        known = self.graph_schema
        every = tools.definitions(
            known.latest or self.schema, known.known_outline, patterns=self.shown.lists_entities()
        )
        may = self.limits.tools
        return tuple(one for one in every if may is None or one.name in may)

    async def listed(self) -> tuple[ToolDefinition, ...]:
        """The definitions, after waiting at most a few seconds for the graph to be counted."""
        await self.graph_schema.outline()
        return self.definitions()

    def instructions(self, operator: str | None = None) -> str:
        """The text a client reads before its first call; the operator's own text comes last."""
        own = (INSTRUCTIONS, LINES) if self.limits.answer_format == "lines" else (INSTRUCTIONS,)
        return "\n\n".join([*own, *([operator] if operator else [])])


@asynccontextmanager
async def open_graph(
    backend: Backend = "sqlite",
    /,
    *,
    title: str | None = None,
    graph_description: str | None = None,
    limits: Limits | None = None,
    cache_records: int = MAX_RECORDS,
    cache_ttl: float | None = None,
    hooks: Iterable[object] | None = None,
    observers: Iterable[Observer] = (),
    max_pause: float | None = None,
    require_read_only: bool | None = None,
    role: Role | None = None,
    **backend_settings: Any,
) -> AsyncIterator[Graph]:
    """Open a graph for reading, and close it at the end of the context.

    Args:
        backend: A plugin's name, a backend class or factory, or an open backend,
            which stays open when the context ends.
        title: Name of the graph for people; None for that of the store, if it keeps one.
        graph_description: The description of the graph that the model reads; None likewise.
        limits: The limits of one call; generous by default.
        cache_records: Maximum number of records in the cache.
        cache_ttl: Seconds for which a cached answer is valid; None for no expiry.
        hooks: The hook plugins to use; None for the installed ones.
        observers: Notified of calls, of calls to the store, and of the cache.
        max_pause: Calls fail at once while the store does not answer; meanwhile it is probed
            at intervals of at most this many seconds. None: each call tries the store.
        require_read_only: What happens if the store's account could write: with True
            nothing is opened, with False a warning is logged. None: the rights are not checked.
        role: What may be seen of the graph; None for all.
        **backend_settings: The backend's own settings; missing ones come from the
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
    guarded = None if max_pause is None else CircuitBreakerBackend(opened, max_pause)
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
        title = one_line(clean_text(title or opened.title))
        text = graph_description or opened.description
        if not text.startswith(title):
            text = ": ".join(filter(None, (title, text)))
        graph = Graph(
            db,
            text or NO_DESCRIPTION,
            limits,
            None,
            title=title,
            hooks=chosen,
            observers=watching,
            breaker=breaker,
        )
        async with _rights_checked(opened, require=require_read_only):
            graph.schema = await _schema_in_time(graph)
        try:
            yield graph.for_role(role)
        finally:
            for one in (graph, *(part for _, part in graph.parts.values())):
                await one.graph_schema.close()
    finally:
        if breaker is not None:
            breaker.stop()
        if opened is backend:
            await db.release()
        else:
            await db.close()


async def _open(backend: Backend, options: dict[str, Any]) -> GraphDbInterface:
    if isinstance(backend, GraphDbInterface):
        return backend
    if isinstance(backend, str):
        plugin = plugins.load(backend)
        resolved = settings.resolve(plugin.settings, options=options, environment=os.environ)
        return await open_backend(backend, plugin, resolved.settings)
    create: Any = getattr(backend, "create", backend) if inspect.isclass(backend) else backend
    name = getattr(backend, "__name__", "backend")
    return await created(name, "the caller", create, **options)


@asynccontextmanager
async def _rights_checked(db: GraphDbInterface, *, require: bool | None) -> AsyncIterator[None]:
    """Check, while the body of the context runs, whether the store's account may only read.

    With `require` None, nothing is checked.

    Raises:
        StoreError: The account could write or its rights are unknown, and `require` is true.
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
    """The reason why the account could write, or why that is unknown; None if it could not."""
    try:
        return await asyncio.wait_for(db.may_write(), 3.0)
    except Exception as fault:  # noqa: BLE001 - a driver's own; a server starts all the same
        why = "it took too long" if isinstance(fault, TimeoutError) else fault
        return f"Whether the store's account may write could not be determined: {why}."


async def _schema_in_time(graph: Graph) -> Schema | None:
    """The schema, or None if the store is too slow; serving then starts without it.

    Raises:
        BfsqlError: The store reports a fault for the operator, and waiting would not help.
    """
    try:
        reading = start_optional(graph.graph_schema.lists())  # goes on for the first call
        return await asyncio.wait_for(asyncio.shield(reading), 3.0)
    except StoreUnavailable as gone:
        if not isinstance(gone, CircuitOpen):  # whose reason has been logged
            log.warning("%s", gone)
        return None
    except TimeoutError:
        return None
    except BfsqlError:
        raise
    except Exception as fault:  # noqa: BLE001 - a driver's own; it may be well again later
        log.warning("The backend did not return its schema: %s: %s", type(fault).__name__, fault)
        return None
