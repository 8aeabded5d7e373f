"""The place of a graph that could not be opened yet."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from bfsql.abc.interface import GraphDbInterface
from bfsql.errors import StoreUnavailable
from bfsql.models import Node


class UnavailableBackend(GraphDbInterface):
    """Answers nothing, and reports a change as soon as the graph can be opened.

    Args:
        failure: Makes the error that says why it could not be opened.
        opening: Opens the graph; None if that is tried elsewhere, whenever the graph is asked.
    """

    def __init__(
        self,
        failure: Callable[[], StoreUnavailable],
        opening: Callable[[], Awaitable[GraphDbInterface]] | None = None,
    ) -> None:
        self._failure, self._opening = failure, opening
        self._is_back = None if opening else True

    async def _refuse(self, *_: Any, **__: Any) -> Any:
        raise self._failure()

    search_entities = edges_from = edges_to = get_node = metadata_for_node = _refuse
    metadata_for_edge = entity_types = predicates = outline = keys = _refuse

    async def nodes_stream(self, **_: Any) -> AsyncGenerator[list[Node]]:
        """Nothing.

        Raises:
            StoreUnavailable: Always.
        """
        yield await self._refuse()

    async def ping(self) -> None:
        """Return once the graph can be opened.

        Raises:
            StoreUnavailable: It cannot be opened yet.
        """
        if self._opening is None:
            raise self._failure()
        await (await self._opening()).close()
        self._is_back = True

    def changed(self) -> bool | None:
        """True once the graph can be opened, so that all graphs are opened again."""
        return self._is_back
