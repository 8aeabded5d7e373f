"""Entities and relations that have routes of their own, as in chapter 12."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bfsql import call
from bfsql.errors import StoreError
from bfsql.models.records import Direction, Node, Omission, Triple
from bfsql_jsonld.api import Api
from bfsql_jsonld.described import Described
from bfsql_jsonld.fields import omissions
from bfsql_jsonld.linked import Linked
from bfsql_jsonld.paging import Pages
from bfsql_jsonld.replies import Reply, Request, Unreadable, short

CUT = "the bound max_pages of the backend"


class ByRoutes:
    """Reads an entity from its route, and its relations from theirs.

    Args:
        api: Where things are, and what their fields are called.
        linked: Reads answers that are JSON-LD and have no such fields.
    """

    def __init__(self, api: Api, linked: Linked) -> None:
        self._session = api.session
        self._routes = api.routes
        self._fields = api.fields
        self._names = api.names
        self._settings = api.settings
        self._linked = linked
        self._pages = Pages(api)

    async def node(self, entity_id: str) -> Node:
        """An entity with its metadata.

        Raises:
            KeyError: There is none.
        """
        url = self._routes.entity(entity_id)
        reply = None if url is None else await self._session.ask(Request(url))
        if reply is None or reply.gone:
            raise KeyError(entity_id)
        document = reply.json()
        if self._by_fields(self._fields.is_entity(document)):
            call.omitted(*omissions(document))
            with reply.read():
                return self._fields.node(document)
        found = await self._linked.read(reply, document)
        known = self._asked(found, entity_id)
        if known is None:
            with reply.read():
                raise Unreadable(
                    f"it says nothing of {short(entity_id)}; fields of an id and a type would be "
                    "id_field and type_field"
                )
        entity_type, metadata = found.nodes[known]
        return Node(known, entity_type, metadata)

    async def edges(self, entity_id: str, direction: str) -> list[Triple]:
        """The relations that leave (`out`) or enter (`in`) an entity.

        Raises:
            KeyError: There is no such entity.
        """
        found, cut = await self._read(entity_id, direction)
        if cut:
            call.omitted(Omission(entity_id, "out" if direction == "out" else "in", reason=CUT))
        return found

    async def ring(self, entity_id: str) -> list[Triple]:
        """All relations that touch an entity; that it exists was found out before.

        Raises:
            KeyError: There is no such entity.
        """
        leaving, out = await self._read(entity_id, "out")
        entering, into = await self._read(entity_id, "in")
        if out or into:
            direction: Direction = "both" if out and into else "out" if out else "in"
            call.omitted(Omission(entity_id, direction, reason=CUT))
        return leaving + entering

    async def edge_metadata(self, triple: Triple) -> dict[str, Any]:
        """What is known of a relation.

        Raises:
            KeyError: There is none.
        """
        if not self._settings.edge_path:
            if triple not in await self.edges(triple[0], "out"):
                raise KeyError(triple)
            return {}
        reply = await self._session.ask(Request(self._routes.edge(triple)))
        if reply.gone:
            raise KeyError(triple)
        document = reply.json()
        call.omitted(*omissions(document))
        with reply.read():
            return self._fields.edge_metadata(document)

    # --- parts --------------------------------------------------------------

    async def _read(self, entity_id: str, direction: str) -> tuple[list[Triple], bool]:
        """The relations, and whether there are more pages than may be read."""
        url = self._routes.relations(entity_id, direction)
        listing = None if url is None else await self._pages.all(url)
        if url is None or listing is None:
            node = await self.node(entity_id)
            raise StoreError(
                f"{short(node.id)} exists, and its relations are not at "
                f"{self._settings.relations_path}. Give their route in relations_path, or say with "
                "relations=document that they stand in the documents of entities."
            )
        found: list[Triple] = []
        for reply, document in listing.pages:
            entries = self._fields.relations(document)
            there = entries is not None and all(map(self._fields.is_relation, entries))
            if self._by_fields(there):
                with reply.read():
                    found += self._entries(entries, entity_id, direction)
            else:
                found += await self._statements(reply, document, entity_id)
            call.omitted(*omissions(document))
        end = 0 if direction == "out" else 2
        ids = {entity_id, self._iri_as_id(entity_id)}
        return [triple for triple in found if triple[end] in ids], listing.cut

    def _by_fields(self, there: bool) -> bool:  # noqa: FBT001
        reading = self._settings.reading
        return reading == "fields" or (reading == "auto" and there)

    def _entries(
        self, entries: list[Any] | None, entity_id: str, direction: str
    ) -> Iterator[Triple]:
        if entries is None:
            named = " or ".join(self._settings.relations_field)
            raise Unreadable(f"there is no list of relations in the field {named}")
        for entry in entries:
            triple = self._fields.triple(entry, entity_id, direction)
            if entity_id not in {triple[0], triple[2]}:
                raise Unreadable(
                    f"it holds the relation {short(' '.join(triple))}, which does not touch "
                    f"{short(entity_id)}"
                )
            yield triple

    async def _statements(self, reply: Reply, document: Any, entity_id: str) -> list[Triple]:
        """The statements of a document that touch the entity; others may stand beside them."""
        found = await self._linked.read(reply, document)
        ids = {entity_id, self._iri_as_id(entity_id)}
        return [triple for triple in found.edges if {triple[0], triple[2]} & ids]

    def _asked(self, found: Described, entity_id: str) -> str | None:
        """The node that was asked for: by its IRI, or the one that the document is about."""
        as_iri = self._iri_as_id(entity_id)
        if as_iri in found.nodes:
            return as_iri
        about = [root for root in found.roots if root in found.nodes]
        return about[0] if len(about) == 1 else None

    def _iri_as_id(self, entity_id: str) -> str:
        iri = self._names.full(entity_id)
        return entity_id if iri is None else self._names.short(iri)
