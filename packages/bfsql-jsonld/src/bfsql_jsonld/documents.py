"""Documents that describe a piece of the graph, read as the settings say."""

from __future__ import annotations

from typing import Any

from bfsql_jsonld.attributes import Attributes
from bfsql_jsonld.described import Described
from bfsql_jsonld.linked import Linked
from bfsql_jsonld.replies import Reply
from bfsql_jsonld.settings import JsonLdSettings


class Documents:
    """Reads documents.

    Args:
        attributes: Reads those of context brokers.
        linked: Reads all others, as JSON-LD.
        settings: Which of them the API gives.
    """

    def __init__(self, attributes: Attributes, linked: Linked, settings: JsonLdSettings) -> None:
        self._attributes = attributes
        self._linked = linked
        self._settings = settings

    async def read(self, reply: Reply, document: Any) -> Described:
        """What a document says, or a list of them.

        Raises:
            StoreError: It is not what it should be.
        """
        if self._settings.reading == "attributes":
            with reply.read():
                return self._attributes.read(document)
        return await self._linked.read(reply, document)
