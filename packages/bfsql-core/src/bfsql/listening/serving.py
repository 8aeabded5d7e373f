"""An application on uvicorn, from a socket that listens to a process that ends with 0."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

FAREWELL = 5
"""Seconds that calls under way have to end when the server is told to stop."""


async def serve(
    application: ASGIApp,
    listening: socket.socket,
    greeting: str,
    *,
    lifespan: Literal["on", "off"] = "off",
) -> None:
    """Answer over HTTP until SIGTERM or SIGINT.

    Args:
        application: What answers.
        listening: From `address.bind`; closed at the end.
        greeting: What the operator is told on standard error, at every log level.
        lifespan: Whether the application wants to be told of the beginning and the end.
    """
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan=lifespan,
        timeout_graceful_shutdown=FAREWELL,
    )
    sys.stderr.write(f"{greeting}\n")
    sys.stderr.flush()
    with _stopping_is_no_failure():
        await uvicorn.Server(config).serve(sockets=[listening])


@contextmanager
def _stopping_is_no_failure() -> Iterator[None]:
    """Let the process go on to close the graph and end with 0 after a signal.

    Uvicorn raises the signal that stopped it once more when it has shut down,
    for the handler that was there before: without this one, the process would
    die of it before the graph is closed.
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
