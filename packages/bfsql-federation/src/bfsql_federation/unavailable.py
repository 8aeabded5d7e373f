"""The place of a graph that could not be opened yet."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, NoReturn

from bfsql.abc import GraphDbInterface
from bfsql.errors import StoreUnavailable
from bfsql.models import Node


class UnavailableBackend(GraphDbInterface):
    """Answers nothing, and reports a change as soon as the graph can be opened.

    Args:
        opening: Opens the graph.
        reason: Why it could not be opened.
    """

    def __init__(self, opening: Callable[[], Awaitable[GraphDbInterface]], reason: str) -> None:
        self._opening, self._reason = opening, reason
        self._is_back: bool | None = None

    async def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreUnavailable(self._reason)

    search_entities = edges_from = edges_to = get_node = metadata_for_node = _refuse
    metadata_for_edge = entity_types = predicates = outline = keys = _refuse

    async def nodes_stream(self, **_: Any) -> AsyncGenerator[list[Node]]:
        """Nothing.

        Raises:
            StoreUnavailable: Always.
        """
        if self._reason:
            await self._refuse()
        yield []

    async def ping(self) -> None:
        """Return once the graph can be opened.

        Raises:
            StoreUnavailable: It cannot be opened yet.
        """
        await (await self._opening()).close()
        self._is_back = True

    def changed(self) -> bool | None:
        """True once the graph can be opened, so that all graphs are opened again."""
        return self._is_back
