"""The address that a server over HTTP listens on."""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from typing import TYPE_CHECKING

from bfsql.errors import ConfigurationError

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings

LAST_PORT = 65_535

_BIND_ERRORS = {
    errno.EADDRINUSE: "it is in use. Stop the program that listens there, or choose another port",
    errno.EACCES: "this user may not use it. Choose a port from 1024 on",
    errno.EADDRNOTAVAIL: "the host is not an address of this machine. Choose one of its addresses",
}


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

    Raises:
        ConfigurationError: The host is not a loopback address, and no name is allowed, or neither a
            token nor `insecure` is set.
    """
    host = settings.host
    if is_loopback(host):
        return
    if not settings.allowed_hosts:
        raise ConfigurationError(
            f"The host {host!r} is reachable from other machines, and allowed_hosts is empty. "
            "Set allowed_hosts to the names that clients call this server by, for instance "
            "graph.example.org (or * for any name), or listen on 127.0.0.1."
        )
    if settings.bearer_token is not None or settings.bearer_tokens is not None:
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


def bind(host: str, port: int) -> socket.socket:
    """Open a listening socket; early clients wait in its queue.

    Args:
        host: Name or address of an interface of this machine.
        port: 0 to 65535; 0 takes any free one.

    Raises:
        ConfigurationError: The address is in use, not permitted, or not an address of this machine.
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
