"""NetworkxBackend: the eight questions, answered from a networkx graph."""

import copy
from collections.abc import AsyncGenerator, Collection, Sequence
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.errors import StoreError
from bfsql.models import Edge, EntityStub, Metadata, Node, PropertyCondition, Triple, merge_edges
from bfsql_networkx.settings import Attributes


class NetworkxBackend(GraphDbInterface):
    """A networkx graph as it is now; its nodes as text are the ids.

    Args:
        graph: Directed or not, multigraph or not. An undirected edge runs as it is listed.
        means: Which attributes mean type, name and predicate.
    """

    def __init__(self, graph: Any, means: Attributes | None = None) -> None:
        means = means or Attributes()
        self._nodes = {str(node): means.of_node(said) for node, said in graph.nodes(data=True)}
        if len(self._nodes) < len(graph):
            raise StoreError("Two nodes are the same as text, as 1 and '1' are: relabel one.")
        parallel: dict[Triple, list[dict[str, Any]]] = {}
        for subject, obj, said in graph.edges(data=True):
            predicate, metadata = means.of_edge(said)
            parallel.setdefault((str(subject), predicate, str(obj)), []).append(metadata)
        self._edges = {Edge(*triple): merge_edges(said) for triple, said in parallel.items()}
        self._leaving: dict[str, list[Edge]] = {entity_id: [] for entity_id in self._nodes}
        self._entering: dict[str, list[Edge]] = {entity_id: [] for entity_id in self._nodes}
        for edge in self._edges:
            self._leaving[edge.subject].append(edge)
            self._entering[edge.object].append(edge)

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """The exact id, then the exact name, then other matches; ties by id."""
        wanted, ranked = query.strip().casefold(), []
        for entity_id, (entity_type, metadata) in self._nodes.items() if wanted else ():
            name = str(metadata.get("name", ""))
            texts = [name.strip().casefold(), entity_id.casefold()]
            tests = (entity_id == query, texts[0] == wanted, any(wanted in t for t in texts))
            if any(tests) and (not node_types or entity_type in node_types):
                ranked.append((tests.index(True), EntityStub(entity_id, entity_type, name or None)))
        return [stub for _, stub in sorted(ranked)[:20]]

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All edges that leave the entity."""
        return list(self._leaving[entity_id])

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All edges that enter the entity."""
        return list(self._entering[entity_id])

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""
        return Node(entity_id, self._nodes[entity_id][0])

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),  # core compares them
    ) -> AsyncGenerator[list[Node]]:
        """The entities of some types; core compares the conditions."""
        yield [
            Node(entity_id, entity_type)
            for entity_id, (entity_type, _) in self._nodes.items()
            if entity_types is None or entity_type in entity_types
        ]

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """Its attributes."""
        return copy.deepcopy(self._nodes[entity_id][1])

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """Its attributes; those of parallel edges are merged."""
        return copy.deepcopy(self._edges[edge])

    async def entity_types(self) -> list[str]:
        """The types that occur, sorted."""
        return sorted({entity_type for entity_type, _ in self._nodes.values()})

    async def predicates(self) -> list[str]:
        """The predicates that occur, sorted."""
        return sorted({edge.predicate for edge in self._edges})
