"""The graph that a server answers from, reopened when its store or its configuration changes.

    async with open_live(graph_factory, settings) as live:
        async with live.call() as graph:
            answer = await graph.bfs_query(seeds=["RxNorm:3251"])

A call uses the graph with which it began until its end; a replaced graph is closed when its last
call has ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from bfsql import call
from bfsql.call import Caller
from bfsql.errors import BfsqlError, ToolError
from bfsql.graph import Graph
from bfsql.places import Places
from bfsql.serving.admission import Admission
from bfsql.serving.calls import Calls
from bfsql.serving.logs import log_to_stderr
from bfsql.settings import ServeSettings
from bfsql.settings.roles import Role, claims_in
from bfsql.settings.server import AT_START
from bfsql.tools.operations import translate_errors
from bfsql.tools.role_graph import unknown_names

if TYPE_CHECKING:
    from bfsql.serving.requests import HttpRequest

log = logging.getLogger("bfsql")

GraphFactory: TypeAlias = Callable[[], AbstractAsyncContextManager[Graph]]
"""Opens a graph in the running event loop, and closes it when the context ends."""


class LiveConfiguration(NamedTuple):
    """What opens the graph, and the settings of the server."""

    factory: GraphFactory
    settings: ServeSettings
    until_open: GraphFactory | None = None
    """What is served until the graph can be opened; None if a server does not start before."""


LiveGraphs: TypeAlias = "Mapping[str, LiveGraph]"
"""The graphs of a server by their names; one alone may have an empty name."""

_STALE = "The store has changed, but its graph cannot be opened; the previous one is still served."
_CLOSED = "The graph cannot be opened, which is tried again when it is asked."

_ALL_IN_USE = "Too many identities have calls under way. Make this call again in some seconds."

FOLLOW_SECONDS = 5.0
"""Seconds after a change during which calls wait for the new graph, and a server for several graphs
at its start; after that, the previous graph answers them."""


class OpenSessions(Protocol):
    """The sessions of a server; `len()` is the number of those that are open."""

    @property
    def ended(self) -> Counter[str]:
        """The number of ended sessions, by reason."""

    def __len__(self) -> int: ...


@dataclass(eq=False)
class _OpenGraph:
    """An open graph and the number of its users; `end` closes it."""

    graph: Graph
    end: asyncio.Event
    holder: asyncio.Task[None] | None = None
    users: int = 0
    identities: dict[tuple[str, str], asyncio.Task[_OpenGraph]] = field(default_factory=dict)
    """Those that were opened for roles and identities of callers, the last used at the end."""


class LiveGraph:
    """The open graph of a server, its calls, and the settings in force.

    Attributes:
        name: Its name among several; empty for one without a name.
        is_open: Whether it has been opened, which one of several need not be.
        calls: The calls in progress, and whether the server is shutting down; of all its graphs.
        places: The places for calls of all graphs, of which one of several has at most half.
        admission: Limits concurrent calls over HTTP; None over stdio and for programs.
        settings: The current settings; `reload` replaces them.
        problem: Why the served graph is not the current content of its store; None if it is.
        sessions: Those of the 2025 protocol over HTTP; None without such sessions.
        lifespan: Runs them, where another application is in front; None likewise.
    """

    def __init__(self, graph: Graph, settings: ServeSettings) -> None:
        self.name, self.is_open = "", True
        self.calls = Calls()
        self.places = Places(lambda: (2 * self.settings.max_calls, self.settings.max_calls))
        self.sessions: OpenSessions | None = None
        self.lifespan: Callable[[], AbstractAsyncContextManager[object]] | None = None
        self.settings = settings
        self.admission = Admission(settings) if settings.serves_http else None
        self.problem: str | None = None
        self._opened = _OpenGraph(graph, asyncio.Event())
        self._factory: GraphFactory | None = None
        self._refused: Hashable = None
        self._again_at = 0.0
        self._one_at_a_time = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None
        self._wait_until = 0.0
        self._closing: set[asyncio.Task[None]] = set()
        self._reloading: set[asyncio.Task[None]] = set()
        self._prepare: list[Callable[[Graph], None]] = []

    def on_open(self, prepare: Callable[[Graph], None]) -> None:
        """Call a function with the open graph, and with each that is opened later."""
        self._prepare.append(prepare)
        call.outside(self.name).run(prepare, self._opened.graph)

    def warn_of_roles(self, graph: Graph) -> None:
        """Log names that a role hides and a graph does not have, which may be misspelt."""
        for role in self.settings.roles:
            of_several = bool(self.name) and role.graphs != (self.name,)
            if not of_several and (names := unknown_names(role, graph.schema)):
                text = (
                    "The role %s hides %s, which this graph does not have: nothing is hidden by it."
                )
                log.warning(text, role.name, ", ".join(names))

    @property
    def current(self) -> Graph:
        """The graph that is open now, which may be closed at any time."""
        return self._opened.graph

    @property
    def title(self) -> str:
        """The graph's name for people: of the settings, of its store, or among several."""
        return self.settings.title or self.current.title or self.name

    @asynccontextmanager
    async def call(
        self, request: HttpRequest | None = None, caller: Caller | None = None, identity: str = ""
    ) -> AsyncIterator[Graph]:
        """Wait for the caller's turn, and provide the graph for one call, which is counted.

        Over stdio there is neither a request nor a caller, and calls do not wait.
        """
        own = self.graph(caller, identity)
        async with self.calls.call(request), self.turn(caller), own as graph:
            yield graph

    @asynccontextmanager
    async def turn(self, caller: Caller | None) -> AsyncIterator[None]:
        """Take a place among the concurrent calls as soon as it is the caller's turn.

        The time spent waiting counts towards the time limit of the call.
        """
        if self.admission is None or caller is None:
            yield
            return
        scope = call.current()
        with ExitStack() as stack:
            if scope is None or scope.memory is None:  # then it is not that of a graph's call
                seconds = self._opened.graph.limits.deadline
                stack.enter_context(call.scope(seconds=seconds, caller=caller, part=True))
            async with self.admission.admitted(caller.key), self.places.turn(self.name):
                yield

    @asynccontextmanager
    async def graph(self, caller: Caller | None = None, identity: str = "") -> AsyncIterator[Graph]:
        """The graph that the store holds now, as far as a caller may see it; None for all of it.

        If it cannot be opened, it is the previous one. A caller whose role takes claims needs its
        `Role.identity`.
        """
        await self._follow()
        of = {one.name: one for one in self.settings.roles} if caller else {}
        if caller and of and caller.role not in of:
            raise ToolError("The token of this request has no role here.", kind="refused")
        opened = self._opened
        opened.users += 1
        try:
            role = of.get(caller.role or "") if caller else None
            if caller is None or role is None or not claims_in(role.settings):
                yield opened.graph.for_role(role)
            else:
                async with self._of_identity(opened, role, identity) as graph:
                    yield graph
        finally:
            opened.users -= 1
            self._close_unused(opened)

    @asynccontextmanager
    async def _of_identity(
        self, opened: _OpenGraph, role: Role, identity: str
    ) -> AsyncIterator[Graph]:
        """The graph of an identity, at most `max_identities` of which are open."""
        known, key, opens = opened.identities, (role.name, identity), opened.graph.open_identity
        if not identity or opens is None:
            raise ToolError("The role of this request takes claims of a token.", kind="refused")
        if key not in known:
            if len(known) >= self.settings.max_identities:
                idle = (one for one, own in known.items() if own.done() and not own.result().users)
                if (oldest := next(idle, None)) is None:
                    raise ToolError(_ALL_IN_USE, kind="busy")
                self._begin(_closed(known.pop(oldest).result()), self._closing)

            async def opening() -> _OpenGraph:
                try:
                    return await _opened(lambda: opens(role, identity))
                except BaseException:
                    del known[key]  # the next call tries again
                    raise

            loop, outside = asyncio.get_running_loop(), call.outside(self.name)
            known[key] = loop.create_task(opening(), context=outside)
        known[key] = task = known.pop(key)
        with translate_errors(opened.graph.limits, "Opening the graph"):
            async with asyncio.timeout(opened.graph.limits.deadline):
                own = await asyncio.shield(task)
        if known.get(key) is not task:  # closed before its first call began
            raise ToolError(_ALL_IN_USE, kind="busy")
        own.users += 1
        try:
            yield own.graph
        finally:
            own.users -= 1

    def reload(self, factory: GraphFactory, settings: ServeSettings) -> None:
        """Reopen the graph with other settings in the background; calls go on meanwhile."""
        self._begin(self._reload(factory, settings), self._reloading)

    def _begin(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        """Begin work outside of any call, which is among some tasks until it ends."""
        task = asyncio.get_running_loop().create_task(work, context=call.outside(self.name))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _reload(self, factory: GraphFactory, settings: ServeSettings) -> None:
        try:
            settings, unchanged = _applicable(self.settings, settings)
            if not self.is_open:  # there is nothing else to go on with
                self._factory = factory
            async with self._one_at_a_time:
                opened = await _opened(factory)
                self._factory, self.settings = factory, settings
                if self.admission is not None:
                    self.admission.settings = settings
                self._serve(opened)
        except Exception as error:  # noqa: BLE001 - the server goes on, whatever it is
            log.error(  # noqa: TRY400 - the sentence is enough
                "The new configuration cannot be used, and the previous one stays in effect. %s",
                _reason(error),
            )
            return
        if settings.log_level != logging.getLevelName(logging.getLogger().level).lower():
            log_to_stderr(settings)
        if unchanged:
            log.warning(
                "These settings are read only at the start: %s. Restart the server to apply the "
                "new values.",
                ", ".join(unchanged),
            )

    async def _follow(self) -> None:
        """Open what the store holds now if that is another graph; once for all waiting calls."""
        if self._factory is None:
            return
        change = self._opened.graph.changed()
        if change is None:
            self.problem = self._refused = None
        elif change != self._refused or asyncio.get_running_loop().time() > self._again_at:
            left = self._wait_until - asyncio.get_running_loop().time()
            if self._following is None or self._following.done():
                await asyncio.wait({self.follow()}, timeout=FOLLOW_SECONDS)
            elif left > 0:
                await asyncio.wait({self._following}, timeout=left)

    def follow(self) -> asyncio.Task[None]:
        """Begin to open what the store holds now."""
        loop = asyncio.get_running_loop()
        self._wait_until = loop.time() + FOLLOW_SECONDS
        self._following = loop.create_task(self._open_again(), context=call.outside(self.name))
        return self._following

    async def _open_again(self) -> None:
        async with self._one_at_a_time:
            change = self._opened.graph.changed()
            if change is None or self._factory is None:
                return
            try:
                self._serve(await _opened(self._factory))
            except Exception as error:  # noqa: BLE001 - the graph before goes on, whatever it is
                why = _reason(error)
            else:
                return
            if self.problem is None:
                log.error("%s %s", _STALE if self.is_open else _CLOSED, why)
            self.problem, self._refused = why, change
            # Also if the store has not changed: the reason may have been a lack of files or memory.
            self._again_at = asyncio.get_running_loop().time() + 10.0

    def _serve(self, opened: _OpenGraph) -> None:
        level = logging.INFO if self.problem is None else logging.WARNING
        log.log(level, "The graph was reopened.")
        before, self._opened, self.is_open = self._opened, opened, True
        self.problem = self._refused = None
        for prepare in self._prepare:
            prepare(opened.graph)
        self._close_unused(before)

    def _close_unused(self, opened: _OpenGraph) -> None:
        if opened is not self._opened and not opened.users:
            self._begin(_closed(opened), self._closing)

    async def _end(self) -> None:
        opening = [*self._reloading, *([self._following] if self._following else [])]
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        await asyncio.gather(_close(self._opened), *self._closing)


@asynccontextmanager
async def open_live(factory: GraphFactory, settings: ServeSettings) -> AsyncIterator[LiveGraph]:
    """Open a graph that is reopened when its store changes, and close it at the end."""
    opened = await _opened(factory)
    live = LiveGraph(opened.graph, settings)
    live._opened, live._factory = opened, factory  # noqa: SLF001 - of this module
    try:
        yield live
    finally:
        await live._end()  # noqa: SLF001 - likewise


@asynccontextmanager
async def open_lives(graphs: Mapping[str, LiveConfiguration]) -> AsyncIterator[LiveGraphs]:
    """Open the graphs of a server by their names; of several, one may fail to open for now."""
    lives: dict[str, LiveGraph] = {}
    async with AsyncExitStack() as stack:
        for name, (factory, settings, until_open) in graphs.items():
            call.GRAPH.set(name)
            opening = open_live(until_open or factory, settings)
            lives[name] = live = await stack.enter_async_context(opening)
            first = next(iter(lives.values()))
            live.name, live.calls, live.places = name, first.calls, first.places
            live._factory, live.is_open = factory, until_open is None  # noqa: SLF001 - likewise
        call.GRAPH.set("")
        if begun := [live.follow() for live in lives.values() if not live.is_open]:
            await asyncio.wait(begun, timeout=FOLLOW_SECONDS)
        yield lives


def _applicable(before: ServeSettings, now: ServeSettings) -> tuple[ServeSettings, list[str]]:
    """The new settings that a running server can apply, and the names of the others."""
    others = [name for name in AT_START if getattr(now, name) != getattr(before, name)]
    return now.model_copy(update={name: getattr(before, name) for name in others}), others


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, BfsqlError) else repr(error)


async def _opened(factory: GraphFactory) -> _OpenGraph:
    """Open a graph in a task of its own, which also closes it."""
    ready: asyncio.Future[Graph] = asyncio.get_running_loop().create_future()
    end = asyncio.Event()

    async def hold() -> None:
        try:
            async with factory() as graph:
                ready.set_result(graph)
                await end.wait()
        except BaseException as error:
            if ready.done():
                raise
            if isinstance(error, asyncio.CancelledError):
                ready.cancel()
                raise
            ready.set_exception(error)

    holder = asyncio.get_running_loop().create_task(hold(), context=call.outside())
    try:
        return _OpenGraph(await asyncio.shield(ready), end, holder)
    except asyncio.CancelledError:
        holder.cancel()
        await asyncio.wait({holder})
        raise


async def _close(opened: _OpenGraph) -> None:
    for opening in opened.identities.values():
        opening.cancel()  # does nothing if it has ended
    own = await asyncio.gather(*opened.identities.values(), return_exceptions=True)
    await asyncio.gather(*(_closed(one) for one in own if isinstance(one, _OpenGraph)))
    opened.end.set()
    if opened.holder is not None:
        await opened.holder


async def _closed(opened: _OpenGraph) -> None:
    """Close a graph that has been replaced."""
    try:
        await _close(opened)
    except Exception as fault:  # noqa: BLE001 - a driver's own; the new graph is being served
        log.warning("The previous graph could not be closed: %s: %s", type(fault).__name__, fault)
