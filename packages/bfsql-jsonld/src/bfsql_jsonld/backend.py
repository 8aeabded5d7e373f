"""JsonLdBackend: answers core's requests through a web API."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Self, Unpack
from urllib.parse import urlsplit

from bfsql.abc import GraphDbInterface, each
from bfsql.errors import ConfigurationError, EntitiesNotListed
from bfsql.models.condition import PropertyCondition
from bfsql.models.json_values import is_text
from bfsql.models.name_keys import ANY_TYPE, NameKeys
from bfsql.models.outline import Outline
from bfsql.models.parts import EdgeFilter, only, part_of
from bfsql.models.records import NO_METADATA, Edge, EntityStub, Metadata, Node, Triple
from bfsql.settings import resolve
from bfsql_jsonld.documents import CONTEXT_LINK, LABELS, DocumentReader
from bfsql_jsonld.entities import DocumentSource, RouteSource, Source, evidence
from bfsql_jsonld.listings import fetch_edges, fetch_nodes, fetch_ring, in_a_url, read_nodes
from bfsql_jsonld.routes import Api
from bfsql_jsonld.schema import STEADY, SchemaReader
from bfsql_jsonld.search import search
from bfsql_jsonld.settings import JsonLdSettings

_NO_SEARCH = (
    "This graph has no search by name: give search_entities the id of an entity, or start from ids "
    "that you know."
)
_OUTGOING = (
    "Edges are read from the document of the entity that they leave, so a traversal follows only "
    "outgoing edges, apart from those that a document states in reverse."
)


class JsonLdBackend(GraphDbInterface):
    """A graph behind a web API, read only. Nothing is sent before the first request.

    Args:
        base_url: The base of the API's routes, as in `https://host/api`, with all other
            settings from the environment; or settings validated by `open`.

    Raises:
        ConfigurationError: Settings that cannot be used.
    """

    def __init__(self, base_url: str | JsonLdSettings) -> None:
        settings = (
            base_url
            if isinstance(base_url, JsonLdSettings)
            else _checked(_resolved({"base_url": base_url}))
        )
        self._settings = settings
        self._api = api = Api.of(settings)
        self.session = api.session
        labels = LABELS if settings.reading in ("auto", "json-ld") else ()
        self._name_keys = NameKeys((ANY_TYPE, api.prefixes.short(iri)) for iri in labels)
        self._schema = SchemaReader(api)
        self._documents = DocumentReader(api)
        self._source: Source = (
            RouteSource(api, self._documents)
            if settings.relations == "route"
            else DocumentSource(api, self._documents)
        )

    @classmethod
    async def create(cls, base_url: str | None = None, **settings: Any) -> Self:
        """Open a graph; missing arguments come from `JSONLD_BASE_URL` and similar variables.

        Args:
            base_url: The base of the API's routes, as in `https://host/api`.
            **settings: The other fields of `JsonLdSettings`.

        Raises:
            ConfigurationError: Settings that cannot be used.
        """
        return await cls.open(_resolved({**settings, "base_url": base_url}))

    @classmethod
    async def open(cls, settings: JsonLdSettings) -> Self:
        """Open a graph from settings that are already validated.

        Raises:
            ConfigurationError: The settings contain a password where it would be shown, or a secret
                or certificates that cannot be used.
        """
        return cls(_checked(settings))

    async def ping(self) -> None:
        """Request the headers of the base URL, whatever its content."""
        await self.session.ping()

    async def close(self) -> None:
        """Close the connections."""
        await self.session.close()

    # --- the eight ----------------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Search in the API's own ranking; only by id if the API has no search."""
        types = [name for name in node_types or () if is_text(name)]
        if not is_text(query) or not query.strip() or (node_types and not types):
            return []
        return await search(self._api, self._documents, self._source, query, types)

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All relations that leave the entity."""
        return [Edge(*edge) for edge in await self._source.edges(_valid_id(entity_id), "out")]

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All relations that enter the entity."""
        return [Edge(*edge) for edge in await self._source.edges(_valid_id(entity_id), "in")]

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""
        node = await self._source.node(_valid_id(entity_id))
        return Node(node.id, node.entity_type)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """All fields of the entity beside id and type."""
        return (await self._source.node(_valid_id(entity_id))).metadata

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """The API's metadata for the relation."""
        triple = (edge[0], edge[1], edge[2])
        if not is_text("".join(triple)):
            raise KeyError(triple)
        return await self._source.edge_metadata(triple)

    async def entity_types(self) -> list[str]:
        """The types that the schema lists, sorted."""
        return list((await self._schema.current()).entity_types)

    async def predicates(self) -> list[str]:
        """The predicates that the schema lists, sorted."""
        return list((await self._schema.current()).predicates)

    # --- in one go ----------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist, in one request if the API has a route for that."""
        schema = await self._schema.current(STEADY)
        if schema.entities_batch is None:
            return list(await super().get_nodes_batch(ids))
        found = await fetch_nodes(self._api, schema, ids, metadata=False)
        return [Node(node.id, node.entity_type, NO_METADATA) for node in found]

    def lists_entities(self) -> bool:
        """Whether the schema, as it was last read, names a route that lists entities."""
        return self._schema.latest.entities is not None

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """True: the other server compares it, or if a URL cannot contain it, this backend."""
        return True

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        """The entities of some types that meet the conditions, in pages that follow the id."""
        schema = await self._schema.current()
        if schema.entities is None:
            raise EntitiesNotListed
        types = None
        if entity_types is not None and schema.comprehensive:
            types = sorted(frozenset(schema.entity_types).intersection(entity_types))
        sent, others = in_a_url(conditions)
        keys = [one.key for one in others]
        async with aclosing(read_nodes(self._api, schema, types, sent)) as pages:
            async for nodes in pages:
                ids = [node.id for node in nodes]
                known = await self.metadata_for_nodes_batch(ids, keys) if others else {}
                yield [
                    node
                    for node in nodes
                    if (entity_types is None or node.entity_type in entity_types)
                    and all(one.holds(known.get(node.id, NO_METADATA)) for one in others)
                ]

    async def edges_batch(self, ids: Sequence[str], **part: Unpack[EdgeFilter]) -> list[Triple]:
        """A ring, or a part of it, in one request if the API has a route for that."""
        schema = await self._schema.current(STEADY)
        if schema.relations_batch is not None:
            return await fetch_ring(self._api, schema, ids, **part)
        known: Sequence[str] = ids
        if self._settings.relations == "route":  # an API may return relations of other ids
            known = [node.id for node in await self.get_nodes_batch(ids)]
        ring, direction = self._source.ring, part.get("direction")
        if direction is not None:
            ring = partial(self._source.edges, direction=direction)
        rings = await each([i for i in known if is_text(i)], ring)
        return part_of((edge for ring in rings for edge in ring or ()), ids, part.get("predicates"))

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> Mapping[str, Metadata]:
        """Metadata by id, in one request if the API has a route for that."""
        schema = await self._schema.current(STEADY)
        if schema.entities_batch is None:
            return await super().metadata_for_nodes_batch(ids, keys)
        found = await fetch_nodes(self._api, schema, ids, metadata=True, keys=keys)
        return only({node.id: node.metadata for node in found}, keys)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> Mapping[Triple, Metadata]:
        """Metadata by triple, in one request if the API has a route for that."""
        schema = await self._schema.current(STEADY)
        if schema.relations_batch is None:
            return await super().metadata_for_edges_batch(edges, keys)
        asked = [(s, p, o) for s, p, o in edges]
        return only(await fetch_edges(self._api, schema, asked, keys), keys)

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """Evidence from the API's route, or from the metadata of edges if it has none."""
        if self._settings.relations == "route" and is_text(entity_id):
            found = await evidence(self._api, entity_id, limit)
            if found is not None:
                return found
        return await super().provenance_for_node(entity_id, limit)

    def name_keys(self) -> NameKeys:
        """The properties of labels, for any type, where answers may be JSON-LD."""
        return self._name_keys

    async def outline(self) -> Outline | None:
        """The composition of the graph according to an API of this project; None for any other."""
        return await self._schema.outline()

    async def comprehensive(self) -> bool:
        """The schema's own statement; otherwise whether it has both lists."""
        return (await self._schema.current()).comprehensive

    async def next_steps(self) -> str:
        """The API's own advice; otherwise the generic advice and the limits of this API."""
        told = (await self._schema.current()).next_steps
        if told is not None:
            return told
        s = self._settings
        parts = [await super().next_steps()]
        parts += [] if s.search_path else [_NO_SEARCH]
        parts += [_OUTGOING] if s.relations == "document" else []
        return " ".join(parts)


def _valid_id(entity_id: str) -> str:
    """The id, if it is valid text: no URL can contain any other, and no API knows one."""
    if not is_text(entity_id):
        raise KeyError(entity_id)
    return entity_id


def _resolved(options: dict[str, Any]) -> JsonLdSettings:
    return resolve(JsonLdSettings, options=options, environment=os.environ).settings


def _checked(settings: JsonLdSettings) -> JsonLdSettings:
    """The settings, checked for passwords in URLs and with the configured headers."""
    for name in ("base_url", "oauth_url", "context"):
        parts = urlsplit(getattr(settings, name) or "")
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError(
                f"{name} contains a user name or a password, for the host {parts.hostname}: it "
                "would be visible wherever the URL is shown. Remove it from the URL, and set "
                "username and password instead."
            )
    if settings.context is None:
        return settings
    link = f'<{settings.context}>; rel="{CONTEXT_LINK}"; type="application/ld+json"'
    return settings.model_copy(update={"headers": {"Link": link, **settings.headers}})
