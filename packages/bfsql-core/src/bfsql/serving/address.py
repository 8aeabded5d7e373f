"""The address that a server over HTTP listens on, and the socket that listens there."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bfsql.errors import ConfigurationError
from bfsql.serving.logs import OnceAMinute

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings

_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_BIND_ERRORS = {
    errno.EADDRINUSE: "it is in use. Stop the program that listens there, or choose another port",
    errno.EACCES: "this user may not use it. Choose a port from 1024 on",
    errno.EADDRNOTAVAIL: "the host is not an address of this machine. Choose one of its addresses",
}

_logger = logging.getLogger(__name__)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(settings: ServeSettings) -> None:
    """Refuse to listen for other machines without a token or without a list of allowed names.

    Anyone who reaches a server without a token can read the whole graph; `insecure` permits this,
    with a warning on standard error. If names were not checked, a web page that a user has open
    could reach the graph under a name of its own (DNS rebinding).
    """
    host = settings.host
    if is_loopback(host):
        return
    if not (settings.allowed_hosts or settings.public_url):
        raise ConfigurationError(
            f"The host {host!r} is reachable from other machines, and allowed_hosts is empty. "
            "Set it (--allowed-hosts) to the names that clients call this server by, for instance "
            "graph.example.org (or * for any name), or listen on 127.0.0.1."
        )
    if settings.bearer_token is not None or settings.bearer_tokens or settings.oauth_issuer:
        return
    if not settings.insecure:
        raise ConfigurationError(
            f"The host {host!r} is reachable from other machines, and no token is set, so anyone "
            "who reaches it could read the whole graph. Set bearer_tokens (a file; `bfsql token "
            "NAME` prints a line of it) or bearer_token, or listen on 127.0.0.1. If something in "
            "front of this server decides who may call, set insecure."
        )
    sys.stderr.write(
        f"WARNING: {host} is reachable from other machines, and no token is set: anyone who "
        "reaches it can read the whole graph (--insecure).\n"
    )


class Listener(socket.socket):
    """A socket that accepts few connections at a time, and survives a lack of files.

    asyncio accepts as many connections in a row as its queue is long; for each that fails for lack
    of file descriptors it logs a traceback and tries again, which uses a whole processor. Here such
    a connection is closed immediately: a reserved file descriptor is used to accept it.
    """

    at_a_time = 16
    """Connections accepted before the event loop does other work."""

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(
            listening.family, listening.type, listening.proto, fileno=listening.detach()
        )
        self._reserve: int | None = _reserve()
        self._accepted = 0
        self._shed = 0
        self._may_log = OnceAMinute()

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection.

        Raises:
            BlockingIOError: There is no connection, or enough have been accepted for now.
            OSError: The connection cannot be accepted.
        """
        if self._accepted >= self.at_a_time:
            raise BlockingIOError
        if not self._accepted:
            asyncio.get_running_loop().call_soon(self._begin_again)
        self._accepted += 1
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _NO_FILES:
                raise
            self._accepted = self.at_a_time
            self._reserve = _reserve() if self._reserve is None else self._reserve
            if self._reserve is None:
                raise  # asyncio waits for a second
            self._shed_one(self._reserve, error)
            raise BlockingIOError from error

    def close(self) -> None:
        """Stop listening."""
        if self._reserve is not None:
            os.close(self._reserve)
            self._reserve = None
        super().close()

    def _begin_again(self) -> None:
        self._accepted = 0

    def _shed_one(self, reserve: int, error: OSError) -> None:
        """Close a waiting connection, using the reserved file descriptor."""
        os.close(reserve)
        with suppress(OSError):
            super().accept()[0].close()
        self._reserve = _reserve()
        self._shed += 1
        if self._may_log():
            _logger.error(
                "Connections are being closed unanswered, %d so far, because the process has "
                "reached its limit of open files (%s). Raise the limit (ulimit -n, LimitNOFILE), "
                "or lower max_connections.",
                self._shed,
                error.strerror,
            )


def _reserve() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None


def bind(host: str, port: int, *, shared: bool = False) -> Listener:
    """Listen on a port of an interface of this machine; early clients wait in the socket's queue.

    If it is `shared`, other processes may listen there, too, among whom Linux shares connections.

    Raises:
        ConfigurationError: The address is in use, not permitted, or not an address of this machine.
    """
    if not 0 <= port <= 65_535:  # the last port
        raise ConfigurationError(
            f"The server cannot listen on port {port}. "
            "Choose one from 1 to 65535, or 0 for any that is free."
        )
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048, reuse_port=shared)
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
    return Listener(listener)


def url(listener: socket.socket, path: str) -> str:
    """The address of the server that listens on a socket; a path begins with a slash."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"
