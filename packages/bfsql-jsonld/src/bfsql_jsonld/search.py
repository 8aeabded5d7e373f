"""Search: the route that takes a name, and its candidates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bfsql import call
from bfsql.errors import StoreError
from bfsql.models.records import EntityStub
from bfsql_jsonld.attributes import Described
from bfsql_jsonld.documents import Documents
from bfsql_jsonld.entities import Source
from bfsql_jsonld.fields import omissions
from bfsql_jsonld.replies import Reply, Request, Unreadable
from bfsql_jsonld.routes import SEARCHED, Api

_ID = re.compile(r"\S+:\S+")


class Searching:
    """Requests the search route.

    Args:
        api: The route, and the names of its fields.
        documents: Reads answers that have no such fields.
    """

    def __init__(self, api: Api, documents: Documents) -> None:
        self._session = api.session
        self._routes = api.routes
        self._fields = api.fields
        self._settings = api.settings
        self._documents = documents

    async def search(self, source: Source, text: str, types: Sequence[str]) -> list[EntityStub]:
        """Candidates, best first.

        Args:
            source: Looks up a possible id if the route knows only names.
            text: A person's name for the entity.
            types: Types to include, even if the API does not filter them; none for all.
        """
        s = self._settings
        found: list[EntityStub] = []
        if (not s.search_path or s.relations == "document") and _ID.fullmatch(text.strip()):
            found += await self._by_id(source, text.strip())
        if s.search_path:
            found += await self._by_name(text, types)
        return [stub for stub in found if not types or stub.entity_type in types][:SEARCHED]

    async def _by_name(self, text: str, types: Sequence[str]) -> list[EntityStub]:
        s = self._settings
        sent = s.query_text.replace("{text}", text).replace("{pattern}", _pattern(text))
        reply = await self._session.ask(Request(self._routes.search(sent, types)))
        if reply.gone:
            raise StoreError(
                f"{reply.request.label} returned {reply.status}: the API has no search there. "
                "Check base_url. If it is correct, set search_path to the route of the search, "
                "or to an empty text if there is none."
            )
        document = reply.json()
        call.omitted(*omissions(document))
        return await self._stubs(reply, document)

    async def _by_id(self, source: Source, entity_id: str) -> list[EntityStub]:
        try:
            node = await source.node(entity_id)
        except KeyError:
            return []
        return [EntityStub(node.id, node.entity_type, _text(node.metadata.get("name")))]

    async def _stubs(self, reply: Reply, document: Any) -> list[EntityStub]:
        s = self._settings
        hits = self._fields.hits(document)
        if s.reading == "fields" or (
            s.reading == "auto"
            and hits is not None
            and all(self._fields.is_entity(hit) for hit in hits)
        ):
            with reply.read():
                if hits is None:
                    named = " or ".join(s.results_field)
                    raise Unreadable(f"there is no list of hits in the field {named}")
                return [self._fields.stub(hit) for hit in hits]
        return _described(await self._documents.read(reply, document))


def _described(found: Described) -> list[EntityStub]:
    """The nodes that a document describes, those at its top first."""
    order = {entity_id: at for at, entity_id in enumerate(found.roots)}
    ids = sorted(found.nodes, key=lambda entity_id: order.get(entity_id, len(order)))
    return [EntityStub(i, found.nodes[i][0], _text(found.nodes[i][1].get("name"))) for i in ids]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _pattern(text: str) -> str:
    """The text as a regular expression, in which special characters match any character."""
    return re.sub(r"[^\w -]", ".", text)
