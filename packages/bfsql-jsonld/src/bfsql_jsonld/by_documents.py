"""Entities whose documents hold their relations: linked data, and context brokers."""

from __future__ import annotations

import logging
import re
from typing import Any

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models.records import Node, Omission, Triple
from bfsql_jsonld.addresses import NotAsked, listed, same_host
from bfsql_jsonld.api import Api
from bfsql_jsonld.by_routes import CUT
from bfsql_jsonld.described import Described
from bfsql_jsonld.documents import Documents
from bfsql_jsonld.paging import Pages
from bfsql_jsonld.replies import Request
from bfsql_jsonld.schema import STEADY, SchemaReader

log = logging.getLogger("bfsql")

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_ASKED_AT_ONCE = 50  # predicates in one query for incoming edges


class ByDocuments:
    """Reads an entity and its relations from its document.

    Args:
        api: Where documents are.
        documents: Reads them.
        schema: The predicates, to ask who points to an entity.
    """

    def __init__(self, api: Api, documents: Documents, schema: SchemaReader) -> None:
        self._session = api.session
        self._routes = api.routes
        self._names = api.names
        self._settings = api.settings
        self._documents = documents
        self._schema = schema
        self._pages = Pages(api)
        self._everywhere = api.settings.entity_path == "{url}"

    async def node(self, entity_id: str) -> Node:
        """An entity with its metadata.

        Raises:
            KeyError: There is none.
        """
        known, described = await self._document(entity_id)
        entity_type, metadata = described.nodes[known]
        return Node(known, entity_type, metadata)

    async def edges(self, entity_id: str, direction: str) -> list[Triple]:
        """The relations that leave (`out`) or enter (`in`) an entity, as far as anybody tells.

        Raises:
            KeyError: There is no such entity.
        """
        known, described = await self._document(entity_id)
        end = 0 if direction == "out" else 2
        found = [triple for triple in described.edges if triple[end] == known]
        if direction == "in" and self._settings.incoming_path:
            found += await self._incoming(known)
        return found

    async def ring(self, entity_id: str) -> list[Triple]:
        """All relations that touch an entity, from one document.

        Raises:
            KeyError: There is no such entity.
        """
        known, described = await self._document(entity_id)
        found = [triple for triple in described.edges if known in {triple[0], triple[2]}]
        return [*found, *(await self._incoming(known) if self._settings.incoming_path else ())]

    async def edge_metadata(self, triple: Triple) -> dict[str, Any]:
        """What the document of one of its ends says of a relation.

        Raises:
            KeyError: Neither does.
        """
        for entity_id in (triple[0], triple[2]):
            try:
                _, described = await self._document(entity_id)
            except KeyError:
                continue
            if triple in described.edges:
                return described.edges[triple]
        raise KeyError(triple)

    async def _document(self, entity_id: str) -> tuple[str, Described]:
        """The id as the document has it, and what the document says."""
        url = self._routes.entity(entity_id)
        if self._settings.reading == "attributes" and not _URI.fullmatch(entity_id):
            raise KeyError(entity_id)  # a broker refuses the question (NGSI-LD, 4.3)
        if url is None or not self._asked(url):
            raise KeyError(entity_id)
        try:
            described = await self._read(entity_id, url)
        except NotAsked:
            if self._everywhere:
                raise KeyError(entity_id) from None
            raise
        except StoreError as error:
            if self._is_fault(url, error):
                raise
            log.info("The document of %s is left out: %s", entity_id, error)
            call.omitted(Omission(entity_id, reason=_why(error)))
            raise KeyError(entity_id) from None
        iri = self._names.full(entity_id)
        for known in (entity_id, self._names.short(iri) if iri else entity_id):
            if known in described.nodes:
                return known, described
        raise KeyError(entity_id)

    async def _read(self, entity_id: str, url: str) -> Described:
        reply = await self._session.ask(Request(url))
        if reply.gone or (self._everywhere and reply.is_page):
            raise KeyError(entity_id)
        return await self._documents.read(reply, reply.json())

    def _is_fault(self, url: str, error: StoreError) -> bool:
        """Whether a failure ends the call; of what lies elsewhere in the world, some is broken."""
        in_time = not isinstance(error, StoreUnavailable) or call.remaining() != 0
        elsewhere = self._everywhere and not same_host(url, self._settings.base_url)
        return not (elsewhere and in_time)

    def _asked(self, url: str) -> bool:
        """Whether anybody is asked there: an id may name any host of the world."""
        s = self._settings
        return same_host(url, s.base_url) or listed(url, s.follow_hosts)

    async def _incoming(self, entity_id: str) -> list[Triple]:
        """Those who point to the entity, sought by each predicate that is known."""
        if any(character in entity_id for character in '"\\'):
            return []  # no query can hold it, and no broker has such an id
        schema = await self._schema.current(STEADY)
        if not schema.comprehensive:
            call.omitted(Omission(entity_id, "in", reason="the API does not list all predicates"))
        predicates = schema.predicates
        found: list[Triple] = []
        for start in range(0, len(predicates), _ASKED_AT_ONCE):
            text = "|".join(
                self._settings.incoming_text.replace("{predicate}", name).replace("{id}", entity_id)
                for name in predicates[start : start + _ASKED_AT_ONCE]
            )
            listing = await self._pages.all(self._routes.incoming(text))
            for reply, document in listing.pages if listing else ():
                described = await self._documents.read(reply, document)
                found += [triple for triple in described.edges if triple[2] == entity_id]
            if listing and listing.cut:
                call.omitted(Omission(entity_id, "in", reason=CUT))
        return found


def _why(error: StoreError) -> str:
    if isinstance(error, StoreUnavailable):
        return "its host does not answer"
    return "its host gives no document that can be read"
