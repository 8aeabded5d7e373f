"""Standard output for JSON-RPC and nothing else (rule 10 of the house)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_STDOUT, _STDERR = 1, 2


@contextmanager
def wire() -> Iterator[TextIO]:
    """Take standard output away from everything but the server, on the level of the system.

    Whatever Python code, a driver in C or a child process prints meanwhile goes
    to standard error. It begins before the store is opened and ends after it is
    closed, since backends print in both.

    Yields:
        What was standard output, UTF-8.
    """
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8", newline="\n") as out:
            yield out
    finally:
        sys.stdout.flush()
        os.dup2(kept, _STDOUT)
        os.close(kept)
