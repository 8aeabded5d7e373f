"""NotesBackend: the eight methods over a folder of notes."""

from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.models import Edge, EntityStub, Node
from bfsql_notes import queries


class NotesBackend(GraphDbInterface):
    """Notes that link to each other."""

    def __init__(self, notes: dict[str, queries.Note]) -> None:
        self._notes = notes

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        wanted = {
            name: note
            for name, note in self._notes.items()
            if not node_types or note.type in node_types
        }
        found = queries.matching(wanted, query)
        return [EntityStub(name, wanted[name].type, name) for name in found]

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return list(self._notes[entity_id].links)

    async def edges_to(self, entity_id: str) -> list[Edge]:
        self._notes[entity_id]  # KeyError where there is no such note
        edges = (edge for note in self._notes.values() for edge in note.links)
        return [edge for edge in edges if edge.object == entity_id]

    async def get_node(self, entity_id: str) -> Node:
        return Node(entity_id, self._notes[entity_id].type)

    async def metadata_for_node(self, entity_id: str) -> dict[str, Any]:
        return {"name": entity_id, "text": self._notes[entity_id].text}

    async def metadata_for_edge(self, edge: Edge) -> dict[str, Any]:
        lines = self._notes[edge.subject].links[edge]
        said = [{"document_id": edge.subject, "text_span": line} for line in lines]
        return {"provenance": said}

    async def entity_types(self) -> list[str]:
        return sorted({note.type for note in self._notes.values()})

    async def predicates(self) -> list[str]:
        return sorted({edge.predicate for note in self._notes.values() for edge in note.links})
