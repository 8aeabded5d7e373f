"""Entities, their relations and their evidence: from separate routes, or from documents."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql.http import is_listed, same_server
from bfsql.models.merge import ITEM_FIELDS
from bfsql.models.parts import part_of
from bfsql.models.records import Direction, EdgeDirection, Node, Omission, Triple
from bfsql_jsonld.documents import DocumentGraph, DocumentReader
from bfsql_jsonld.fields import omissions
from bfsql_jsonld.listings import read_pages
from bfsql_jsonld.replies import NotAllowed, Unreadable, short
from bfsql_jsonld.routes import Api

log = logging.getLogger("bfsql")

_CUT = "the backend's limit max_pages"


class Source(Protocol):
    """Entities and relations; a KeyError means that the requested one does not exist."""

    async def node(self, entity_id: str) -> Node:
        """An entity with its metadata."""

    async def edges(self, entity_id: str, direction: EdgeDirection) -> list[Triple]:
        """The relations that leave (`out`) or enter (`in`) an entity."""

    async def ring(self, entity_id: str) -> list[Triple]:
        """All relations that touch an entity, which the caller has checked to exist."""

    async def edge_metadata(self, triple: Triple) -> dict[str, Any]:
        """The metadata of a relation."""


class RouteSource:
    """Reads an entity from its route, and its relations from theirs; see `Source`.

    Answers are read by their fields or, without such fields, as JSON-LD.
    """

    def __init__(self, api: Api, documents: DocumentReader) -> None:
        self._api = api
        self._fields = api.fields
        self._documents = documents

    async def node(self, entity_id: str) -> Node:
        """See `Source`."""
        reply = await self._api.get(self._api.routes.entity(entity_id))
        if reply is None:
            raise KeyError(entity_id)
        document = reply.json()
        if self._fields.by_fields(self._fields.is_entity(document)):
            call.omitted(*omissions(document))
            with reply.read():
                return self._fields.node(document)
        found = await self._documents.read(reply, document)
        known = self._requested_node(found, entity_id)
        if known is None:
            with reply.read():
                raise Unreadable(
                    f"it contains nothing about {short(entity_id)}; id_field and type_field name "
                    "the fields that hold the id and the type"
                )
        entity_type, metadata = found.nodes[known]
        return Node(known, entity_type, metadata)

    async def edges(self, entity_id: str, direction: EdgeDirection) -> list[Triple]:
        """See `Source`."""
        found, cut = await self._read(entity_id, direction)
        if cut:
            call.omitted(Omission(entity_id, direction, reason=_CUT))
        return found

    async def ring(self, entity_id: str) -> list[Triple]:
        """See `Source`."""
        leaving, out = await self._read(entity_id, "out")
        entering, into = await self._read(entity_id, "in")
        if out or into:
            direction: Direction = "both" if out and into else "out" if out else "in"
            call.omitted(Omission(entity_id, direction, reason=_CUT))
        return leaving + entering

    async def edge_metadata(self, triple: Triple) -> dict[str, Any]:
        """See `Source`."""
        if not self._api.settings.edge_path:
            if triple not in await self.edges(triple[0], "out"):
                raise KeyError(triple)
            return {}
        reply = await self._api.get(self._api.routes.edge(triple))
        if reply is None:
            raise KeyError(triple)
        document = reply.json()
        call.omitted(*omissions(document))
        with reply.read():
            return self._fields.edge_metadata(document)

    # --- parts --------------------------------------------------------------

    async def _read(self, entity_id: str, direction: EdgeDirection) -> tuple[list[Triple], bool]:
        """The relations, and whether there are more pages than may be read."""
        url = self._api.routes.relations(entity_id, direction)
        listing = None if url is None else await read_pages(self._api, url)
        if url is None or listing is None:
            node = await self.node(entity_id)
            raise StoreError(
                f"{short(node.id)} exists, but its relations are not at "
                f"{self._api.settings.relations_path}. Set relations_path to their route, or set "
                "relations=document if entity documents contain them."
            )
        found: list[Triple] = []
        for reply, document in listing.pages:
            entries = self._fields.relations(document)
            there = entries is not None and all(map(self._fields.is_relation, entries))
            if self._fields.by_fields(there):
                with reply.read():
                    found += self._entries(entries, entity_id, direction)
            else:
                found += (await self._documents.read(reply, document)).edges
            call.omitted(*omissions(document))
        ids = {entity_id, self._api.canonical(entity_id)}
        return part_of(found, ids, None, direction), listing.cut

    def _entries(
        self, entries: list[Any] | None, entity_id: str, direction: str
    ) -> Iterator[Triple]:
        if entries is None:
            named = " or ".join(self._api.settings.relations_field)
            raise Unreadable(f"there is no list of relations in the field {named}")
        for entry in entries:
            triple = self._fields.triple(entry, entity_id, direction)
            if entity_id not in {triple[0], triple[2]}:
                raise Unreadable(
                    f"it contains the relation {short(' '.join(triple))}, which does not touch "
                    f"{short(entity_id)}"
                )
            yield triple

    def _requested_node(self, found: DocumentGraph, entity_id: str) -> str | None:
        """The requested node: by its IRI, or the one that the document is about."""
        canonical = self._api.canonical(entity_id)
        if canonical in found.nodes:
            return canonical
        about = [root for root in found.roots if root in found.nodes]
        return about[0] if len(about) == 1 else None


class DocumentSource:
    """Reads an entity and its relations from its document; see `Source`."""

    def __init__(self, api: Api, documents: DocumentReader) -> None:
        self._api = api
        self._settings = api.settings
        self._documents = documents
        self._everywhere = api.settings.entity_path == "{url}"

    async def node(self, entity_id: str) -> Node:
        """See `Source`."""
        known, described = await self._document(entity_id)
        entity_type, metadata = described.nodes[known]
        return Node(known, entity_type, metadata)

    async def edges(self, entity_id: str, direction: EdgeDirection) -> list[Triple]:
        """See `Source`; those that enter, as far as the documents show them."""
        known, described = await self._document(entity_id)
        return part_of(described.edges, [known], None, direction)

    async def ring(self, entity_id: str) -> list[Triple]:
        """See `Source`; from one document."""
        known, described = await self._document(entity_id)
        return [triple for triple in described.edges if known in {triple[0], triple[2]}]

    async def edge_metadata(self, triple: Triple) -> dict[str, Any]:
        """See `Source`; in the document of one of its ends."""
        for entity_id in (triple[0], triple[2]):
            try:
                _, described = await self._document(entity_id)
            except KeyError:
                continue
            if triple in described.edges:
                return described.edges[triple]
        raise KeyError(triple)

    async def _document(self, entity_id: str) -> tuple[str, DocumentGraph]:
        """The id in the document's form, and the content of the document."""
        url = self._api.routes.entity(entity_id)
        if url is None or not self._may_request(url):
            raise KeyError(entity_id)
        try:
            described = await self._read(entity_id, url)
        except NotAllowed:
            if self._everywhere:
                raise KeyError(entity_id) from None
            raise
        except StoreError as error:
            if self._is_fault(url, error):
                raise
            log.info("The document of %s was skipped: %s", entity_id, error)
            why = "its host returned a document that cannot be read"
            if isinstance(error, StoreUnavailable):
                why = "its host does not answer"
            call.omitted(Omission(entity_id, reason=why))
            raise KeyError(entity_id) from None
        for known in (entity_id, self._api.canonical(entity_id)):
            if known in described.nodes:
                return known, described
        raise KeyError(entity_id)

    async def _read(self, entity_id: str, url: str) -> DocumentGraph:
        reply = await self._api.get(url)
        if reply is None or (self._everywhere and reply.is_page):
            raise KeyError(entity_id)
        return await self._documents.read(reply, reply.json())

    def _is_fault(self, url: str, error: StoreError) -> bool:
        """Whether the failure ends the call; a broken document on another host does not."""
        in_time = not isinstance(error, StoreUnavailable) or call.remaining() != 0
        elsewhere = self._everywhere and not same_server(url, self._settings.base_url)
        return not (elsewhere and in_time)

    def _may_request(self, url: str) -> bool:
        """Whether this URL may be requested: an id may name any host."""
        s = self._settings
        return same_server(url, s.base_url) or is_listed(url, s.follow_hosts)


async def evidence(api: Api, entity_id: str, limit: int) -> dict[str, Any] | None:
    """The evidence in the form of `provenance_for_node`, or None if there is no route for it.

    Args:
        api: The route.
        entity_id: An entity that exists.
        limit: Most items to return; 0 requests only their number.
    """
    reply = await api.get(api.routes.provenance(entity_id, min(max(limit, 1), 1_000)))
    if reply is None or reply.status in (405, 501):
        return None
    document = reply.json()
    with reply.read():
        items = document.get("items") if isinstance(document, Mapping) else None
        if not isinstance(items, list) or not all(isinstance(one, Mapping) for one in items):
            raise Unreadable("there is no list of objects in the field items")
    call.omitted(*omissions(document))
    fields = ("subject", "predicate", "object", *ITEM_FIELDS)
    found = {
        "total": document.get("total"),
        "items": [{name: item.get(name) for name in fields} for item in items[:limit]],
    }
    read = document.get("edges_read")
    return found if read is None else found | {"edges_read": read}
