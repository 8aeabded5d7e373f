"""Where the server's own words go: standard error, never standard output."""

from __future__ import annotations

import logging
import sys

_CHATTY = ("mcp", "uvicorn", "sse_starlette", "httpx", "asyncio")


def log_to_stderr(level: str) -> None:
    """Send log records to standard error.

    Args:
        level: Name of the lowest level to show, in any case. Libraries show
            their warnings alone, unless the level is `debug`.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    if logging.getLogger().level > logging.DEBUG:
        for name in _CHATTY:
            logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))
