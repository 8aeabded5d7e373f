"""The standard streams of the process, reserved for a client's messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bfsql.errors import ConfigurationError

_STDIN, _STDOUT, _STDERR = 0, 1, 2


@contextmanager
def reserved_stdin() -> Iterator[BinaryIO]:
    """Give the process an empty standard input, at the level of file descriptors.

    So a child process, or a driver that prompts for a password, does not read the client's
    messages.

    Yields:
        The original standard input. It stays open, since a thread may still be reading it.
    """
    if sys.stdin is None:
        raise _closed("input", "writes its messages to")
    kept = os.dup(_STDIN)
    with Path(os.devnull).open("rb") as empty:
        os.dup2(empty.fileno(), _STDIN)
    try:
        yield os.fdopen(kept, "rb", closefd=False)
    finally:
        os.dup2(kept, _STDIN)


@contextmanager
def reserved_stdout() -> Iterator[BinaryIO]:
    """Redirect standard output to standard error, at the level of file descriptors.

    This applies to everything that Python code, a driver in C or a child process prints. It begins
    before the store is opened and ends after it is closed, since backends print at both times.

    Yields:
        The original standard output.
    """
    if sys.stdout is None:
        raise _closed("output", "reads the answers from")
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with os.fdopen(os.dup(kept), "wb") as out:
            yield out
    finally:
        sys.stdout.flush()
        os.dup2(kept, _STDOUT)
        os.close(kept)


def _closed(stream: str, purpose: str) -> ConfigurationError:
    return ConfigurationError(
        f"Standard {stream}, which the client {purpose}, is closed. Start the server from a "
        "client, which connects pipes to it, or serve over HTTP (--transport http)."
    )
