"""Notifications that the descriptions of the tools have changed (`tools/list_changed`).

A client of the 2025 protocol is notified in its session once it has listed the tools; one of the
later protocol is notified if it listens for changes.
"""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakSet

import anyio
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult, Tool
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from bfsql.server.passage import scope_of
from bfsql.serving.requests import request_of


class ListChanges:
    """The clients that are notified when the list of tools changes."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        # Unlimited: streams are limited as connections over HTTP, and as requests over stdio.
        self._streams = ListenHandler(self._bus, max_subscriptions=1_000_000)
        self._sessions: WeakSet[Connection] = WeakSet()
        self._listed: list[Tool] | None = None

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Answer `subscriptions/listen`: a stream that ends with the client or with `close`."""
        request = request_of(scope_of(ctx))
        if request is not None:
            request.listens = True
        return await self._streams(ctx, params)

    def note(self, ctx: ServerRequestContext[Any, Any], tools: list[Tool]) -> None:
        """Record the list of tools that a client has received."""
        self._listed = tools
        if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            self._sessions.add(ctx.session._connection)  # noqa: SLF001 - of the SDK, not public

    @property
    def anyone_listed(self) -> bool:
        """Whether any client has received a list of tools."""
        return self._listed is not None

    async def announce(self, tools: list[Tool]) -> None:
        """Notify the clients if the list of tools differs from the one they received."""
        if tools != self._listed:
            self._listed = tools
            await self._bus.publish(ToolsListChanged())
            await asyncio.gather(*map(_notify, tuple(self._sessions)))

    def close(self) -> None:
        """End the streams of clients that listen."""
        self._streams.close()


async def _notify(session: Connection) -> None:
    with anyio.move_on_after(5.0):
        await session.send_tool_list_changed()
