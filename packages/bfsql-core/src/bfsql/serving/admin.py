"""Health and metrics of a server: `/livez`, `/readyz` and `/metrics`, on a port of their own.

The access checks of the public listener do not apply to them: anyone who reaches the port may read
them, under any name. The public listener does not serve these paths. Connections are limited as
those of the public listener are.

The port has a thread and an event loop of its own, so that a busy server is not taken for a dead
one. Only `/metrics` is answered in the event loop of the server, whose state it reads.

Neither uvicorn nor starlette is imported with this module.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from http import HTTPStatus
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

from bfsql import call
from bfsql.errors import BfsqlError
from bfsql.masking import hide_secrets
from bfsql.serving.address import bind, url
from bfsql.serving.calls import until
from bfsql.serving.logs import CallLog
from bfsql.serving.metrics import Metrics, Reading, exposition
from bfsql.tracing import CallSpans

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bfsql.observer import Observer
    from bfsql.serving.draining import Server, WithoutSignals
    from bfsql.serving.live import LiveGraph
    from bfsql.settings import ServeSettings

_HUNG = "The event loop of the server does not run.\n"
_LISTED = "This port serves /livez, /readyz and /metrics.\n"
_WITHOUT_CLIENT = (
    "Metrics need the package prometheus-client, which is not installed: "
    "pip install 'bfsql-core[metrics]'\n"
)

MetricsText: TypeAlias = Awaitable[tuple[bytes, str]]
"""Metrics as text, and their content type."""

log = logging.getLogger("bfsql")


def observers_of(settings: ServeSettings, metrics: Metrics | None) -> list[Observer]:
    """The observers of a server: traces, metrics and the log of calls, as far as enabled."""
    observers: list[Observer] = [CallSpans()] if call.is_traced() else []
    if metrics is not None:
        observers.append(metrics)
    if settings.log_level in {"debug", "info"}:
        observers.append(CallLog(values=settings.log_arguments))
    return observers


class Health:
    """Whether the event loop runs, and whether calls can be answered, and why not.

    The store is queried in the background, by `check`; everything else may be read from any thread.
    """

    probe_seconds = 2.0
    """Seconds that a probe waits for the store."""
    pause_seconds = 3.0
    """Seconds between two probes."""
    stale_seconds = 30.0
    """Seconds after which the result of a probe is no longer valid."""
    hung_seconds = 60.0
    """Seconds after which an event loop that does not run is considered dead."""

    def __init__(self, live: LiveGraph) -> None:
        self._live = live
        self._beat = time.monotonic()
        self._probed_at: float | None = None
        self._store: str | None = None

    async def check(self) -> None:
        """Probe the store again and again, and note that the event loop runs."""
        await asyncio.gather(self._check_loop(), self._check_store())

    async def _check_loop(self) -> None:
        while True:
            self._beat = time.monotonic()
            await asyncio.sleep(1.0)

    async def _check_store(self) -> None:
        while True:
            self._store = await self._probe()
            self._probed_at = time.monotonic()
            await asyncio.sleep(self.pause_seconds)

    @property
    def alive(self) -> bool:
        """Whether the event loop runs."""
        return time.monotonic() - self._beat < self.hung_seconds

    @property
    def age(self) -> float | None:
        """Seconds since the store was probed last; None if it has not been yet."""
        at = self._probed_at
        return None if at is None else time.monotonic() - at

    def reasons(self) -> list[str]:
        """Why no calls can be answered, for the operator; empty if they can."""
        live, age, store = self._live, self.age, self._store
        if live.calls.draining:
            return ["The server is shutting down."]
        if not live.is_open:
            return [hide_secrets(f"The graph is not open: {live.problem or 'it is being opened.'}")]
        if age is None:
            store = "The store has not been queried yet."
        elif age > self.stale_seconds:
            store = f"The store was last queried {age:.0f} s ago: the server is busy."
        reasons = [store]
        if live.current.graph_schema.latest is None:
            reasons.append("The schema of the graph has not been read yet.")
        if live.problem is not None:
            reasons.append(
                "The store has changed, but its new content cannot be opened, so the previous "
                f"graph is still served: {live.problem}"
            )
        return [hide_secrets(reason) for reason in reasons if reason]

    async def _probe(self) -> str | None:
        try:
            async with self._live.graph() as graph, asyncio.timeout(self.probe_seconds):
                await graph.db.ping()
                if graph.graph_schema.latest is None:
                    await graph.graph_schema.lists()
        except TimeoutError:
            return f"The store did not answer within {self.probe_seconds:g} s."
        except BfsqlError as error:
            return str(error)
        except Exception as fault:  # noqa: BLE001 - a driver's own
            return f"The store cannot be queried: {type(fault).__name__}: {fault}"
        return None


def admin_application(
    health: Callable[[str], Awaitable[Response]], measure: Callable[[str], MetricsText]
) -> ASGIApp:
    """The three paths as an ASGI application.

    Args:
        health: Answers `/livez` and `/readyz`.
        measure: Returns the metrics for a header `Accept`, and their content type; it raises
            `ImportError` if the package for metrics is not installed.
    """
    from starlette.responses import PlainTextResponse, Response

    async def answer(scope: Scope) -> Response:
        if scope["method"] not in {"GET", "HEAD"}:
            status, allowed = HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": "GET, HEAD"}
            return PlainTextResponse("Only GET and HEAD are allowed.\n", status, allowed)
        accept = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
        match scope["path"]:
            case "/livez" | "/readyz" as path:
                return await health(path)
            case "/metrics":
                try:
                    text, kind = await measure(accept)
                except ImportError:
                    return PlainTextResponse(_WITHOUT_CLIENT, HTTPStatus.NOT_IMPLEMENTED)
                return Response(text, headers={"Content-Type": kind})
        return PlainTextResponse(_LISTED, HTTPStatus.NOT_FOUND)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        response = await answer(scope)
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        await response(scope, receive, send)

    return application


def admin_server(app: ASGIApp, settings: ServeSettings) -> WithoutSignals:
    """A server for the admin port."""
    from bfsql.serving.connections import Connections
    from bfsql.serving.draining import WithoutSignals

    own = Connections(settings, of_admin_port=True)
    return WithoutSignals(
        app,
        http=own.protocol,
        backlog=own.backlog,
        timeout_keep_alive=ceil(settings.idle_timeout),
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )


async def _health(healths: Mapping[str, Health], path: str) -> Response:
    """Ready if a graph can be asked: one of several that cannot is no reason to stop the others."""
    from starlette.responses import PlainTextResponse, Response

    if path == "/livez" and all(health.alive for health in healths.values()):
        return PlainTextResponse("ok\n")
    if path == "/livez":
        return PlainTextResponse(_HUNG, HTTPStatus.SERVICE_UNAVAILABLE)
    found = {name: (health.reasons(), health.age) for name, health in healths.items()}
    ready = any(not reasons for reasons, _ in found.values())
    ages = [age for _, age in found.values() if age is not None]
    whys = [f"{name}: {why}" if name else why for name, (some, _) in found.items() for why in some]
    document = {"ready": ready, "reasons": whys, "age": round(max(ages), 1) if ages else None}
    text = json.dumps(document, ensure_ascii=False) + "\n"
    status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
    return Response(text, status, media_type="application/json")


def readings(lives: Sequence[LiveGraph], server: Server | None) -> Iterator[Reading]:
    """What the parts of a server report about their state; over stdio, there is no HTTP server."""
    calls = lives[0].calls
    yield Reading("bfsql_workers", "Processes that answer calls.", 1)
    yield Reading("bfsql_draining", "Whether the server is shutting down.", calls.draining)
    yield Reading("bfsql_calls_running", "Calls in progress.", calls.under_way)
    for live in lives:
        own = {"graph": live.name} if live.name else {}
        for one in _of_graph(live):
            yield one._replace(labels={**one.labels, **own})
    if server is None:
        return
    now, limit, ended = server.connections.open, server.connections.limit, server.connections.ended
    yield Reading("bfsql_connections", "Open connections.", now)
    yield Reading("bfsql_connections_limit", "Limit of concurrent connections.", limit)
    text = "Connections that the server refused or closed, by reason."
    yield from _by_label("bfsql_connections_ended", text, "reason", ended)
    text = "Requests refused by access checks and limits, by status."
    yield from _by_label("bfsql_requests_refused", text, "status", server.requests.refused)


def _of_graph(live: LiveGraph) -> Iterator[Reading]:
    memory, breaker = live.current.memory, live.current.breaker
    stale = "Whether the store holds a newer graph than the one that is served."
    yield Reading("bfsql_call_memory_bytes", "Memory used by the calls in progress.", memory.held)
    yield Reading("bfsql_call_memory_peak_bytes", "The peak of that memory.", memory.peak)
    yield Reading("bfsql_graph_stale", stale, live.problem is not None)
    if live.admission is not None:
        waiting = live.admission.waiting
        yield Reading("bfsql_calls_waiting", "Calls that are waiting for their turn.", waiting)
        text = "Calls refused because there were too many, by reason."
        yield from _by_label("bfsql_calls_refused", text, "reason", live.admission.refused)
    count, ends = (
        (len(live.sessions), live.sessions.ended) if live.sessions is not None else (0, {})
    )
    yield Reading("bfsql_sessions", "Sessions of the 2025 protocol that are open.", count)
    by_reason = {reason: ends.get(reason, 0) for reason in ("client", "evicted", "expired")}
    yield from _by_label(
        "bfsql_sessions_ended", "Sessions that ended, by reason.", "reason", by_reason
    )
    if breaker is not None:
        text = "State of the store's circuit breaker: 1 for the current state."
        for state in ("closed", "open", "half-open"):
            yield Reading("bfsql_breaker", text, breaker.state == state, {"state": state})
        text = "Consecutive calls and probes that the store did not answer."
        yield Reading("bfsql_breaker_failures", text, breaker.failures)


def _by_label(name: str, text: str, label: str, counts: Mapping[Any, int]) -> Iterator[Reading]:
    """A counter with one label, whose values are the keys of the counts."""
    for value, count in counts.items():
        yield Reading(name, text, count, {label: str(value)}, counts=True)


def admin_listener(settings: ServeSettings) -> AbstractContextManager[socket.socket | None]:
    """The socket of the admin port; None if there is none."""
    if settings.admin_port is None:
        return nullcontext()
    listener = bind(settings.admin_host, settings.admin_port)
    sys.stderr.write(f"Health and metrics are at {url(listener, '')}\n")
    sys.stderr.flush()
    return listener


@asynccontextmanager
async def serving_admin(
    listener: socket.socket | None, *lives: LiveGraph, public: Server | None = None
) -> AsyncIterator[None]:
    """Serve the admin port, if there is one, in a thread of its own while the block runs."""
    if listener is None:
        yield
        return
    loop, healths = asyncio.get_running_loop(), {live.name: Health(live) for live in lives}
    observers, settings = lives[0].current.observers.all, lives[0].settings
    metrics = next((one for one in observers if isinstance(one, Metrics)), Metrics())

    async def measured(accept: str) -> tuple[bytes, str]:
        return exposition(metrics, readings(lives, public), accept)

    def measure(accept: str) -> MetricsText:
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(measured(accept), loop))

    server = admin_server(admin_application(partial(_health, healths), measure), settings)
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[listener])), name="admin", daemon=True
    )
    checking = [
        loop.create_task(health.check(), context=call.outside(name))
        for name, health in healths.items()
    ]
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        for check in checking:
            check.cancel()
        await asyncio.gather(*checking, return_exceptions=True)
        await until(lambda: not thread.is_alive(), 3.0)
