"""A listening socket that accepts few connections at a time, and survives a lack of files."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from contextlib import suppress
from typing import Any

from bfsql.serving.logs import OnceAMinute

_AT_A_TIME = 16
"""Connections accepted before the event loop does other work."""

_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_logger = logging.getLogger(__name__)


class Listener(socket.socket):
    """A socket for `loop.create_server` or uvicorn's `sockets=`.

    asyncio accepts as many connections in a row as its queue is long; for each that fails for lack
    of file descriptors it logs a traceback and tries again, which uses a whole processor. Here such
    a connection is closed immediately: a reserved file descriptor is used to accept it.
    """

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
        if self._accepted >= _AT_A_TIME:
            raise BlockingIOError
        if not self._accepted:
            asyncio.get_running_loop().call_soon(self._begin_again)
        self._accepted += 1
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _NO_FILES:
                raise
            self._accepted = _AT_A_TIME
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
