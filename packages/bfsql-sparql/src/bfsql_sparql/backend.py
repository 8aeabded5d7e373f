"""SparqlBackend: the eight requests, and the batches, over any SPARQL 1.1 store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Sequence,
)
from contextlib import aclosing
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from bfsql.abc import BatchGraphDb
from bfsql.errors import ConfigurationError, StoreError
from bfsql.http import hide_login
from bfsql.models import EdgeFilter, EntityStub, Metadata, Node, Outline, PropertyCondition, Triple
from bfsql.models.name_keys import ANY_TYPE, NO_NAME_KEYS, NameKeys
from bfsql.models.parts import only
from bfsql.models.records import NO_METADATA
from bfsql.schema_statistics import MOST_EDGES, MOST_NODES, counted_in_time, outline_by_batches
from bfsql.settings import resolve
from bfsql_sparql.batches import Batches
from bfsql_sparql.dataset import PING, Dataset, NoResults, Refused, truth
from bfsql_sparql.edge_metadata import EdgeMetadata
from bfsql_sparql.edges import Edges
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.node_list import NodeList
from bfsql_sparql.nodes import Nodes
from bfsql_sparql.schema import Schema
from bfsql_sparql.search import EntitySearch
from bfsql_sparql.settings import SparqlSettings, with_preset
from bfsql_sparql.store import Store

P = ParamSpec("P")
T = TypeVar("T")


SAMPLE = 5_000
"""Nodes and edges of a large graph that are read for their properties."""


def _when_open(
    method: Callable[Concatenate[SparqlBackend, P], Awaitable[T]],
) -> Callable[Concatenate[SparqlBackend, P], Coroutine[Any, Any, T]]:
    """Open the graph before the first request, if it was created without a store."""

    @wraps(method)
    async def wrapper(self: SparqlBackend, /, *args: P.args, **named: P.kwargs) -> T:
        await self._open_once()
        return await method(self, *args, **named)

    return wrapper


class SparqlBackend(BatchGraphDb):
    """An RDF graph behind SPARQL, read only; `create` opens one.

    Args:
        store: Closed with the backend. Without it the graph is opened before the first
            request, from the other arguments, and that call raises the same errors as `create`.
        endpoint: As in `create`.
        prefixes: As in `create`.
        **settings: As in `create`.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        endpoint: str | None = None,
        prefixes: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self._opening = asyncio.Lock()
        self._explicit_settings = _explicit_settings(endpoint, prefixes, settings)
        self._is_open, self._name_keys = store is not None, NO_NAME_KEYS
        if store is not None:
            self._serve(store)

    async def _open_once(self) -> None:
        if self._is_open:
            return
        async with self._opening:
            if not self._is_open:
                self._serve(await _opened(_resolved(self._explicit_settings)))
                self._is_open = True

    def _serve(self, store: Store) -> None:
        self._store = store
        self._mapping = mapping = store.mapping
        self._name_keys = NameKeys((ANY_TYPE, mapping.ids.id(iri)) for iri in mapping.labels)
        self._schema = Schema(store)
        batches = Batches(store.dataset, store.settings)
        self._edges = Edges(store, batches)
        self._nodes = Nodes(store, batches)
        self._node_list = NodeList(store, batches, self._nodes)
        self._edge_metadata = EdgeMetadata(store, batches)

    @classmethod
    async def create(
        cls, endpoint: str | None = None, *, prefixes: dict[str, str] | None = None, **settings: Any
    ) -> Self:
        """Open a graph; missing arguments come from `SPARQL_ENDPOINT_URL` and similar variables.

        Args:
            endpoint: URL for queries.
            prefixes: Prefix to namespace, to shorten ids.
            **settings: The other fields of `SparqlSettings`, such as `preset`.

        Raises:
            ConfigurationError: Settings that cannot be used.
            StoreError: The graph cannot be served.
            StoreUnavailable: The endpoint does not answer.
        """
        return await cls.open(_resolved(_explicit_settings(endpoint, prefixes, settings)))

    @classmethod
    async def open(cls, settings: SparqlSettings) -> Self:
        """Open a graph from settings that are already validated.

        Args:
            settings: The location of the graph, and how to read it; a preset is applied here.
        """
        return cls(await _opened(settings))

    @_when_open
    async def ping(self) -> None:
        """Send the store a query without a pattern."""
        await self._store.dataset.ping()

    @_when_open
    async def may_write(self) -> str | None:
        """A sentence if updates are configured here, or if the endpoint says it accepts them."""
        settings = self._store.settings
        if settings.update_endpoint is not None:
            return (
                f"update_endpoint is set, to {hide_login(settings.update_endpoint)}, which "
                "accepts updates. Set it only for bfsql load."
            )
        url = await self._store.dataset.updatable()
        if url is None:
            return None
        return (
            f"{self._store.dataset.name} states that it accepts updates at {url}. Deny them to "
            "this account, or serve the store read-only."
        )

    async def close(self) -> None:
        """Release connections; running queries end."""
        if self._is_open:
            await self._store.dataset.close()

    # --- the eight ----------------------------------------------------------

    @_when_open
    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Search by id, label and alias, with the store's own search if it has one."""
        return await EntitySearch(self._store, query, node_types).best()

    @_when_open
    async def entity_types(self) -> list[str]:
        """The types that are the main type of a node, sorted; perhaps a sample."""
        return await self._schema.entity_types()

    @_when_open
    async def predicates(self) -> list[str]:
        """The predicates of edges, sorted; perhaps a sample."""
        return await self._schema.predicates()

    # --- in one go ----------------------------------------------------------

    @_when_open
    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist, by one query, under their canonical ids."""
        found = await self._nodes.types(list(self._ids_by_iri(ids)))
        id_ = self._mapping.ids.id
        new = tuple.__new__  # Node(...) runs Python code for each node
        return [new(Node, (id_(node), id_(type_), NO_METADATA)) for node, type_ in found.items()]

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        """The nodes of some types, by one query, or by pages that follow the IRI."""
        await self._open_once()
        async with aclosing(self._node_list.stream(entity_types, conditions)) as batches:
            async for batch in batches:
                yield batch

    @_when_open
    async def edges_batch(self, ids: Sequence[str], **part: Unpack[EdgeFilter]) -> list[Triple]:
        """Every edge with a requested node at either end, by one query per direction."""
        return await self._edges.around(list(self._ids_by_iri(ids)), **part)

    @_when_open
    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Literals and other types by id, by one query; with `keys`, only of their properties."""
        ids_of = self._ids_by_iri(ids)
        found = await self._nodes.metadata(list(ids_of), keys)
        by_id = {id_: metadata for node, metadata in found.items() for id_ in ids_of.get(node, ())}
        return only(by_id, keys)

    @_when_open
    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata from statements, by triple; without a query if the store has no statements.

        The existence of an edge is checked for up to a hundred edges: more come from a ring, and
        checking again what the ring has shown would double the cost.
        """
        triples = [(edge[0], edge[1], edge[2]) for edge in edges]
        found = await self._edge_metadata.of(triples, keys)
        return only(found, keys)

    @_when_open
    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of the edges that touch the entity, and items it supplied as a document."""
        node = self._iri(entity_id)
        items = None if node is None else await self._edge_metadata.evidence(node)
        if items is None:
            return await super().provenance_for_node(entity_id, limit)
        return {"total": len(items), "items": items[:limit]}

    @_when_open
    async def outline(self) -> Outline | None:
        """Counted over all of a graph, or if that takes too long, over its first triples.

        Properties of a large graph are those of the first triples. None if the store takes longer
        than `schema_timeout` for them too, or refuses.
        """
        seconds = self._store.settings.schema_timeout
        try:
            number = await self._schema.number_of_edges()
            most_nodes, most_edges = MOST_NODES, MOST_EDGES
            if number is not None and number > MOST_EDGES:  # other calls wait for their turn too
                most_nodes = most_edges = SAMPLE
            async with asyncio.timeout(seconds):
                nodes, more_nodes = await self._nodes.some(most_nodes)
                edges, more_edges = await self._edges.some(most_edges)
            counts = None
            sampled = more_nodes or more_edges
            if sampled and number is not None:
                counts = await counted_in_time(self._schema.counts(number), seconds)
            of_nodes, of_edges = counts or (None, None)
            async with asyncio.timeout(seconds):
                return await outline_by_batches(
                    self,
                    [self._mapping.ids.id(node) for node in (nodes[:SAMPLE] if sampled else nodes)],
                    edges[:SAMPLE] if sampled else edges,
                    sampled=sampled,
                    node_counts=of_nodes,
                    edge_counts=of_edges,
                )
        except (TimeoutError, StoreError, NoResults):
            return None

    @_when_open
    async def comprehensive(self) -> bool:
        """Whether the two lists of the schema are complete."""
        return await self._schema.comprehensive()

    @_when_open
    async def next_steps(self) -> str:
        """Advice on starting in this graph, and on the reliability of its lists."""
        return await self._schema.next_steps()

    def name_keys(self) -> NameKeys:
        """The properties of labels, for any type; none before the graph is open."""
        return self._name_keys

    # --- parts --------------------------------------------------------------

    def _iri(self, id_: str) -> str | None:
        iri = self._mapping.ids.iri(id_)
        return iri if iri is not None and self._mapping.is_node(iri) else None

    def _ids_by_iri(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """The requested IRIs, each with the ids that mean it."""
        ids_of: dict[str, list[str]] = {}
        for id_ in dict.fromkeys(ids):
            iri = self._iri(id_)
            if iri is not None:
                ids_of.setdefault(iri, []).append(id_)
        return ids_of


# --- opening ----------------------------------------------------------------


def _explicit_settings(
    endpoint: str | None, prefixes: dict[str, str] | None, settings: dict[str, Any]
) -> dict[str, Any]:
    """The settings that a call names."""
    given = {**settings, "endpoint": endpoint}
    return given if prefixes is None else {**given, "prefix": prefixes}


def _resolved(options: dict[str, Any]) -> SparqlSettings:
    return resolve(SparqlSettings, options=options, environment=os.environ).settings


async def _opened(settings: SparqlSettings) -> Store:
    settings = with_preset(settings)
    dataset = await open_dataset(settings)
    try:
        mapping = RdfMapping.of(settings)
        return await Store.open(dataset, mapping, settings)
    except BaseException:
        await dataset.close()
        raise


async def open_dataset(settings: SparqlSettings) -> Dataset:
    """Open the endpoint, and check that it answers a query.

    Args:
        settings: With their preset applied.

    Raises:
        ConfigurationError: No endpoint is named.
        StoreError: The address is not a SPARQL endpoint, or requires a login.
        StoreUnavailable: The endpoint does not answer.
    """
    if not settings.endpoint:
        raise ConfigurationError(
            "There is nothing to serve. Name a SPARQL endpoint with --endpoint URL (or the "
            "variable SPARQL_ENDPOINT_URL). RDF files need no endpoint: bfsql serve FILE..."
        )
    from bfsql_sparql.endpoint import Endpoint

    dataset = await Endpoint.open(settings)
    try:
        await _answers(dataset, settings)
    except BaseException:
        await dataset.close()
        raise
    return dataset


async def _answers(dataset: Dataset, settings: SparqlSettings) -> None:
    try:
        reply = await dataset.reply(PING, settings.connect_timeout + settings.query_timeout)
        truth(reply.body)
    except Refused as error:
        raise StoreError(
            f"{error} This was the simplest possible query ({PING}). Is {dataset.name} the "
            "address for SPARQL queries?"
        ) from error
    except NoResults as error:
        raise StoreError(
            f"{dataset.name} answered the simplest possible query ({PING}) with something other "
            f"than SPARQL results: {error}. Is it the address for SPARQL queries?"
        ) from None
