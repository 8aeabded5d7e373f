"""The evidence that touches an entity, where the API has a route for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bfsql import call
from bfsql.models.merge import ITEM_FIELDS
from bfsql_jsonld.api import Api
from bfsql_jsonld.fields import omissions
from bfsql_jsonld.replies import Request, Unreadable

MOST = 1_000
"""Items that are asked for at the most."""

_NO_ROUTE = (404, 405, 410, 501)
_FIELDS = ("subject", "predicate", "object", *ITEM_FIELDS)


class Evidence:
    """Asks the route of the evidence.

    Args:
        api: Where it is.
    """

    def __init__(self, api: Api) -> None:
        self._session = api.session
        self._routes = api.routes

    async def of(self, entity_id: str, limit: int) -> dict[str, Any] | None:
        """As `provenance_for_node` gives it, or None where there is no such route.

        Args:
            entity_id: An entity that exists.
            limit: Items to give at the most; 0 asks for their number alone.
        """
        url = self._routes.provenance(entity_id, min(max(limit, 1), MOST))
        reply = None if url is None else await self._session.ask(Request(url))
        if reply is None or reply.status in _NO_ROUTE:
            return None
        document = reply.json()
        with reply.read():
            items = document.get("items") if isinstance(document, Mapping) else None
            if not isinstance(items, list) or not all(isinstance(one, Mapping) for one in items):
                raise Unreadable("there is no list of objects in the field items")
        call.omitted(*omissions(document))
        found = {
            "total": document.get("total"),
            "items": [{name: item.get(name) for name in _FIELDS} for item in items[:limit]],
        }
        read = document.get("edges_read")
        return found if read is None else found | {"edges_read": read}
