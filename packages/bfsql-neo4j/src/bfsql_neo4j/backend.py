"""Neo4jBackend: the questions of core, answered by a Neo4j server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Self, TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.embedding import Embedder, open_embedder
from bfsql.models.json_values import is_text
from bfsql.models.records import NO_METADATA, Edge, EntityStub, Metadata, Node, Omission, Triple
from bfsql.settings import resolve
from bfsql_neo4j.graph import Graph
from bfsql_neo4j.looking import Lookout
from bfsql_neo4j.metadata import edge_metadata, node_metadata
from bfsql_neo4j.provenance import provenance
from bfsql_neo4j.queries import CHUNK
from bfsql_neo4j.queries import survey as texts
from bfsql_neo4j.reading import Reader
from bfsql_neo4j.search import search
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.values import is_read

Key = TypeVar("Key")

_TWICE = "another node bears the same id"
_SAMPLED = 25  # nodes of a label whose properties are looked at
_LABELS_SHOWN = 12
_KEYS_SHOWN = 12


class Neo4jBackend(GraphDbInterface):
    """A Neo4j graph as it is, read only.

    Args:
        reader: Its server.
        lookout: What is known of the graph.
        settings: How it is read.
        embedder: Makes vectors of search texts; None where search goes by names alone.
    """

    def __init__(
        self,
        reader: Reader,
        lookout: Lookout,
        settings: Neo4jSettings,
        embedder: Embedder | None = None,
    ) -> None:
        self._reader = reader
        self._lookout = lookout
        self._embedder = embedder
        self._shown = {
            *settings.name_property,
            *settings.alias_property,
            *settings.description_property,
        }

    @classmethod
    async def create(
        cls,
        uri: str | None = None,
        *,
        auth: tuple[str, str] | None = None,
        embedding_fn: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Open a graph; what is not given comes from `NEO4J_URI` and the like.

        Args:
            uri: The server, as in `bolt://localhost:7687` or `neo4j+s://host`.
            auth: Name and password.
            embedding_fn: Text to vector, plain or async, for searches by meaning.
            **settings: The other fields of `Neo4jSettings`; `id_property` may be a mapping.

        Raises:
            ConfigurationError: Settings that cannot be used.
            StoreError: The graph cannot be served as it is.
            StoreUnavailable: The server does not answer.
        """
        given = settings | ({"uri": uri} if uri is not None else {})
        if auth is not None:
            given["username"], given["password"] = auth
        resolved = resolve(Neo4jSettings, options=given, environment=os.environ).settings
        embedder = Embedder.of(embedding_fn) if embedding_fn is not None else None
        return await cls.open(resolved, embedder)

    @classmethod
    async def open(
        cls, settings: Neo4jSettings, embedder: Embedder | None = None, **options: Any
    ) -> Self:
        """The same from settings that are checked already.

        Args:
            settings: Where the graph is, and how it is read.
            embedder: In place of the one that the settings name.
            **options: More of the driver's own.
        """
        embedder = embedder or open_embedder(settings)
        reader = await Reader.open(settings, **options)
        try:
            lookout = await Lookout.open(reader, settings, embedder)
        except BaseException:
            await _close(reader, embedder)
            raise
        return cls(reader, lookout, settings, embedder)

    async def close(self) -> None:
        """Give the connections back; what is under way ends."""
        await _close(self._reader, self._embedder)

    # --- the eight ----------------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """By id, name and alias, then by words that begin or sound alike, and by meaning."""
        wanted = [name for name in node_types or () if is_text(name)]
        if node_types and not wanted:
            return []
        graph = await self._lookout.current()
        return await search(self._reader, graph, self._embedder, query, wanted or None)

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All edges that leave the entity."""
        rows, predicates = await self._ends(entity_id, "leaving")
        return [Edge(entity_id, predicates[name], other) for name, other in rows]

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All edges that enter the entity."""
        rows, predicates = await self._ends(entity_id, "entering")
        return [Edge(other, predicates[name], entity_id) for name, other in rows]

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""
        for node in await self.get_nodes_batch([entity_id]):
            return node
        raise KeyError(entity_id)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """All properties of the node, and its other labels."""
        return (await self.metadata_for_nodes_batch([entity_id]))[entity_id]

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """All properties of the relationship."""
        triple = (edge[0], edge[1], edge[2])
        return (await self.metadata_for_edges_batch([triple]))[triple]

    async def entity_types(self) -> list[str]:
        """The labels that are the type of a node, sorted."""
        return sorted((await self._lookout.look()).shape.types)

    async def predicates(self) -> list[str]:
        """The relationship types that occur, sorted, as predicates."""
        return sorted((await self._lookout.look()).shape.predicates.values())

    # --- in one go ----------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist, by index seeks."""
        graph = self._lookout.graph
        nodes = await self._nodes(graph, ids)
        if len(nodes) < len(set(ids)):  # they may have labels that were not seen yet
            newer = await self._lookout.current()
            nodes = nodes if newer is graph else await self._nodes(newer, ids)
        return nodes

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        """Every edge with an asked node at either end, one statement for both directions."""
        graph = self._lookout.graph
        rows = [row for chunk in _chunks(ids) for row in await self._about(graph, "ring", chunk)]
        try:
            return _triples(rows, graph)
        except KeyError:  # a relationship type that is newer than the last look
            return _triples(rows, await self._lookout.look(graph))

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        """Properties by id."""
        graph = self._lookout.graph
        found: dict[str, Metadata] = {}
        for chunk in _chunks(ids):
            elements, parameters = graph.asked(chunk)
            text = graph.queries.node_metadata(elements=elements)
            rows, broken = _readable(await self._reader.one(text, **parameters))
            if broken:
                elements, parameters = graph.asked(broken)
                text = graph.queries.node_metadata_as_text(elements=elements)
                rows += await self._reader.one(text, **parameters)
            asked = set(chunk)
            for entity_id, labels, properties in rows:
                if entity_id in asked:
                    found.setdefault(
                        entity_id,
                        node_metadata(
                            entity_id, labels, dict(properties), graph.shape, self._shown
                        ),
                    )
        return found

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        """Properties by triple; several relationships of one triple are merged."""
        graph = self._lookout.graph
        types = {predicate: name for name, predicate in graph.shape.predicates.items()}
        asked = [edge for edge in edges if is_text("".join(edge))]
        found: dict[Triple, Metadata] = {}
        elements: dict[str, Any] = {}
        for ends in _chunks([end for s, _, o in asked for end in (s, o)]):
            elements |= await self._elements(ends, graph)
        for chunk in _chunks(asked):
            rows = await self._properties(
                [
                    [at, elements.get(s), types.get(p), elements.get(o)]
                    for at, (s, p, o) in enumerate(chunk)
                ],
                graph,
            )
            for at, several in rows.items():
                found[chunk[at]] = edge_metadata(several)
        return found

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of the edges that touch the entity, and what it supplied as a document."""
        return await provenance(self._reader, self._lookout.graph, entity_id, limit)

    async def next_steps(self) -> str:
        """The generic advice, how many nodes each type has, what they tell, and what is odd."""
        graph = self._lookout.graph
        counts = sorted(graph.shape.types.items(), key=lambda one: (-(one[1] or 0), one[0]))
        by_type = ", ".join(
            name if number is None else f"{name} {number}" for name, number in counts[:10]
        )
        parts = [await super().next_steps(), f"Nodes by type: {by_type or 'none'}."]
        labels = [name for name, _ in counts if name in graph.shape.labels][:_LABELS_SHOWN]
        if labels:
            rows = await self._reader.rows(texts.keys_of(labels, _SAMPLED))
            told = {labels[at]: keys for at, keys in rows if keys}
            shown = "; ".join(
                f"{label}: {', '.join(keys[:_KEYS_SHOWN])}" for label, keys in told.items()
            )
            parts += [f"Properties, from a sample: {shown}."] if shown else []
        return " ".join([*parts, *self._lookout.oddities()])

    # --- parts --------------------------------------------------------------

    async def _nodes(self, graph: Graph, ids: Sequence[str]) -> list[Node]:
        new = tuple.__new__  # Node(...) runs Python for each node
        return [
            new(Node, (entity_id, graph.type_of(labels), NO_METADATA))
            for chunk in _chunks(ids)
            for entity_id, labels in await self._about(graph, "nodes", chunk)
        ]

    async def _about(self, graph: Graph, question: str, ids: Sequence[str]) -> list[Any]:
        """Rows about the asked nodes, each of which begins with the id; one row an id."""
        elements, parameters = graph.asked(ids)
        text = getattr(graph.queries, question)(elements=elements)
        rows = await self._reader.one(text, **parameters)
        asked = set(ids)
        first: dict[str, Any] = {}
        for row in rows:
            if row[0] in asked and first.setdefault(row[0], row) is not row:
                call.omitted(Omission(row[0], reason=_TWICE))
        return list(first.values())

    async def _ends(self, entity_id: str, question: str) -> tuple[set[tuple[str, str]], Any]:
        graph = self._lookout.graph
        rows = await self._about(graph, question, [entity_id]) if is_text(entity_id) else []
        if not rows:
            raise KeyError(entity_id)
        ends = {(name, other) for _, found in rows for name, other in found}
        if not graph.shape.predicates.keys() >= {name for name, _ in ends}:
            graph = await self._lookout.look(graph)
        return ends, graph.shape.predicates

    async def _elements(self, ids: Collection[str], graph: Graph) -> dict[str, Any]:
        by_element, parameters = graph.asked(ids)
        text = graph.queries.node_elements(elements=by_element)
        elements: dict[str, Any] = {}
        for entity_id, element in await self._reader.one(text, **parameters):
            elements.setdefault(entity_id, element)
        return elements

    async def _properties(self, edges: list[list[Any]], graph: Graph) -> dict[int, list[Any]]:
        """Properties of all relationships for each position."""
        text = graph.queries.edge_metadata(as_text=False)
        rows, broken = _readable(await self._reader.one(text, edges=edges))
        if broken:
            text = graph.queries.edge_metadata(as_text=True)
            again = [edge for edge in edges if edge[0] in broken]
            rows += await self._reader.one(text, edges=again)
        found: dict[int, list[Any]] = {}
        for at, properties in rows:
            found.setdefault(at, []).append(dict(properties))
        return found


async def _close(reader: Reader, embedder: Embedder | None) -> None:
    await asyncio.gather(reader.close(), *([embedder.close()] if embedder else []))


def _chunks(keys: Collection[Key]) -> Iterator[Sequence[Key]]:
    distinct = [key for key in dict.fromkeys(keys) if not isinstance(key, str) or is_text(key)]
    for start in range(0, len(distinct), CHUNK):
        yield distinct[start : start + CHUNK]


def _readable(rows: Sequence[list[Any]]) -> tuple[list[list[Any]], list[Any]]:
    """Rows whose properties, the last value, could be read; the first value of the others."""
    broken = [row[0] for row in rows if not all(map(is_read, row[-1].values()))]
    return [row for row in rows if row[0] not in broken] if broken else list(rows), broken


def _triples(rows: Sequence[Any], graph: Graph) -> list[Triple]:
    predicates = graph.shape.predicates
    ring: list[Triple] = []
    for entity_id, leaving, entering in rows:
        ring += [(entity_id, predicates[name], other) for name, other in leaving]
        ring += [(other, predicates[name], entity_id) for name, other in entering]
    return ring
