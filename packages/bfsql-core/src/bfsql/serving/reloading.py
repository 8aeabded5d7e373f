"""Reloading the configuration and reopening the graph while a server runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeAlias

from bfsql.errors import BfsqlError
from bfsql.serving.live import GraphFactory, LiveGraph
from bfsql.serving.logs import log_to_stderr
from bfsql.settings import ServeSettings

log = logging.getLogger("bfsql")

Configured: TypeAlias = tuple[GraphFactory, ServeSettings]
"""What opens the graph, and the settings of the server."""

_AT_START = (
    *("transport", "rest", "host", "port", "allowed_hosts", "cors_origins", "stateless"),
    "trusted_proxies",
    *("bearer_token", "bearer_tokens", "insecure", "max_request_bytes", "log_format"),
    *("max_connections", "read_timeout", "write_timeout", "idle_timeout"),
    *("max_sessions", "session_timeout", "admin_host", "admin_port", "record"),
)
"""Settings that are read only when the server starts."""


class Reloading:
    """Reloads the configuration and reopens the graph, without losing a call.

    Args:
        live: The graph that is served.
        configure: Reads the configuration.
    """

    def __init__(self, live: LiveGraph, configure: Callable[[], Configured]) -> None:
        self._live, self._configure = live, configure
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Reload in the background."""
        task = asyncio.get_running_loop().create_task(self._reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """Cancel a reload in progress."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _reload(self) -> None:
        try:
            factory, settings = self._configure()
            taken, kept = renewed(self._live.settings, settings)
            await self._live.reload(factory, taken)
        except Exception as error:  # noqa: BLE001 - the server goes on, whatever it is
            why = str(error) if isinstance(error, BfsqlError) else repr(error)
        else:
            if taken.log_level != logging.getLevelName(logging.getLogger().level).lower():
                log_to_stderr(taken)
            if kept:
                log.warning(
                    "These settings are read only at the start: %s. Restart the server to apply "
                    "the new values.",
                    ", ".join(kept),
                )
            return
        log.error(
            "The new configuration cannot be used, and the previous one stays in effect. %s", why
        )


def renewed(before: ServeSettings, now: ServeSettings) -> tuple[ServeSettings, list[str]]:
    """The new settings that a running server can apply, and the names of the others."""
    kept = [name for name in _AT_START if getattr(now, name) != getattr(before, name)]
    return now.model_copy(update={name: getattr(before, name) for name in kept}), kept
