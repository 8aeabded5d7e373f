"""A backend in the author's style: eight methods over a REST service, no more.

The service is a function from a path to JSON, so that no network is needed.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from bfsql.abc import GraphDbInterface
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeRecord, EntityStub, GraphRecord, Node, NodeRecord

SHOP: list[GraphRecord] = [
    NodeRecord("tea", "Drink", {"name": "Tea"}),
    NodeRecord("coffee", "Drink", {"name": "Coffee"}),
    NodeRecord("water", "Ingredient", {"name": "Water"}),
    EdgeRecord("tea", "made_of", "water", {"confidence": 1.0}),
    EdgeRecord("coffee", "made_of", "water", {"confidence": 0.5}),
]


class Service:
    """A service with `/entities`, `/relations` and `/schema`."""

    def __init__(self, records: Iterable[GraphRecord]) -> None:
        self._graph = MemoryBackend(records)

    async def get(self, path: str) -> dict[str, Any]:
        place, _, query = path.partition("?")
        match [unquote(part) for part in place.split("/")[1:]]:
            case ["entities", entity_id]:
                node = await self._graph.get_node(entity_id)
                metadata = await self._graph.metadata_for_node(entity_id)
                return {"@id": node.id, "@type": node.entity_type, "properties": metadata}
            case ["entities", entity_id, "relations"]:
                out = query == "direction=out"
                ask = self._graph.edges_from if out else self._graph.edges_to
                return {"relations": [edge._asdict() for edge in await ask(entity_id)]}
            case ["entities"]:
                found = await self._graph.search_entities(query.removeprefix("q="))
                return {"results": [{"@id": e.id, "@type": e.entity_type} for e in found]}
            case ["relations", subject, predicate, obj]:
                edge = Edge(subject, predicate, obj)
                return {"metadata": await self._graph.metadata_for_edge(edge)}
        return {
            "entity_types": await self._graph.entity_types(),
            "predicates": await self._graph.predicates(),
        }


class RestBackend(GraphDbInterface):
    def __init__(self, service: Service | None = None) -> None:
        self._service = service or Service(SHOP)

    async def _get(self, *parts: str, query: str = "") -> dict[str, Any]:
        path = "".join(f"/{quote(part, safe='')}" for part in parts)
        return await self._service.get(f"{path}?{query}")

    async def get_node(self, entity_id: str) -> Node:
        data = await self._get("entities", entity_id)
        return Node(id=data["@id"], entity_type=data["@type"])

    async def metadata_for_node(self, entity_id: str) -> dict[str, Any]:
        data = await self._get("entities", entity_id)
        return dict(data["properties"])

    async def edges_from(self, entity_id: str) -> list[Edge]:
        data = await self._get("entities", entity_id, "relations", query="direction=out")
        return [Edge(**relation) for relation in data["relations"]]

    async def edges_to(self, entity_id: str) -> list[Edge]:
        data = await self._get("entities", entity_id, "relations", query="direction=in")
        return [Edge(**relation) for relation in data["relations"]]

    async def search_entities(self, query: str) -> list[EntityStub]:  # type: ignore[override]
        data = await self._get("entities", query=f"q={query}")
        return [EntityStub(id=e["@id"], entity_type=e["@type"]) for e in data["results"]]

    async def metadata_for_edge(self, edge: Edge) -> dict[str, Any]:
        data = await self._get("relations", edge.subject, edge.predicate, edge.object)
        return dict(data.get("metadata", {}))

    async def entity_types(self) -> list[str]:
        data = await self._get("schema")
        return sorted(data["entity_types"])

    async def predicates(self) -> list[str]:
        data = await self._get("schema")
        return sorted(data["predicates"])
