"""Log records of a server, on standard error."""

from __future__ import annotations

import logging
import sys

_LIBRARY_LOGGERS = ("mcp", "uvicorn", "sse_starlette", "httpx", "asyncio")


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
