"""What every server over HTTP needs, whichever protocol it speaks.

The address that it listens on, who may call it (token, host names, origins), its
log, and running it on uvicorn. MCP (`bfsql.server`) and the web API (`bfsql.rest`)
are applications in front of this module:

    run_http(graph_factory, settings, "bfsql.rest.app")

Neither uvicorn nor starlette is imported with this module. They are imported in a
thread while the store is being opened.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import hmac
import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from bfsql.errors import ConfigurationError

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bfsql.graph import Graph
    from bfsql.settings import ServeSettings

GraphFactory: TypeAlias = "Callable[[], AbstractAsyncContextManager[Graph]]"
"""Opens a graph in the running event loop, and closes it at the end."""

Refusal: TypeAlias = "Callable[[HTTPStatus, str], Response]"
"""Makes the answer to a request that is not let through, from its status and a sentence."""

ANY = "*"
"""In `allowed_hosts`: clients may call the server by any name."""

LAST_PORT = 65_535

SHUTDOWN_SECONDS = 5
"""Time that calls under way have to end when the server is stopped."""

_GC_THRESHOLDS = (100_000, 50, 100)
"""Collecting less often takes a tenth off a hub of 60,000 edges (decision 0001)."""

_LIBRARY_LOGGERS = ("mcp", "uvicorn", "sse_starlette", "httpx", "asyncio")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ANY_PORT = ":*"

_BIND_ERRORS = {
    errno.EADDRINUSE: "it is in use. Stop what listens there, or choose another port",
    errno.EACCES: "this user may not use it. Choose a port from 1024 on",
    errno.EADDRNOTAVAIL: "the host is not an address of this machine. Choose one that is",
}


# Running a server


def run_http(graph_factory: GraphFactory, settings: ServeSettings, module: str) -> None:
    """Serve a graph over HTTP until the operator stops the server; blocking.

    Args:
        graph_factory: Opens the graph in the server's event loop.
        settings: Address and bounds.
        module: Name of the module whose `application(graph, settings)` answers and whose
            `GREETING` names the `{url}`. It is imported while the graph is being opened.

    Raises:
        ConfigurationError: The address cannot be listened on, or is reachable
            from elsewhere without allowed hosts.
        BfsqlError: Whatever opening the graph raises.
    """
    log_to_stderr(settings.log_level)
    check_exposure(settings.host, settings.allowed_hosts)
    with bind(settings.host, settings.port) as listener:
        asyncio.run(_run_http(graph_factory, settings, module, listener))


async def _run_http(
    graph_factory: GraphFactory, settings: ServeSettings, module: str, listener: socket.socket
) -> None:
    async with open_while_importing(graph_factory, module, "uvicorn") as graph:
        import uvicorn

        application_module = import_module(module)
        config = uvicorn.Config(
            application_module.application(graph, settings),
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        sys.stderr.write(f"{application_module.GREETING.format(url=url(listener, ''))}\n")
        sys.stderr.flush()
        with _repeated_signals_ignored():
            await uvicorn.Server(config).serve(sockets=[listener])


@asynccontextmanager
async def open_while_importing(graph_factory: GraphFactory, *modules: str) -> AsyncIterator[Graph]:
    """Open a graph; the named modules, which take long to import, are imported meanwhile."""

    def import_ahead() -> None:
        with suppress(ImportError):  # raised again in the main thread
            for module in modules:
                import_module(module)

    importing = threading.Thread(target=import_ahead, daemon=True)
    importing.start()
    async with graph_factory() as graph:
        await asyncio.to_thread(importing.join)
        gc.set_threshold(*_GC_THRESHOLDS)
        yield graph


@contextmanager
def _repeated_signals_ignored() -> Iterator[None]:
    """Let the process go on to close the graph and end with 0 after a signal.

    After its shutdown, uvicorn raises the signal that stopped it once more, for the
    handler that was installed before. The default handler would end the process before
    the graph is closed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopping = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in stopping}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def log_to_stderr(level: str) -> None:
    """Send log records of a level and above to standard error.

    Libraries show their warnings alone, unless the level is `debug`.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    if logging.getLogger().level > logging.DEBUG:
        for name in _LIBRARY_LOGGERS:
            logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))


# The address


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, allowed_hosts: Collection[str]) -> None:
    """Refuse to be reachable from other machines unless the operator has named the hosts.

    A web page that a user has open could otherwise reach the graph under a
    name of its own (DNS rebinding).

    Raises:
        ConfigurationError: The host is no loopback address and no name is allowed.
    """
    if not allowed_hosts and not is_loopback(host):
        raise ConfigurationError(
            f"The host {host!r} is reachable from other machines, and allowed_hosts is empty. "
            "Set allowed_hosts to the names that clients call this server by, for instance "
            "graph.example.org (or * for any name), or listen on 127.0.0.1."
        )


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; early clients wait in its queue.

    Args:
        host: Name or address of an interface of this machine.
        port: 0 to 65535; 0 takes any free one.

    Raises:
        ConfigurationError: In use, forbidden, or no address of this machine.
    """
    if not 0 <= port <= LAST_PORT:
        raise ConfigurationError(
            f"The server cannot listen on port {port}. "
            f"Choose one from 1 to {LAST_PORT}, or 0 for any that is free."
        )
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        known = _BIND_ERRORS.get(getattr(error, "errno", None) or 0)
        if isinstance(error, socket.gaierror):
            known = "the host has no address. Check its spelling, or use 127.0.0.1"
        raise ConfigurationError(
            f"The server cannot listen on port {port} of {host}: {known or error}."
        ) from error
    # Connections inherit it. asyncio sets it only on sockets whose protocol is named, and
    # without it an answer in two writes waits 40 ms for the client to acknowledge the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def url(listener: socket.socket, path: str) -> str:
    """The address of the server that listens on a socket; a path begins with a slash."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


# Who may call


def require_token(app: ASGIApp, token: str, refusal: Refusal) -> ASGIApp:
    """The application behind a shared token: a request without it gets 401.

    For verifiers of one's own, with issuers and scopes, use the SDK's
    `streamable_http_app(auth=..., token_verifier=...)`. The token is compared in constant
    time and never logged.
    """
    secret = token.encode()

    def allowed(scope: Scope) -> bool:
        given = _header_values(scope, b"authorization")
        scheme, _, value = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        return scheme.lower() == b"bearer" and hmac.compare_digest(value.strip(), secret)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        answer = app
        if scope["type"] == "http" and not allowed(scope):
            answer = refused = refusal(
                HTTPStatus.UNAUTHORIZED,
                "This server wants the header 'Authorization: Bearer TOKEN' with its token.",
            )
            refused.headers["WWW-Authenticate"] = "Bearer"
        await answer(scope, receive, send)

    return guarded


@dataclass(frozen=True, slots=True)
class AllowedNames:
    """Values that the headers `Host` and `Origin` may have; an entry for any port ends in `:*`."""

    hosts: tuple[str, ...]
    origins: tuple[str, ...]

    def allows_host(self, host: str | None) -> bool:
        """Whether a request to this `Host` is answered."""
        return host is not None and _matches(host, self.hosts)

    def allows_origin(self, origin: str | None) -> bool:
        """Whether a web page of this `Origin` may ask; programs send none."""
        return origin is None or _matches(origin, self.origins)


def allowed_names(host: str, allowed_hosts: Iterable[str]) -> AllowedNames | None:
    """The names that a server on a host is called by, beside those of loopback; None is any."""
    allowed = [*((*_LOOPBACK, host) if is_loopback(host) else ()), *allowed_hosts]
    if ANY in allowed:
        return None
    hosts = [entry for name in dict.fromkeys(allowed) for entry in (name, f"{name}{_ANY_PORT}")]
    origins = [f"{scheme}://{entry}" for entry in hosts for scheme in ("http", "https")]
    return AllowedNames(tuple(hosts), tuple(origins))


def require_known_names(
    app: ASGIApp, names: AllowedNames, cors_origins: Collection[str], refusal: Refusal
) -> ASGIApp:
    """The application behind its names: a foreign `Host` gets 421, a foreign `Origin` 403.

    This prevents DNS rebinding (`check_exposure`). The MCP SDK has a guard like it, which takes
    the same names. `cors_origins` are those of other web pages that may ask; `*` is any.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        answer = app
        if scope["type"] == "http":
            host, origin = _header(scope, b"host"), _header(scope, b"origin")
            known = names.allows_origin(origin) or origin in cors_origins or ANY in cors_origins
            if not names.allows_host(host):
                answer = refusal(
                    HTTPStatus.MISDIRECTED_REQUEST,
                    "This server is not called by the name in the header Host. Call it by a name "
                    "that it knows, or have its operator add the name to allowed_hosts.",
                )
            elif not known:
                answer = refusal(
                    HTTPStatus.FORBIDDEN,
                    "Pages of the origin in the header Origin may not ask this server. Its "
                    "operator can add the origin to cors_origins.",
                )
        await answer(scope, receive, send)

    return guarded


def _matches(value: str, allowed: Iterable[str]) -> bool:
    """Whether a value is allowed, in any case; `:*` stands for a port."""
    name, _, port = value.lower().rpartition(":")
    known = {entry.lower() for entry in allowed}
    return value.lower() in known or (port.isdecimal() and f"{name}{_ANY_PORT}" in known)


def _header_values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for given, value in scope["headers"] if given == name]


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for value in _header_values(scope, name)), None)
