"""What answers questions about one entity, wherever the API keeps its relations."""

from __future__ import annotations

from typing import Any, Protocol

from bfsql.models.records import Node, Triple


class Source(Protocol):
    """Entities by routes of their own, or by their documents."""

    async def node(self, entity_id: str) -> Node:
        """An entity with its metadata.

        Raises:
            KeyError: There is none.
        """
        ...

    async def edges(self, entity_id: str, direction: str) -> list[Triple]:
        """The relations that leave (`out`) or enter (`in`) an entity.

        Raises:
            KeyError: There is no such entity.
        """
        ...

    async def ring(self, entity_id: str) -> list[Triple]:
        """All relations that touch an entity.

        Raises:
            KeyError: There is no such entity.
        """
        ...

    async def edge_metadata(self, triple: Triple) -> dict[str, Any]:
        """What is known of a relation.

        Raises:
            KeyError: There is none.
        """
        ...
